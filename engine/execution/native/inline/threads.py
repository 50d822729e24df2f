"""What threads inside compiled code keep step with."""

from __future__ import annotations

from typing import Any

import numba
from llvmlite import ir
from numba import types
from numba.extending import intrinsic

SPINS = 4000
"""How often a waiting thread looks before it lets another run."""

_INT = ir.IntType(64)
_yield = types.ExternalFunction("sched_yield", types.int32())


@intrinsic
def _add(typing_context: Any, address: Any, amount: Any) -> Any:
    """Add to the int64 at an address, atomically; return what it was."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        pointer = builder.inttoptr(arguments[0], _INT.as_pointer())
        return builder.atomic_rmw("add", pointer, arguments[1], "seq_cst")

    return types.int64(types.int64, types.int64), generate


@intrinsic
def load(typing_context: Any, address: Any) -> Any:
    """Return the int64 at an address as other threads have left it."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.load_atomic(builder.inttoptr(arguments[0], _INT.as_pointer()), "seq_cst", 8)

    return types.int64(types.int64), generate


@intrinsic
def store(typing_context: Any, address: Any, value: Any) -> Any:
    """Set the int64 at an address for other threads to see."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        builder.store_atomic(arguments[1], builder.inttoptr(arguments[0], _INT.as_pointer()), "seq_cst", 8)
        return context.get_dummy_value()

    return types.void(types.int64, types.int64), generate


@numba.njit
def wait(barrier: Any, threads: Any) -> None:
    """Wait until `threads` threads have reached the barrier: two words, the arrived and the number of rounds."""
    passed = load(barrier + 8)
    if _add(barrier, 1) == threads - 1:
        store(barrier, 0)
        store(barrier + 8, passed + 1)
        return
    spins = 0
    while load(barrier + 8) == passed:
        spins += 1
        if spins > SPINS:
            _yield()
