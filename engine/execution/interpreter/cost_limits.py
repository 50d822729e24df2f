"""How much one request may ask for, checked before anything is computed."""

from __future__ import annotations

import math

from engine.core.budget import STEP_OPERATIONS, Cost
from engine.core.errors import DocumentError, Finding
from engine.execution.interpreter.node_runner import NodeRunner
from engine.execution.plan import Plan
from engine.graph.limits import LIMITS
from engine.graph.trace import Trace

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


def check_memory(cost: Cost) -> None:
    """Refuse what takes too many bytes."""
    LIMITS.check_count("", "bytes of memory", cost.nbytes, LIMITS.compute_bytes)


def cost_of_runner(runner: NodeRunner, runs: int = 1) -> Cost:
    """Return what so many runs of a step take node by node; refuse those of too many bytes, or that take minutes."""
    point = runner.point
    operations = runs * (runner.operations + STEP_OPERATIONS * (VISIT_STEPS * runner.nodes + 1)) + point.draw_operations
    cost = Cost({"plan_bytes": runner.peak_bytes, "initial_bytes": point.initial_bytes}, operations)
    check_memory(cost)
    _check_operations(operations, "/repeats" if runs > 1 else "/inputs", "send a smaller batch", runs)
    return cost


def check_work(plan: Plan, pointer: str, advice: str, runs: int = 1, *, beside: int = 0) -> int:
    """Return the operations of so many runs of a plan, with those `beside`; refuse what takes minutes."""
    operations = runs * (plan.flops + STEP_OPERATIONS * (len(plan.steps) + 1)) + beside
    _check_operations(operations, pointer, advice, runs)
    return operations


def output_bytes(plan: Plan) -> int:
    """Return the bytes of copies of all outputs of a plan."""
    specs = (plan.buffers[number].spec for number in plan.outputs.values())
    return sum(math.prod(spec.shape) * spec.dtype.itemsize for spec in specs)


def _check_operations(operations: int, pointer: str, advice: str, runs: int) -> None:
    if operations > OPERATIONS:
        times = f"{runs} runs" if runs > 1 else "one run"
        raise refuse(
            pointer, f"{times} of this graph are about {operations} operations, the limit is {OPERATIONS}: {advice}"
        )
