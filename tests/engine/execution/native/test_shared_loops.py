"""Loops that threads share: each iteration is computed once, by whichever thread, to the same bits."""

from __future__ import annotations

import ctypes
import threading
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from engine.core.dtypes import BFLOAT16
from engine.core.value import Array
from engine.execution.native.call_blocks import call_blocks
from engine.execution.native.call_interpreter import BARRIER, call_interpreter
from engine.execution.native.inline.shared_loops import COUNT, ENDED, LINE, LOOP, NEXT, ROUND
from engine.execution.native.kernel import Kernel
from engine.execution.native.kernels.attention import attention, attention_backward
from engine.execution.native.kernels.blocked_product import blocked_product
from engine.execution.native.kernels.correlation import CORRELATION
from engine.execution.native.kernels.half_product import half_product
from engine.execution.native.kernels.packed_product import packed_product
from engine.execution.native.kernels.split_product import split_product
from engine.execution.native.lowering import Call, Work, address_of
from engine.execution.native.packing import calls_of
from engine.execution.plan.numpy_executor import aligned


@dataclass(frozen=True)
class Shared:
    """An op whose kernel has a shared loop.

    Attributes:
        kernels: those that it may go by, as the machine has registers.
        op: its name.
        operands: their shapes.
        results: their shapes.
        attrs: its attributes.
        dtype: of its operands.
    """

    kernels: tuple[Kernel, ...]
    op: str
    operands: tuple[tuple[int, ...], ...]
    results: tuple[tuple[int, ...], ...]
    attrs: dict[str, Any]
    dtype: Any = np.float32


def multiplied(*kernels: Kernel, m: int, n: int, k: int, ta: bool = False, tb: bool = False, dtype: Any) -> Shared:
    """Return a product of matrices."""
    operands = ((k, m) if ta else (m, k), (n, k) if tb else (k, n))
    return Shared(kernels, "matrix_product", operands, ((m, n),), {"transpose_a": ta, "transpose_b": tb}, dtype)


HEADS = (3, 5, 40, 16)
ATTENDING = {"causal": True, "scale": 0.25}
WINDOW = {"stride": (1, 1), "padding": ((1, 1), (1, 1)), "dilation": (1, 1), "groups": 2}
PRODUCTS = (split_product, packed_product, blocked_product)
CASES = {
    "several rounds": multiplied(*PRODUCTS, m=300, n=200, k=1000, dtype=np.float32),
    "transposed right": multiplied(*PRODUCTS, m=64, n=300, k=400, tb=True, dtype=np.float32),
    "transposed left": multiplied(*PRODUCTS, m=290, n=700, k=300, ta=True, dtype=np.float32),
    "float64, transposed left": multiplied(*PRODUCTS, m=290, n=200, k=300, ta=True, dtype=np.float64),
    "float64, several panels": multiplied(*PRODUCTS, m=40, n=330, k=600, tb=True, dtype=np.float64),
    "bfloat16": multiplied(
        half_product, packed_product, blocked_product, m=200, n=128, k=256, tb=True, dtype=BFLOAT16
    ),
    "attention": Shared((attention,), "attention", (HEADS, HEADS, HEADS), (HEADS, HEADS[:-1]), ATTENDING),
    "gradients of attention": Shared(
        (attention_backward,),
        "attention_backward",
        (HEADS, HEADS[:-1], HEADS, HEADS[:-1], HEADS, HEADS, HEADS),
        (HEADS, HEADS, HEADS),
        ATTENDING,
    ),
    "correlation": Shared(
        tuple(CORRELATION.values()), "convolution", ((6, 8, 20, 18), (12, 4, 3, 3)), ((6, 12, 20, 18),), WINDOW
    ),
}  # fmt: skip


def prepared(case: Shared, *, apart: bool = False) -> tuple[list[Call], list[Array]]:
    """Return the calls of an op, one of them with a shared loop, and its results; skip what has none here."""
    if case.dtype is None:
        pytest.skip("needs bfloat16")
    draw = np.random.default_rng(0)
    inputs = [draw.standard_normal(shape).astype(case.dtype) for shape in case.operands]
    if apart:
        inputs = [np.repeat(x, 2, axis=-1)[..., ::2] for x in inputs]
    outputs = [np.full(shape, np.nan, np.float32 if case.dtype is BFLOAT16 else case.dtype) for shape in case.results]
    calls = list(calls_of(case.op, Work(inputs, outputs, case.attrs)) or [])
    if not any(call.kernel in case.kernels for call in calls):
        pytest.skip("this machine goes by another kernel")
    (call,) = [call for call in calls if call.iterations]
    assert call.iterations > 1
    return calls, outputs


