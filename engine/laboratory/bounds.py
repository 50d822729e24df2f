"""How much one request may ask for, checked before anything is computed."""

from __future__ import annotations

from engine.errors import DocumentError, Finding
from engine.graph.limits import LIMITS
from engine.graph.trace import Trace
from engine.laboratory.walking import Walk
from engine.plan import Plan

DERIVATIVES = 16
"""Derivatives in one request."""

RESULT_BYTES = 2**24
"""Bytes of all Jacobians and Hessians of one request together."""

PRODUCTS = 200_000
"""Rows or columns of Jacobians and Hessians, times the nodes of the graph: how long it takes to plan them."""

NODES = 30_000
"""Nodes that derivatives of one request, taken one of the other, make of a graph: how long it takes to trace them."""

OPERATIONS = 5 * 10**10
"""Arithmetic operations of all runs of a plan."""

STEP_OPERATIONS = 5_000
"""What the start of one step of a plan counts for, in arithmetic operations."""

VISIT_STEPS = 40
"""Steps of a plan that a node counts for which is run by itself."""


def refuse(pointer: str, detail: str) -> DocumentError:
    """Return the error that something is too large."""
    return DocumentError([Finding(pointer, "limit_exceeded", detail)])


def check_leaves(graph: Trace) -> None:
    """Refuse a graph whose inputs, parameters and buffers alone are too many bytes."""
    leaves = (*graph.inputs.values(), *graph.parameters.values(), *graph.buffers.values())
    held = sum(leaf.nbytes for leaf in leaves)
    LIMITS.check_count("", "bytes of memory", held, LIMITS.compute_bytes)


def check_memory(plan: Plan) -> None:
    """Refuse a plan that holds too many bytes."""
    LIMITS.check_count("", "bytes of memory", plan.peak_bytes, LIMITS.compute_bytes)


def check_walk(walk: Walk, runs: int = 1) -> None:
    """Refuse so many runs of a step node by node that they would hold too many bytes, or take minutes."""
    LIMITS.check_count("", "bytes of memory", walk.peak_bytes, LIMITS.compute_bytes)
    steps = VISIT_STEPS * walk.nodes
    _check_operations(walk.operations, steps, "/repeats" if runs > 1 else "/inputs", "send a smaller batch", runs)


def check_work(plan: Plan, pointer: str, advice: str, runs: int = 1) -> None:
    """Refuse so many runs of a plan that they would take minutes."""
    _check_operations(plan.flops, len(plan.steps), pointer, advice, runs)


def _check_operations(flops: int, steps: int, pointer: str, advice: str, runs: int) -> None:
    operations = runs * (flops + STEP_OPERATIONS * (steps + 1))
    if operations > OPERATIONS:
        times = f"{runs} runs" if runs > 1 else "one run"
        raise refuse(
            pointer, f"{times} of this graph are about {operations} operations, the limit is {OPERATIONS}: {advice}"
        )
