"""A step run node by node, forward and backward, in order; and the limits of what one request may compute."""

from __future__ import annotations

import math
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from engine.autograd.backward import reachable
from engine.core.dtypes import DType
from engine.core.errors import DocumentError, Finding
from engine.core.half_precision import half_precision_kernel
from engine.core.modes import STEP_OPERATIONS, Cost
from engine.core.value import Array, Node, Spec, Value
from engine.execution.interpreter.point import EvaluationPoint, as_refusals
from engine.execution.plan import Plan
from engine.execution.plan.numpy_executor import computes_in_float32
from engine.graph.limits import LIMITS
from engine.graph.printer import Names
from engine.graph.trace import Trace, build


@dataclass(frozen=True, slots=True)
class NodeRun:
    """A node that has just been run.

    Attributes:
        name: as the list of the graph's nodes has it; of several outputs the first one's.
        op: the op of the node.
        backward: whether it is of the backward pass.
        operands: the names of its inputs.
        inputs: what it was given.
        outputs: what it has made.
        seconds: how long that took.
        operations: estimated arithmetic operations.
        live_bytes: of all that was held while it ran: inputs, parameters, buffers and constants, values that are still
            needed, its own outputs, and what its kernel takes beside them.
    """

    name: str
    op: str
    backward: bool
    operands: Sequence[str]
    inputs: Sequence[Array]
    outputs: Sequence[Array]
    seconds: float
    operations: int
    live_bytes: int


class NodeRunner:
    """The nodes of a step in the order of execution, and until when each value is needed."""

    def __init__(self, point: EvaluationPoint, autocast: DType | None = None) -> None:
        """Trace forward and, where there is a loss, backward at the extents of `point`.

        With `autocast` matrix products and other ops of its list run in that type, as in mixed precision.
        """
        self.point = point
        graph = self._graph = build(point.definition, point.dims, training=point.training, autocast=autocast)
        self._names = Names(graph)
        gradients: dict[str, Value] = {}
        if graph.definition.losses:
            found = graph.gradients(graph.total_loss(), graph.parameters)
            gradients = {name: value for name, value in found.items() if value is not None}
            for name, value in gradients.items():
                self._names.known.setdefault(value.key, f"grad for {name}")
        forward = reachable([value for values in graph.values.values() for value in values])
        self._forward = set(forward)
        backward = (node for node in reachable(list(gradients.values())) if node not in self._forward)
        self._nodes = [*forward, *backward]
        wanted = [*graph.outputs.values(), *graph.losses.values(), *gradients.values()]
        wanted += [*graph.buffer_updates.values(), *graph.parameter_updates.values()]
        self._dying = _dying(self._nodes, wanted)

    @cached_property
    def arrays(self) -> dict[str, Array]:
        """Inputs, parameters and buffers by name, in the types that the graph declares."""
        leaves = {**self._graph.inputs, **self._graph.parameters, **self._graph.buffers}
        given = {**self.point.inputs, **self.point.state()}
        with np.errstate(all="ignore"):
            return {name: np.asarray(given[name]).astype(leaf.dtype, copy=False) for name, leaf in leaves.items()}

    @property
    def nodes(self) -> int:
        """The number of nodes."""
        return len(self._nodes)

    @property
    def operations(self) -> int:
        """Estimated arithmetic operations of all nodes."""
        return sum(map(_operations, self._nodes))

    @property
    def peak_bytes(self) -> int:
        """The most that a run can hold at a time; less if values are windows on others."""
        tables = (self._graph.inputs, self._graph.parameters, self._graph.buffers, self._graph.constants)
        held = peak = sum(value.nbytes for table in tables for value in table.values())
        for place, node in enumerate(self._nodes):
            held += sum(node.output(index).nbytes for index in range(len(node.outputs)))
            peak = max(peak, held + _scratch(node))
            held -= sum(value.nbytes for value in self._dying.get(place, ()))
        return peak

    def run_nodes(self) -> Iterator[NodeRun]:
        """Run every node on the arrays of the point, which stay as they are, and yield it when it has been run.

        Raises:
            DocumentError: numbers that an op does not take.
        """
        held = _ArrayStore(self._leaf_arrays())
        names = self._names
        for place, node in enumerate(self._nodes):
            inputs = [held[value] if value.data is None else value.data for value in node.inputs]
            with as_refusals(), np.errstate(all="ignore"):
                start = time.perf_counter()
                outputs = _results(node, inputs)
                seconds = time.perf_counter() - start
            for index, array in enumerate(outputs):
                held.add((node, index), array)
            yield NodeRun(
                names.of(node.output(0)),
                node.op.name,
                node not in self._forward,
                [names.of(value) for value in node.inputs],
                inputs,
                outputs,
                seconds,
                _operations(node),
                held.nbytes + _scratch(node),
            )
            for value in self._dying.get(place, ()):
                held.drop(value)

    def _leaf_arrays(self) -> dict[object, Array]:
        graph = self._graph
        leaves = {**graph.inputs, **graph.parameters, **graph.buffers}
        held: dict[object, Array] = {leaf.key: self.arrays[name] for name, leaf in leaves.items()}
        held.update({value.key: value.data for value in graph.constants.values() if value.data is not None})
        return {**held, graph.key.key: self.point.key}


