"""A step node by node: every node of the forward and the backward pass run by itself, in order."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from engine.backward import reachable
from engine.graph.printer import Names
from engine.graph.trace import Trace, build
from engine.laboratory.point import as_refusals
from engine.model import Model
from engine.narrow import narrow_kernel
from engine.plan.numpy_executor import computes_in_float32
from engine.session.batch import Batch
from engine.value import Array, Node, Spec, Value


@dataclass(frozen=True, slots=True)
class Visit:
    """A node that has just been run.

    Attributes:
        name: as the list of the graph's nodes has it; of several outputs the first one's.
        op: the op of the node.
        backward: whether it is of the backward pass.
        inputs: what it was given.
        outputs: what it has made.
        seconds: how long that took.
    """

    name: str
    op: str
    backward: bool
    inputs: Sequence[Array]
    outputs: Sequence[Array]
    seconds: float


def leaves_of(model: Model, batch: Batch) -> Iterator[tuple[str, str, Array]]:
    """Yield kind, name and numbers of every input, parameter and buffer."""
    for kind, arrays in (("input", batch.arrays), ("parameter", model.parameters), ("buffer", model.buffers)):
        for name, array in arrays.items():
            yield kind, name, array


def walk(model: Model, batch: Batch, key: tuple[int, int]) -> Iterator[Visit]:
    """Run a step on the arrays of a model, which stay as they are, and yield each node when it has been run.

    Raises:
        DocumentError: numbers that an op does not take.
    """
    graph = build(model.definition, batch.dims, training=True)
    names = Names(graph)
    forward = reachable([value for values in graph.values.values() for value in values])
    gradients: dict[str, Value] = {}
    if graph.definition.losses:
        found = graph.gradients(graph.total_loss(), graph.parameters)
        gradients = {name: value for name, value in found.items() if value is not None}
        for name, value in gradients.items():
            names.known.setdefault(value.key, f"grad for {name}")
    known = set(forward)
    backward = [node for node in reachable(list(gradients.values())) if node not in known]
    held = _leaf_arrays(graph, model, batch, key)
    last = {value.key: place for place, node in enumerate([*forward, *backward]) for value in node.inputs}
    dying: dict[int, list[object]] = {}
    for value_key, place in last.items():
        dying.setdefault(place, []).append(value_key)
    for place, node in enumerate([*forward, *backward]):
        inputs = [held[value.key] if value.data is None else value.data for value in node.inputs]
        with as_refusals(), np.errstate(all="ignore"):
            start = time.perf_counter()
            outputs = _results(node, inputs)
            seconds = time.perf_counter() - start
        held.update({(node, index): array for index, array in enumerate(outputs)})
        yield Visit(names.of(node.output(0)), node.op.name, place >= len(forward), inputs, outputs, seconds)
        for value_key in dying.get(place, ()):
            held.pop(value_key, None)


def _leaf_arrays(graph: Trace, model: Model, batch: Batch, key: tuple[int, int]) -> dict[object, Array]:
    tables: tuple[tuple[Mapping[str, Value], Mapping[str, Array]], ...] = (
        (graph.inputs, batch.arrays),
        (graph.parameters, model.parameters),
        (graph.buffers, model.buffers),
        ({"key": graph.key}, {"key": np.array(key, np.int64)}),
    )
    return {leaf.key: arrays[name] for leaves, arrays in tables for name, leaf in leaves.items()}


def _results(node: Node, inputs: Sequence[Array]) -> list[Array]:
    op, body = node.op, node.op.body
    if any(computes_in_float32(op, Spec(array.shape, array.dtype)) for array in inputs):
        body = narrow_kernel(body, node.outputs)
    made = body(*inputs, **node.attrs)
    results = made if isinstance(made, tuple) else (made,)
    return [np.asarray(result, dtype=spec.dtype) for result, spec in zip(results, node.outputs, strict=True)]
