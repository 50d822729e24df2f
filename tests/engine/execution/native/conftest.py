"""What the tests of kernels share: an op on arrays of any strides, by its compiled kernel and by NumPy's."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from engine.core.attributes import bind
from engine.core.registry import OPS
from engine.core.value import Array
from engine.execution.native import kernels
from engine.execution.native.call_blocks import call_blocks
from engine.execution.native.lowering import Call, Status, Work, address_of
from engine.execution.native.packing import calls_of
from engine.execution.plan.numpy_executor import aligned

assert kernels  # declares the lowerings

Compiled = Callable[..., bool]
RunBoth = Callable[..., tuple[list[Array], list[Array]]]


def run_compiled(op: str, inputs: Sequence[Array], outputs: Sequence[Array], attrs: Mapping[str, Any]) -> bool:
    """Run the kernels of an op; return whether they accepted the operands.

    Fails where the op has no kernel for such operands.
    """
    calls = calls_of(op, Work(inputs, outputs, attrs))
    assert calls is not None, f"{op} has no kernel for these operands"
    return run_calls(calls)


def run_calls(calls: Sequence[Call]) -> bool:
    """Run calls of kernels one after another; return whether they accepted their operands."""
    status = np.zeros(1, np.int64)
    # Nothing that lies in scratch memory may matter, but what one call of a step leaves there the next may find.
    scratch = aligned(max((call.scratch for call in calls), default=0))
    scratch.fill(255)
    for call in calls:
        arguments = tuple(status if isinstance(argument, Status) else argument for argument in call.arguments)
        (block,), _ = call_blocks(replace(call, arguments=arguments), [address_of(scratch)])
        ctypes.CFUNCTYPE(None, ctypes.c_int64)(call.kernel.address(call.dtype))(address_of(block))
    return not status[0]


@pytest.fixture
def compiled() -> Compiled:
    """Give the function that runs the kernels of an op on given inputs and outputs."""
    return run_compiled


@pytest.fixture(name="run_calls")
def _run_calls() -> Callable[[Sequence[Call]], bool]:
    """Give the function that runs calls of kernels."""
    return run_calls


@pytest.fixture
def run_both() -> RunBoth:
    """Give a function that runs an op by its compiled kernel and by NumPy: the results of the one and the other.

    Inputs may be views of any strides; attributes that are not given are the op's defaults. `outputs` are arrays for
    the results of the compiled kernel, of any strides; row-major ones filled with 7 by default.
    """

    def run(
        name: str, *inputs: Array, outputs: Sequence[Array] | None = None, **attrs: Any
    ) -> tuple[list[Array], list[Array]]:
        op = OPS[name]
        given = bind(name, op.attributes, attrs)
        with np.errstate(all="ignore"):
            expected = op.body(*inputs, **given)
        wanted = [np.asarray(x) for x in (expected if op.multi_output else (expected,))]
        actual = list(outputs) if outputs is not None else [np.full(x.shape, 7, x.dtype) for x in wanted]
        before = [x.copy() for x in inputs]
        assert run_compiled(name, inputs, actual, given)
        for x, old in zip(inputs, before, strict=True):
            np.testing.assert_array_equal(x, old, err_msg=f"{name} wrote over an input")
        return actual, wanted

    return run
