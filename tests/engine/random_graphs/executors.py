"""The ways to run a program: on the tape, as a plan by NumPy, and as a plan by compiled kernels."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from engine.autograd.backward import pull_back
from engine.core.dtypes import is_float
from engine.core.half_precision import half_precision_kernel
from engine.core.modes import MODES, no_grad, set_grad_enabled
from engine.core.rng import key_value
from engine.core.value import Array, Value
from engine.execution.native.executor import NativeExecutor
from engine.execution.plan import NumpyExecutor, Plan, make_plan
from engine.execution.plan.numpy_executor import computes_in_float32
from engine.graph.definition import Definition
from engine.graph.trace import KEY, Trace, apply_node, build
from engine.ops import OPS
from engine.ops.random.random import fold_in
from tests.engine.random_graphs.program import DESCEND, Program

Results = dict[str, Array]
RATE = 0.125
"""How far an update by DESCEND goes; a power of 2, so that the product is exact."""
RUN_KEY = (0x1234_5678_9ABC, 77)


@dataclass
class Traced:
    """A program without data: what it is made of, what is wanted of it, and what states become."""

    program: Program
    graph: Trace
    results: dict[str, Value]
    updates: dict[str, Value]

    @property
    def states(self) -> dict[str, Value]:
        """The leaves that keep their arrays from run to run."""
        return {**self.graph.parameters, **self.graph.buffers}

    def plan(self, most_shards: int = 1) -> Plan:
        """Plan it as a training step is planned: every input of the graph is cut along its first axis."""
        inputs = {**self.graph.inputs, KEY: self.graph.key}
        rows = tuple(self.graph.inputs)
        return make_plan(inputs, self.states, self.results, self.updates, rows=rows, most_shards=most_shards)


def trace(program: Program, definition: Definition) -> Traced:
    """Trace outputs, gradients by every parameter, and updates."""
    graph = build(definition, {}, training=True)
    with graph.trace():
        gradients, found = _differentiated(program, graph)
        updates = _updates(program, graph, gradients)
    return Traced(program, graph, {**graph.outputs, **found}, updates)


def on_tape(program: Program, definition: Definition, runs: int) -> Iterator[Results]:
    """Run the nodes one after the other, each result in memory of its own; yield results and states of each run."""
    states = {name: array.copy() for name, array in {**program.parameters, **program.buffers}.items()}
    for _ in range(runs):
        graph = _taped(program, definition, states)
        gradients, found = _differentiated(program, graph)
        with no_grad():
            updates = {name: value.numpy().copy() for name, value in _updates(program, graph, gradients).items()}
        states.update(updates)
        results = {name: value.numpy() for name, value in {**graph.outputs, **found}.items()}
        yield {**results, **{f"state {name}": array.copy() for name, array in states.items()}}


def values_on_tape(program: Program) -> dict[str, Value]:
    """Return every leaf and every result of a node by its reference."""
    graph = _taped(program, program.definition(), program.leaves)
    results = {f"{name}:{index}": v for name, created in graph.values.items() for index, v in enumerate(created)}
    return {**graph.inputs, **graph.parameters, **graph.buffers, **graph.constants, **results}


def _taped(program: Program, definition: Definition, states: Mapping[str, Array]) -> Trace:
    """Run the forward pass."""
    graph = Trace(definition, {}, training=True, key=key_value(*RUN_KEY))
    graph.inputs = {name: _leaf(name, array) for name, array in program.inputs.items()}
    graph.parameters = {name: _leaf(name, states[name], requires_grad=True) for name in program.parameters}
    graph.buffers = {name: _leaf(name, states[name]) for name in program.buffers}
    graph.constants = {name: _leaf(name, array) for name, array in definition.constants.items()}
    with _keys(graph):
        for node in definition.nodes:
            graph.values[node.name] = apply_node(graph, node)
    return graph


def _leaf(name: str, array: Array, *, requires_grad: bool = False) -> Value:
    return Value(array.shape, array.dtype, array.copy(), name=name, requires_grad=requires_grad)


def _differentiated(program: Program, graph: Trace) -> tuple[dict[str, Value], dict[str, Value]]:
    """Return the gradients by name, and further results: the sum of the losses, and derivatives by name."""
    if not program.losses:
        return {}, {}
    total = _total([graph.value(reference).reshape(shape=()) for reference in program.losses])
    with set_grad_enabled(program.twice or MODES.tracing):
        gradients = _pulled(total, graph.parameters)
    reported = {"total loss": total, **{f"gradient of {name}": slope for name, slope in gradients.items()}}
    if program.twice:
        bent = [OPS["sum"](OPS["tanh"](slope)) for slope in gradients.values() if slope.requires_grad]
        second = _pulled(_total(bent), graph.parameters) if bent else {}
        reported |= {f"second derivative by {name}": slope for name, slope in second.items()}
    return gradients, reported


def _total(values: Sequence[Value]) -> Value:
    total = values[0]
    for value in values[1:]:
        total = total + value
    return total


def _pulled(total: Value, leaves: Mapping[str, Value]) -> dict[str, Value]:
    seed = Value((), total.dtype, np.ones((), total.dtype))
    moving = {name: leaf for name, leaf in leaves.items() if is_float(leaf.dtype)}
    slopes = pull_back([total], [seed], list(moving.values()))
    return {name: slope for name, slope in zip(moving, slopes, strict=True) if slope is not None}


def _updates(program: Program, graph: Trace, gradients: Mapping[str, Value]) -> dict[str, Value]:
    """Return what states become."""
    updates = dict(graph.buffer_updates)
    for name, source in program.updates.items():
        if source != DESCEND:
            updates[name] = graph.value(source)
        elif name in gradients:
            updates[name] = graph.parameters[name] - gradients[name] * RATE
    return updates


@contextmanager
def _keys(graph: Trace) -> Iterator[None]:
    """Feed random ops that run at once with the keys that they are given in a trace."""
    numbers = iter(range(2**31))
    before, MODES.next_key = MODES.next_key, lambda: fold_in(graph.key, next(numbers))
    try:
        yield
    finally:
        MODES.next_key = before


def by_numpy(plan: Plan, program: Program, runs: int) -> list[Results]:
    """Run a plan step by step with NumPy's kernels."""
    states = {name: array.copy() for name, array in {**program.parameters, **program.buffers}.items()}
    executor = NumpyExecutor(plan, states)
    return [_run(executor, program, states) for _ in range(runs)]


