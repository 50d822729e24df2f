"""Budgets: what a trace may use, and what a computation will use, known before memory is allocated."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

from engine.core.errors import LimitError

STEP_OPERATIONS = 5_000
"""Cost of starting one step of a plan, in arithmetic operations."""


class TraceBudget:
    """What a trace may still use: operations, and bytes of the tables that ops build while they are traced.

    One node of a definition may become at most `node_operations` operations.
    """

    def __init__(self, operations: int, node_operations: int, table_bytes: int) -> None:
        """Start with the full budget."""
        self.operations = operations
        self.table_bytes = table_bytes
        self._per_node = self._left = node_operations

    def begin_node(self) -> None:
        """Reset the count of operations of one node."""
        self._left = self._per_node

    def charge_operation(self) -> None:
        """Charge one operation; LimitError if the budget is exceeded."""
        self.operations -= 1
        self._left -= 1
        if self.operations < 0 or self._left < 0:
            raise LimitError("the graph unrolls into more operations than are taken; use fewer repetitions")

    def charge_table(self, op: str, size_bytes: int) -> None:
        """Charge a table; LimitError if the budget is exceeded."""
        if size_bytes > self.table_bytes:
            raise LimitError(f"{op}: a table of {size_bytes} bytes is more than is left for such; use smaller extents")
        self.table_bytes -= size_bytes


@dataclass(frozen=True, slots=True)
class Cost:
    """The cost of one computation, beside what is in memory already.

    Attributes:
        terms: bytes, by what they are for: "plan_bytes" are inputs, parameters, buffers and values between them,
            "initial_bytes" what drawing first values takes beside them, "output_bytes" copies of what is asked for.
        operations: estimated arithmetic operations of all runs of its plans.
    """

    terms: Mapping[str, int]
    operations: int = 0

    @property
    def nbytes(self) -> int:
        """Bytes of all terms."""
        return sum(self.terms.values())


class Admit(Protocol):
    """Called with a cost before any of it is allocated; raises an error to refuse the computation."""

    def __call__(self, cost: Cost, /) -> object:
        """Accept a cost, or raise."""


def admit_any(_cost: Cost) -> None:
    """Accept every cost."""