class _ArrayStore:
    """Arrays by the value they are of, and the bytes of memory under them: windows on one block count once."""

    def __init__(self, arrays: Mapping[object, Array]) -> None:
        self._arrays: dict[object, Array] = {}
        self._windows: Counter[int] = Counter()
        self.nbytes = 0
        for key, array in arrays.items():
            self.add(key, array)

    def __getitem__(self, value: Value) -> Array:
        return self._arrays[value.key]

    def add(self, key: object, array: Array) -> None:
        self._arrays[key] = array
        block = _block(array)
        self.nbytes += 0 if self._windows[id(block)] else block.nbytes
        self._windows[id(block)] += 1

    def drop(self, value: Value) -> None:
        block = _block(self._arrays.pop(value.key))
        self._windows[id(block)] -= 1
        self.nbytes -= 0 if self._windows[id(block)] else block.nbytes


def _block(array: Array) -> Array:
    """Return the array whose memory this one is a window on."""
    while isinstance(array.base, np.ndarray):
        array = array.base
    return array


def _dying(nodes: Sequence[Node], wanted: Sequence[Value]) -> dict[int, list[Value]]:
    """Return which values nothing needs any more after the node at each place; leaves and what is wanted stay."""
    last: dict[object, tuple[int, Value]] = {}
    for place, node in enumerate(nodes):
        made = [node.output(index) for index in range(len(node.outputs))]
        for value in (*node.inputs, *made):
            if value.node is not None:
                last[value.key] = (place, value)
    for value in wanted:
        last.pop(value.key, None)
    dying: dict[int, list[Value]] = {}
    for place, value in last.values():
        dying.setdefault(place, []).append(value)
    return dying


def _operations(node: Node) -> int:
    shapes = [value.shape for value in node.inputs]
    return node.op.count_flops(node.attrs, shapes, [spec.shape for spec in node.outputs])


def _scratch(node: Node) -> int:
    return node.op.scratch_bytes(node.attrs, [Spec(v.shape, v.dtype) for v in node.inputs], node.outputs)


def _results(node: Node, inputs: Sequence[Array]) -> list[Array]:
    op, body = node.op, node.op.body
    if any(computes_in_float32(op, Spec(array.shape, array.dtype)) for array in inputs):
        body = half_precision_kernel(body, node.outputs)
    made = body(*inputs, **node.attrs)
    results = made if isinstance(made, tuple) else (made,)
    return [np.asarray(result, dtype=spec.dtype) for result, spec in zip(results, node.outputs, strict=True)]


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
    """Return what `runs` runs of a step cost node by node; refuse too many bytes, or minutes of work."""
    point = runner.point
    operations = runs * (runner.operations + STEP_OPERATIONS * (VISIT_STEPS * runner.nodes + 1)) + point.draw_operations
    cost = Cost({"plan_bytes": runner.peak_bytes, "initial_bytes": point.initial_bytes}, operations)
    check_memory(cost)
    _check_operations(operations, "/repeats" if runs > 1 else "/inputs", "send a smaller batch", runs)
    return cost


def check_work(plan: Plan, pointer: str, advice: str, runs: int = 1, *, beside: int = 0) -> int:
    """Return the operations of `runs` runs of a plan, with those `beside`; refuse what takes minutes."""
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