class Native:
    """A plan by compiled kernels, run by a given number of threads."""

    def __init__(self, plan: Plan, program: Program) -> None:
        """Bind the plan to memory."""
        self.program = program
        self.states = {name: array.copy() for name, array in {**program.parameters, **program.buffers}.items()}
        self.executor = NativeExecutor(plan, self.states)

    def run(self, threads: int, runs: int) -> list[Results]:
        """Run from the first states on."""
        for name, array in {**self.program.parameters, **self.program.buffers}.items():
            self.states[name][...] = array
        self.executor.threads = threads
        return [_run(self.executor, self.program, self.states) for _ in range(runs)]


def _run(executor: NumpyExecutor, program: Program, states: Mapping[str, Array]) -> Results:
    _spoil(executor)
    for name, array in program.inputs.items():
        executor.inputs[name][...] = array
    executor.inputs[KEY][...] = key_value(*RUN_KEY).numpy()
    executor.run()
    results = {name: array.copy() for name, array in executor.outputs.items()}
    return {**results, **{f"state {name}": array.copy() for name, array in states.items()}}


def _spoil(executor: NumpyExecutor) -> None:
    """Fill what a run has to write before it reads it: what is read too early is wrong then."""
    for allocation, memory in zip(executor.plan.allocations, executor._memory, strict=True):
        if allocation.kind == "arena":
            memory.fill(0xFF)
    for arrays in getattr(executor, "_of_shards", []):
        for number, buffer in executor.plan.buffers.items():
            if executor.plan.allocations[buffer.allocation].kind == "shard":
                spoilt: Any = np.nan if is_float(buffer.spec.dtype) else True
                arrays[number][...] = spoilt


def replay(traced: Traced, nodes: Any, noise: Any) -> Results:
    """Run the nodes of a trace in order without a plan, leaves and results moved by a `tolerance.Noise`."""
    program, graph = traced.program, traced.graph
    arrays: dict[object, Array] = {graph.key.key: key_value(*RUN_KEY).numpy()}
    for table in (graph.inputs, graph.parameters, graph.buffers):
        arrays.update({leaf.key: noise.leaf(program.leaves[name]) for name, leaf in table.items()})

    def array_of(value: Value) -> Array:
        return arrays[value.key] if value.data is None else value.data

    for node in nodes:
        inputs = [array_of(value) for value in node.inputs]
        run = partial(_results, node, inputs)
        created = run() if node.op.view else noise.around(node.op.name, node.attrs, inputs, run)
        arrays.update({(node, index): array for index, array in enumerate(created)})
    states = {f"state {name}": array_of(traced.updates.get(name, leaf)) for name, leaf in traced.states.items()}
    return {**{name: array_of(value) for name, value in traced.results.items()}, **states}


def _results(node: Any, inputs: Sequence[Array]) -> list[Array]:
    created = MODES.kernels.run(_kernel(node), *inputs, **node.attrs)
    results = created if isinstance(created, tuple) else (created,)
    return [np.asarray(result, order=None if node.op.view else "C") for result in results]


def _kernel(node: Any) -> Callable[..., Any]:
    narrow = any(computes_in_float32(node.op, value.spec) for value in node.inputs)
    return half_precision_kernel(node.op.body, node.outputs) if narrow else node.op.body