def run(kernel: Kernel, dtype: Any, block: Array) -> None:
    """Call a kernel in this thread."""
    table = np.array([[kernel.address(dtype), address_of(block)]], np.int64)
    halt, team = np.zeros(2, np.int64), np.zeros(16, np.int64)
    call_interpreter()(address_of(table), 1, 1, address_of(halt), address_of(team), 1, 0)


def words(address: int, offset: int) -> Array:
    """Return a word of a loop's memory."""
    return np.ctypeslib.as_array((ctypes.c_int64 * 1).from_address(address + offset))


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
@pytest.mark.parametrize("apart", [False, True])
def test_a_thread_that_helps_computes_the_same_bits(case: Shared, apart: bool) -> None:
    calls, outputs = prepared(case, apart=apart)
    scratches = [aligned(max(call.scratch for call in calls)) for _ in range(2)]
    addresses = [address_of(scratch) for scratch in scratches]
    expected, rounds = [], 0
    for helps in (False, True):
        for out in outputs:
            out.fill(np.nan)
        for call in calls:
            blocks, _ = call_blocks(call, addresses)
            if not (helps and call.iterations):
                run(call.kernel, call.dtype, blocks[0])
            loop = int(words(address_of(blocks[0]), 8 * LOOP)[0]) if call.iterations else 0
            if loop and not helps:
                rounds = int(words(loop, NEXT)[0]) // ROUND + 1
            for number in range(rounds if loop and helps else 0):
                words(loop, NEXT)[0], words(loop, ENDED)[0] = number * ROUND, 0
                run(call.kernel, call.dtype, blocks[1])
                assert words(loop, ENDED)[0] == words(loop, COUNT)[0] == call.iterations
        expected = expected or [out.copy() for out in outputs]
    for out, wanted in zip(outputs, expected, strict=True):
        assert not np.isnan(wanted).any()
        np.testing.assert_array_equal(out, wanted)


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_a_thread_that_comes_before_the_loop_begins_finds_nothing_to_do(case: Shared) -> None:
    """The first round would begin again after it, and end before all of its iterations have."""
    calls, outputs = prepared(case)
    (call,) = [call for call in calls if call.iterations]
    scratches = [aligned(call.scratch) for _ in range(2)]
    blocks, _ = call_blocks(call, [address_of(scratch) for scratch in scratches])
    run(call.kernel, call.dtype, blocks[1])
    assert words(int(words(address_of(blocks[0]), 8 * LOOP)[0]), ENDED)[0] == 0
    assert np.isnan(outputs[0]).all()


@pytest.mark.parametrize("threads", [2, 4])
def test_threads_that_wait_take_part_and_count_no_iteration_twice(threads: int) -> None:
    """The sums over several rounds of a product would be others if a block of rows were added twice, or not at all."""
    calls, (out,) = prepared(CASES["several rounds"])
    scratches = [aligned(max(call.scratch for call in calls)) for _ in range(threads)]
    encoded = [call_blocks(call, [address_of(scratch) for scratch in scratches]) for call in calls]
    pairs = [(call.kernel.address(call.dtype), word) for call, (_, word) in zip(calls, encoded, strict=True)]
    halt, team = np.zeros(2, np.int64), aligned(LINE * (1 + threads)).view(np.int64)
    wait = (BARRIER, 0)
    tables = [np.array([*(pairs if worker == 0 else ()), wait], np.int64) for worker in range(threads)]

    def work(worker: int, times: int) -> None:
        table = tables[worker]
        call_interpreter()(
            address_of(table), len(table), times, address_of(halt), address_of(team), threads, worker
        )  # fmt: skip

    def together(times: int) -> None:
        helpers = [threading.Thread(target=work, args=(worker, times)) for worker in range(1, threads)]
        for helper in helpers:
            helper.start()
        work(0, times)
        for helper in helpers:
            helper.join()

    for call, (blocks, _) in zip(calls, encoded, strict=True):
        run(call.kernel, call.dtype, blocks[0])
    expected = out.copy()
    for _ in range(10):
        out.fill(np.nan)
        together(20)
        np.testing.assert_array_equal(out, expected)


def test_calls_without_a_shared_loop_have_one_block() -> None:
    (call,) = calls_of("add", Work([np.ones(3), np.ones(3)], [np.ones(3)], {})) or []
    blocks, encoded = call_blocks(call, [0, 0])
    assert len(blocks) == 1
    assert encoded == address_of(blocks[0])
