"""The backward part of a static graph: which values get a gradient, what starts it, where it adds up."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from engine.autograd.backward import pull_back
from engine.core.dtypes import is_float
from engine.core.errors import GradientError, ShapeError
from engine.core.value import Value
from engine.ggml.tensor_table import EvaluationOrder, TensorTable
from engine.graph.trace import check_loss
from engine.ops.elementwise.elementwise import add

Accumulators = Mapping[str, Value] | Sequence[Value | None] | None
"""By name of a value, by node, or by output of the graph: the leaf that its gradients are added up in."""


@dataclass
class BackwardNodes:
    """What `build` appended.

    Attributes:
        losses: what was differentiated; `implicit_loss` is True if no loss was marked.
        found: by key of a forward value, its gradient; where it accumulates, the sum so far.
        accumulators: by key of a forward value, the sum; for a loss, the leaf that holds its seed.
        seeds: the leaves that hold the cotangents of the losses, 1 until they are set.
        sums: pairs of a sum and the leaf in whose memory it is computed.
    """

    losses: tuple[Value, ...]
    implicit_loss: bool
    found: dict[object, Value] = field(default_factory=dict)
    accumulators: dict[object, Value] = field(default_factory=dict)
    seeds: list[Value] = field(default_factory=list)
    sums: list[tuple[Value, Value]] = field(default_factory=list)
    names: dict[str, Value] = field(default_factory=dict)


def build(
    table: TensorTable,
    marked: Sequence[Value],
    given: Mapping[object, Value],
    *,
    accumulate: bool,
    order: EvaluationOrder,
) -> BackwardNodes:
    """Append the gradients of the sum of the losses to `table`; called while tracing.

    Args:
        table: the forward graph.
        marked: the losses that were marked.
        given: accumulators by key of the value whose gradients they add up; for a loss, the leaf of its seed.
        accumulate: whether parameters without an accumulator get one.
        order: in which gradients are expanded.

    Raises:
        GradientError: no loss, no parameter, or an accumulator where no gradient flows.
        GraphFull: the gradients do not fit.
    """
    losses, implicit = _losses(table, marked)
    result = BackwardNodes(losses, implicit)
    flowing = _flowing(table, losses)
    seeds = [given.get(loss.key, Value(loss.shape, loss.dtype, None)) for loss in losses]
    gradients = pull_back(losses, seeds, flowing)
    pulled = {value.key: g for value, g in zip(flowing, gradients, strict=True) if g is not None}
    for loss, seed in zip(losses, seeds, strict=True):
        pulled.setdefault(loss.key, seed)
        result.accumulators[loss.key] = seed
        result.seeds.append(seed)
    _check_given(table, given, pulled)
    for value in [value for value in reversed(table.nodes) if value.key in pulled]:
        gradient, leaf = pulled[value.key], given.get(value.key)
        if value.key in result.accumulators:
            continue
        if leaf is None and accumulate and value.node is None:
            leaf = Value(value.shape, value.dtype, None)
        if leaf is not None:
            gradient = add(leaf, gradient)
            pulled[value.key] = result.accumulators[value.key] = gradient
            result.sums.append((gradient, leaf))
        if value.node is None or leaf is not None:
            table.add(gradient, order)
    for value in [*table.nodes]:
        if value.key in pulled and pulled[value.key] in table:
            result.found[value.key] = pulled[value.key]
    _name(table, result)
    return result


def given_accumulators(table: TensorTable, outputs: Sequence[Value], given: Accumulators) -> dict[object, Value]:
    """Return the accumulators by key of the value they are for.

    Raises:
        GradientError: a name that no value has, or a list whose length is not that of the nodes or the outputs.
        ShapeError: an accumulator that is no leaf of the value's shape and dtype.
    """
    if given is None:
        return {}
    pairs: list[tuple[Value, Value]] = []
    if isinstance(given, Mapping):
        for name, leaf in given.items():
            value = table.find(name)
            if value is None:
                raise GradientError(f"no value of the graph is called {name[:64]!r}, so it has no accumulator")
            pairs.append((value, leaf))
    else:
        values = table.nodes if len(given) == len(table.nodes) else outputs
        if len(given) != len(values):
            raise GradientError(
                f"{len(given)} accumulators fit neither the {len(table.nodes)} nodes nor the {len(outputs)} outputs; "
                "give one for each, None where there is none"
            )
        pairs = [(value, leaf) for value, leaf in zip(values, given, strict=True) if leaf is not None]
    for value, leaf in pairs:
        if leaf.node is not None or leaf.spec != value.spec or leaf in table:
            raise ShapeError(
                f"the accumulator for {table.name_of(value)} must be a leaf outside the graph of its shape and dtype, "
                f"{value.dtype.name}{list(value.shape)}"
            )
    return {value.key: leaf for value, leaf in pairs}


def _losses(table: TensorTable, marked: Sequence[Value]) -> tuple[tuple[Value, ...], bool]:
    losses = tuple({value.key: value for value in marked if value in table}.values())
    if losses:
        return losses, False
    scalars = [value for value in table.wanted if check_loss(value) is None]
    if marked or len(scalars) != 1:
        raise GradientError(
            "no loss is in the graph: mark one with set_loss() and expand it"
            if marked
            else f"no loss is marked, and of the outputs {len(scalars)} are floating scalars: set_loss() one"
        )
    return tuple(scalars), True


def _flowing(table: TensorTable, losses: Sequence[Value]) -> list[Value]:
    """Return the values on paths from parameters to losses, parameters first."""
    late = next((leaf for leaf in table.leafs if leaf.requires_grad), None)
    if late is not None:
        raise GradientError(
            f"{table.name_of(late)} was expanded before it was marked as a parameter; set_param() first"
        )
    if not any(value.node is None for value in table.nodes):
        raise GradientError("the graph has no parameter: set_param() the leaves to differentiate by, then expand")
    moving: set[object] = set()
    for value in table.nodes:
        node = value.node
        passes = node is None or (
            node.op.differentiable
            and not node.op.algebra.piecewise_constant
            and any(v.key in moving for v in node.inputs)
        )
        if passes and is_float(value.dtype):
            moving.add(value.key)
    reached = {loss.key for loss in losses}
    for value in reversed(table.nodes):
        if value.key in reached and value.key in moving and value.node is not None:
            reached.update((value.node, index) for index in range(len(value.node.outputs)))
            reached.update(source.key for source in value.node.inputs)
    flowing = [value for value in table.nodes if value.key in moving and value.key in reached]
    if not flowing:
        raise GradientError("no parameter leads to a loss: no gradient flows")
    return flowing


def _check_given(table: TensorTable, given: Mapping[object, Value], pulled: Mapping[object, Value]) -> None:
    for value in table:
        if value.key in given and value.key not in pulled:
            raise GradientError(f"no gradient flows to {table.name_of(value)}, so it can have no accumulator")


def _name(table: TensorTable, result: BackwardNodes) -> None:
    """Name the gradients after what they are of; a gradient that two values share keeps the first name."""
    sums = {total.key: leaf for total, leaf in result.sums}
    seeds = {seed.key for seed in result.seeds}
    for value in [*table.nodes]:
        gradient = result.found.get(value.key)
        if gradient is None:
            continue
        name = table.name_of(value)
        result.names[f"grad for {name}"] = gradient
        if gradient.key not in seeds:
            table.names.setdefault(gradient.key, f"grad for {name}")
        leaf = sums.get(gradient.key, result.accumulators.get(value.key))
        if leaf is not None:
            table.names.setdefault(leaf.key, f"grad acc for {name}")
