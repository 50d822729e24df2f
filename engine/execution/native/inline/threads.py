"""What threads inside compiled code keep step with."""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from engine.execution.native.kernel import linked

SPINS = 4000
"""How often a waiting thread looks before it lets another run."""

_INT = ir.IntType(64)
_yield = types.ExternalFunction("sched_yield", types.int32())


def _changing(operation: str) -> Any:
    """Return the function that changes the int64 at an address atomically, and returns what it was."""

    @intrinsic
    def change(typing_context: Any, address: Any, operand: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            pointer = builder.inttoptr(arguments[0], _INT.as_pointer())
            return builder.atomic_rmw(operation, pointer, arguments[1], "seq_cst")

        return types.int64(types.int64, types.int64), generate

    return change


add = _changing("add")
"""Add a number."""
raise_to = _changing("max")
"""Put a number there if it is larger."""


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


@linked
def pause(spins: Any) -> None:
    """Let another thread run if this one has looked for something often."""
    if spins > SPINS:
        _yield()
