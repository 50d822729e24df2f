"""Errors and times of compiled elementary functions, beside the C library's and NumPy's, as a table.

    python -m tests.benchmarks.elementary [float64 | float32]

The C library's functions are called an element at a time by a compiled loop, as kernels without polynomials would.
"""

from __future__ import annotations

import ctypes
import math
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numba
import numpy as np

from engine.core.attributes import bind
from engine.core.registry import OPS
from engine.core.value import Array
from engine.execution.native import kernels
from engine.execution.native.lowering import Work, address_of, word
from engine.execution.native.packing import calls_of
from tests.support.elementary import FUNCTIONS, Elementary, errors, points

assert kernels  # declares the lowerings

ACCURACY, ELEMENTS = 200_000, 8192
"""Points of which the largest error is sought, and elements of a call that is timed."""
SECONDS, ROUNDS = 0.02, 7
"""Of one measurement, and how many there are; the shortest counts."""
ROOT_HALF, TWICE_ROOT = math.sqrt(0.5), 2 * math.sqrt(2 / math.pi)

LIBRARY: Mapping[str, Callable[..., float]] = {
    "exp": lambda x: math.exp(x),
    "exp2": lambda x: math.pow(2.0, x),
    "expm1": lambda x: math.expm1(x),
    "log": lambda x: math.log(x),
    "log2": lambda x: math.log2(x),
    "log10": lambda x: math.log10(x),
    "log1p": lambda x: math.log1p(x),
    "power": lambda x, y: math.pow(x, y),
    "sigmoid": lambda x: 1.0 / (1.0 + math.exp(-x)),
    "logsigmoid": lambda x: min(x, 0.0) - math.log1p(math.exp(-abs(x))),
    "logit": lambda x: math.log(x / (1.0 - x)),
    "softplus": lambda x: math.log1p(math.exp(x)),
    "silu": lambda x: x / (1.0 + math.exp(-x)),
    "gelu": lambda x: 0.5 * x * math.erfc(-x * ROOT_HALF),
    "gelu tanh": lambda x: 0.5 * x * (1.0 + math.tanh(0.5 * TWICE_ROOT * (x + 0.044715 * x * x * x))),
    "gelu quick": lambda x: x / (1.0 + math.exp(-1.702 * x)),
    "tanh": lambda x: math.tanh(x),
    "sinh": lambda x: math.sinh(x),
    "cosh": lambda x: math.cosh(x),
    "asinh": lambda x: math.asinh(x),
    "acosh": lambda x: math.acosh(x),
    "atanh": lambda x: math.atanh(x),
    "sin": lambda x: math.sin(x),
    "cos": lambda x: math.cos(x),
    "tan": lambda x: math.tan(x),
    "asin": lambda x: math.asin(x),
    "acos": lambda x: math.acos(x),
    "atan": lambda x: math.atan(x),
    "atan2": lambda x, y: math.atan2(x, y),
    "erf": lambda x: math.erf(x),
    "erfc": lambda x: math.erfc(x),
}


def of_library(name: str, operands: Sequence[Array], out: Array) -> Callable[[], None]:
    """Return a call that applies the C library's function to one element after the other."""
    function = numba.njit(error_model="numpy")(LIBRARY[name])
    if len(operands) == 1:

        @numba.njit
        def loop(x: Any, out: Any) -> None:
            for i in range(out.size):
                out[i] = function(x[i])

        return lambda: loop(operands[0], out)

    @numba.njit
    def loop_of_two(x: Any, y: Any, out: Any) -> None:
        for i in range(out.size):
            out[i] = function(x[i], y[i])

    return lambda: loop_of_two(*operands, out)


def of_numpy(name: str, operands: Sequence[Array], out: Array) -> Callable[[], None]:
    """Return a call of the op's own body, as of the NumPy executor."""
    op, attrs = _op(name)

    def call() -> None:
        with np.errstate(all="ignore"):
            op.body(*operands, out=out, **attrs)

    return call


def of_kernel(name: str, operands: Sequence[Array], out: Array) -> Callable[[], None]:
    """Return a call of the compiled kernel."""
    op, attrs = _op(name)
    calls = calls_of(op.name, Work(operands, [out], attrs))
    assert calls is not None, name
    ready = [
        (
            ctypes.CFUNCTYPE(None, ctypes.c_int64)(call.kernel.address(call.dtype)),
            np.array([word(argument, 0) for argument in call.arguments], np.int64),
        )
        for call in calls
    ]

    def run() -> None:
        for function, block in ready:
            function(address_of(block))

    return run


def _op(name: str) -> tuple[Any, Mapping[str, Any]]:
    function = FUNCTIONS[name]
    op = OPS[function.op or name]
    return op, bind(op.name, op.attributes, function.attrs)


KINDS: Mapping[str, Callable[[str, Sequence[Array], Array], Callable[[], None]]] = {
    "C library": of_library,
    "NumPy": of_numpy,
    "Adjoint": of_kernel,
}


def largest_error(name: str, dtype: str, kind: str) -> float:
    """Return the largest error over the range of a function in units in the last place."""
    operands = points(FUNCTIONS[name], dtype, ACCURACY)
    out = np.empty_like(operands[0])
    KINDS[kind](name, operands, out)()
    return float(errors(FUNCTIONS[name], operands, out).max())


def nanoseconds(name: str, dtype: str) -> dict[str, float]:
    """Return what an element takes by each kind, measured in turn."""
    operands = [x[:ELEMENTS] for x in points(_moderate(FUNCTIONS[name]), dtype, ELEMENTS)]
    out = np.empty_like(operands[0])
    calls = {kind: make(name, operands, out) for kind, make in KINDS.items()}
    best = dict.fromkeys(calls, math.inf)
    for _ in range(ROUNDS):
        for kind, call in calls.items():
            best[kind] = min(best[kind], _timed(call))
    return {kind: seconds / ELEMENTS * 1e9 for kind, seconds in best.items()}


def _moderate(function: Elementary) -> Elementary:
    """Return the function on numbers as models have: the C library takes other ways for large ones."""
    return Elementary(
        function.exact, max(function.low, -8.0), min(function.high, 8.0), 0, 0, operands=function.operands
    )


def _timed(call: Callable[[], None]) -> float:
    call()
    count, start = 0, time.perf_counter()
    while time.perf_counter() - start < SECONDS:
        call()
        count += 1
    return (time.perf_counter() - start) / count


def rows(dtype: str) -> list[str]:
    """Return the lines of the table."""
    found = [
        "| | " + " | ".join(f"{kind}, {unit}" for unit in ("ulp", "ns") for kind in KINDS) + " |",
        "|---" * 7 + "|",
    ]
    for name in FUNCTIONS:
        ulps = [f"{largest_error(name, dtype, kind):.1f}" for kind in KINDS]
        times = nanoseconds(name, dtype)
        found.append("| " + " | ".join([f"`{name}`", *ulps, *(f"{times[kind]:.1f}" for kind in KINDS)]) + " |")
    return found


if __name__ == "__main__":
    for chosen in sys.argv[1:] or ("float64", "float32"):
        print(chosen, *rows(chosen), sep="\n")
