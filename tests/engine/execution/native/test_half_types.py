"""Elementwise kernels on half types: what they make of every half is what float32 makes, rounded once."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import llvmlite.binding
import numpy as np
import pytest

from engine.core.attributes import bind
from engine.core.dtypes import BFLOAT16, BOOL, DType
from engine.core.half_precision import convert_dtype
from engine.core.registry import OPS
from engine.core.value import Array
from engine.execution.native.kernels import (
    elementwise,
    functions,
    gamma,
    normal_distribution,
    special_functions,
    trigonometry,
    wide_functions,
)
from engine.execution.native.kernels.activations import PARAMETRIZED
from engine.execution.native.kernels.comparing import COMPARISONS, TESTS
from engine.execution.native.kernels.half_types import declare_rounding
from engine.execution.native.lowering import Work
from engine.execution.native.packing import calls_of
from tests.engine.execution.native.conftest import Compiled
from tests.extent import FULL
from tests.support.rows import each_row

LIMITS = {"min": -0.3, "max": 6.1}
ATTRIBUTES: Mapping[str, Mapping[str, Any]] = {
    "bessel_i": {"order": 1},
    "clamp": LIMITS,
    "hardtanh_backward": LIMITS,
    "leaky_relu": {"slope": 0.2},
    "scale": {"factor": 3.0, "bias": 0.1},
    "sinc_derivative": {"order": 1},
    "threshold": {"threshold": 0.2, "value": -3.0},
}
ALL = [
    *elementwise.UNARY, *elementwise.BINARY, *functions.UNARY, *functions.BINARY, *PARAMETRIZED, *TESTS, *COMPARISONS,
    *gamma.KERNELS, *normal_distribution.UNARY, *special_functions.UNARY, *special_functions.BINARY,
    *trigonometry.KERNELS, *wide_functions.UNARY, *wide_functions.BINARY,
    "bessel_i", "clamp", "gelu", "gelu_backward", "hardtanh_backward", "prelu", "scale", "threshold",
]  # fmt: skip
FEW = (
    "add", "div", "elu", "ge", "hardtanh", "hardtanh_backward", "isnan", "maximum", "neg", "relu", "relu_backward",
    "tanh",
)  # fmt: skip
HALVES = [np.dtype(np.float16), *([] if BFLOAT16 is None else [BFLOAT16])]
ROWS = [(op, half) for op in ALL for half in HALVES if FULL or (op in FEW and half is not HALVES[0])]
"""Each pair is a kernel of its own: `make test` compiles those of common models, `make chaos` all."""


@each_row(("op", "half"), ROWS)
def test_every_half(op: str, half: DType, compiled: Compiled) -> None:
    every = np.arange(2**16, dtype=np.uint16)
    x = [every.view(half), np.random.default_rng(0).permutation(every).view(half)][: len(OPS[op].inputs)]
    attrs = bind(op, OPS[op].attributes, ATTRIBUTES.get(op, {}))
    decides = op in COMPARISONS or op in TESTS
    wanted, actual = (np.zeros(every.shape, BOOL if decides else dtype) for dtype in (np.float32, half))
    with np.errstate(invalid="ignore", over="ignore"):
        assert compiled(op, [convert_dtype(each, np.dtype(np.float32)) for each in x], [wanted], attrs)
        assert compiled(op, x, [actual], attrs)
        if not decides:
            wanted, actual = (bits_of(convert_dtype(found, half)) for found in (wanted, actual))
    np.testing.assert_array_equal(actual, wanted)


def test_float64_is_rounded_once() -> None:
    """LLVM calls this where it joins roundings, and no library has it: without it the process would end."""
    halves = np.arange(0x7C00, dtype=np.uint16).view(np.float16).astype(np.float64)
    middle = (halves[1:] + halves[:-1]) / 2
    near = [np.nextafter(middle, to) for to in (-np.inf, np.inf)]
    numbers = np.concatenate([halves, middle, *near, [65519.9999, 65520.0, 1e300, np.inf, 1e-300]])
    numbers = np.concatenate([numbers, -numbers])
    with np.errstate(over="ignore", under="ignore"):
        wanted = numbers.astype(np.float16)
    found = np.array([declare_rounding().ctypes(number) for number in numbers], np.float32)
    np.testing.assert_array_equal(found.view(np.uint32).astype(np.uint16), wanted.view(np.uint16))
    assert llvmlite.binding.address_of_symbol("__truncdfhf2") == declare_rounding().address


def bits_of(x: Array) -> Array:
    """Return the bits of halves, those of one NaN for all; 0 for zeros of either sign and subnormals of float32."""
    wide = x.astype(np.float32)
    normal = np.where(np.abs(wide) >= np.finfo(np.float32).tiny, x.view(np.uint16), np.uint16(0))
    return np.where(np.isnan(wide), np.uint16(0x7FFF), normal)


@pytest.mark.skipif(BFLOAT16 is None, reason="needs ml_dtypes")
@each_row("extents", [(8, 8), (9, 40), (3, 17, 33), (2, 3, 20, 16)])
def test_casts_of_transposed_arrays_go_by_registers(extents: tuple[int, ...], compiled: Compiled) -> None:
    assert BFLOAT16 is not None
    wide = np.random.default_rng(0).standard_normal(extents).astype(np.float32).swapaxes(-1, -2)
    narrow = wide.swapaxes(-1, -2).astype(BFLOAT16).swapaxes(-1, -2)
    for x, name in ((wide, "transposed_rounding"), (narrow, "transposed_widening")):
        out = np.zeros(x.shape, BFLOAT16 if x is wide else np.float32)
        (call,) = calls_of("cast", Work([x], [out], {"dtype": out.dtype})) or ()
        assert call.kernel.name == name
        assert compiled("cast", [x], [out], {"dtype": out.dtype})
        np.testing.assert_array_equal(out.astype(np.float32), x.astype(out.dtype).astype(np.float32))


def test_halves_are_chosen_by_their_bits(compiled: Compiled) -> None:
    every = np.arange(2**16, dtype=np.uint16)
    taken = np.random.default_rng(0).random(every.shape) < 0.5
    for half in HALVES:
        out = np.zeros(every.shape, half)
        assert compiled("where", [taken, every.view(half), every[::-1].view(half)], [out], {})
        np.testing.assert_array_equal(out.view(np.uint16), np.where(taken, every, every[::-1]))
