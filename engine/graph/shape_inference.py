"""Tracing a definition whose extents are names: at trial numbers, to check it and to learn its shapes symbolically."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

from engine.core.errors import DocumentError, Finding
from engine.core.options import Reader
from engine.core.value import Shape
from engine.graph.definition import Definition
from engine.graph.fans import Fans, parameter_fans
from engine.graph.limits import LIMITS, GraphLimits
from engine.graph.trace import Trace, apply_node, build

TRIALS = ((24, 16), (72, 24), (2, 1), (96, 40), (7, 5), (384, 128))
"""Trial numbers: the first name gets the first of a pair, each further one the second of it more.

The pairs are no multiples of one another, so that a multiple of one name cannot be taken for one of another."""


@dataclass(frozen=True)
class InferredShapes:
    """A graph traced at trial extents, and again at others when that works too."""

    graph: Trace
    second: Trace | None
    _written: dict[tuple[Shape, Shape], tuple[int | str, ...]] = field(default_factory=dict, repr=False, compare=False)

    def shape(self, reference: str) -> list[int | str]:
        """Return the shape of a value, with names (or multiples and products of names) where it depends on them."""
        first = self.graph.value(reference).shape
        other = self.second.value(reference).shape if self.second else first
        written = self._written.get((first, other))
        if written is None:  # many values have equal shapes
            written = tuple(self.symbolic(first, other) if len(first) == len(other) else first)
            self._written[first, other] = written
        return list(written)

    @cached_property
    def fans(self) -> dict[str, list[Fans]]:
        """For each parameter (fan-in, fan-out) of every product that it enters, in order, each once."""
        return parameter_fans(self.graph)

    def symbolic(self, first: Any, other: Any) -> Any:
        """Write a number (or nested tuples) that was `first` at one trial and `other` at the next with names."""
        if isinstance(first, tuple | list) and isinstance(other, tuple | list) and len(first) == len(other):
            return [self.symbolic(a, b) for a, b in zip(first, other, strict=True)]
        if self.second is None or first == other or not (isinstance(first, int) and isinstance(other, int)):
            return first
        return _express(first, other, self.graph.dims, self.second.dims)


def infer_shapes(
    definition: Definition, limits: GraphLimits = LIMITS, *, trials: int = 2, shapes_only: bool = True
) -> InferredShapes:
    """Trace `definition` at trial extents.

    With one trial its trace is all that there is: shapes are numbers.

    Args:
        definition: the graph.
        limits: sizes that are refused.
        trials: how many traces to make.
        shapes_only: whether the second trace is one for shapes only (see `engine.graph.trace.Trace`).

    Raises:
        DocumentError: the faults at the first trial, when no trial succeeds.
    """
    fault: DocumentError | None = None
    traced: list[Trace] = []
    for dims in choose_trial_dims(definition):
        try:
            traced.append(
                build(definition, dims, training=True, limits=limits, shapes_only=shapes_only and bool(traced))
            )
        except DocumentError as error:
            fault = fault or DocumentError(error.findings)  # without the frames, which hold the whole trace
            if all(finding.code == "unknown_name" for finding in error.findings):
                break  # at other extents it would be as unknown
        if len(traced) == trials:
            break
    if not traced:
        assert fault is not None
        raise DocumentError(_all_faults(definition, next(choose_trial_dims(definition)), limits) or fault.findings)
    return InferredShapes(traced[0], traced[1] if len(traced) > 1 else None)


def choose_trial_dims(definition: Definition) -> Iterator[dict[str, int]]:
    """Yield trial numbers for the named extents, a different set each time; one empty set when there are none."""
    names = definition.dimension_names
    for first, step in TRIALS if names else TRIALS[:1]:
        yield {name: first + step * index for index, name in enumerate(names)}


def dims_at(definition: Definition, batch: int) -> dict[str, int]:
    """Return a number for every named extent: `batch` where inputs begin with it, trial numbers for the others."""
    leading = {spec.shape[0] for spec in definition.inputs.values() if spec.shape}
    trial = infer_shapes(definition, trials=1).graph.dims
    return {name: batch if name in leading else trial[name] for name in definition.dimension_names}


def _all_faults(definition: Definition, dims: Mapping[str, int], limits: GraphLimits) -> Sequence[Finding]:
    """Apply every node that can be applied, and report each fault once."""
    reader = Reader()
    try:
        graph = build(replace(definition, nodes=()), dims, training=True, limits=limits)
    except DocumentError as error:
        return error.findings
    broken: set[str] = set()
    with graph.trace():
        for node in definition.nodes:
            if any(isinstance(o, str) and o.partition(":")[0] in broken for o in node.inputs):
                broken.add(node.name)
                continue
            try:
                graph.values[node.name] = apply_node(graph, node)
            except DocumentError as error:
                reader.error("", error)
                broken.add(node.name)
    return [
        finding if finding.code == "unknown_name" else replace(finding, detail=finding.detail + trial_note(dims))
        for finding in reader.findings
    ]


def trial_note(dims: Mapping[str, int]) -> str:
    """Return the numbers that stand for named extents in the shapes of an error, as the end of a sentence."""
    if not dims:
        return ""
    return f" (tried with {', '.join(f'{name} = {number}' for name, number in dims.items())})"


def _express(a: int, b: int, first: Mapping[str, int], second: Mapping[str, int]) -> int | str:
    """Name an extent that was `a` at the first trial and `b` at the second."""
    for name in first:
        if (a, b) == (first[name], second[name]):
            return name
    for name in first:
        if a * second[name] == b * first[name] and a % first[name] == 0:
            return f"{a // first[name]}*{name}"
        if a - first[name] == b - second[name]:
            return f"{name}{a - first[name]:+d}"
    for name in first:
        for other in first:
            if name < other and (a, b) == (first[name] * first[other], second[name] * second[other]):
                return f"{name}*{other}"
    return "?"
