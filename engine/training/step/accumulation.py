"""Forward and backward passes as plans that change nothing: what they would change is among their outputs.

So a run that fails on its way leaves every array as it was. An output `NEW` + name is what the state of this name
becomes once the caller takes it over.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from engine.autograd.backward import pull_back, reachable
from engine.core.dtypes import computing_dtype, is_float
from engine.core.value import Value
from engine.execution.plan import Plan, make_plan
from engine.graph.trace import KEY, Trace
from engine.ops.casting import cast
from engine.ops.lengths import sum_of_squares
from engine.ops.shape import reshape
from engine.training.model import LOSS_SCALE, Flat, Form
from engine.training.recipe import Recipe
from engine.training.step.gradient import differentiate_loss, entering, kept_finite, packed, traced
from engine.training.step.names import COTANGENT, EACH_LOSS, GRADIENT, NEW, OUTPUT, SAVED, SQUARED_NORM
from engine.training.step.reduction import Reduction
from engine.training.step.saved import Saved
from engine.training.step.update import unscaled


def plan_accumulation(
    model: Form,
    dims: Mapping[str, int],
    recipe: Recipe,
    flats: Sequence[Flat],
    part: tuple[Reduction, int] | None = None,
    *,
    outputs: bool = False,
    most_shards: int = 1,
) -> Plan:
    """Plan forward and backward of a batch, and the gradients of the vectors `flats` added to the states `GRADIENT`.

    Outputs are the loss, each loss if there are several, the declared outputs if wanted, and squared norms of the
    gradients as they are added up.

    Args:
        model: the arrays to read.
        dims: a number for each named extent.
        recipe: precision.
        flats: the vectors some of whose parameters the losses depend on.
        part: how the loss sums up its rows, and how many there are: then it is the sum over rows (of a "weighted" loss
            over weights) times the input `SHARE`; else the loss is what the graph says.
        outputs: whether the declared outputs are wanted.
        most_shards: into how many shards the batch may be cut.
    """
    made = differentiate_loss(model, dims, recipe, flats, part)
    graph, leaves = made.graph, dict(made.leaves)
    found = {**made.outputs, **_results(graph, outputs=outputs)}
    with graph.trace():
        found.update(_added_up(flats, made.given(), leaves))
        found.update(_changed(model, graph, leaves, recipe))
    inputs = {**graph.inputs, KEY: graph.key, **made.inputs}
    return make_plan(inputs, leaves, found, {}, rows=tuple(graph.inputs), most_shards=most_shards)


def plan_forward(
    model: Form,
    dims: Mapping[str, int],
    recipe: Recipe,
    *,
    training: bool,
    keep: bool,
    most_shards: int = 1,
) -> Plan:
    """Plan a forward pass: the declared outputs, and each loss.

    With `keep` the outputs `SAVED` + number are what a backward pass by `plan_backward` reads; else it may be cut into
    shards.
    """
    flats = model.flats if keep else ()
    leaves, graph = traced(model, dims, recipe, flats, training=training)
    found = _results(graph, outputs=True, each=True)
    inputs = {**graph.inputs, KEY: graph.key}
    if keep:
        taped = _Taped(graph, leaves, flats)
        _, saved = taped.pull_back(taped.ends)
        found.update({SAVED + number: value for number, value in saved.sources.items()})
    with graph.trace():
        found.update(_changed(model, graph, leaves, recipe))
    shards = 1 if keep else most_shards
    return make_plan(inputs, leaves, found, {}, rows=tuple(graph.inputs), most_shards=shards)


def plan_backward(
    model: Form,
    dims: Mapping[str, int],
    recipe: Recipe,
    flats: Sequence[Flat],
    names: Collection[str],
    *,
    training: bool,
) -> Plan:
    """Plan the backward pass from the outputs and losses `names`, and its gradients added to the states `GRADIENT`.

    Inputs are `COTANGENT` + name, and of what the forward pass has saved, `SAVED` + number, that which is read.
    Outputs are squared norms of the gradients as they are added up.
    """
    leaves, graph = traced(model, dims, recipe, model.flats, training=training)
    leaves = dict(leaves)
    taped = _Taped(graph, leaves, model.flats)
    gradients, saved = taped.pull_back(names)
    with graph.trace():
        found = _added_up(flats, gradients, leaves)
    inputs = {**taped.cotangents, **{SAVED + number: value for number, value in saved.stand_ins.items()}}
    return make_plan(inputs, leaves, found, {})


class _Taped:
    """A forward pass that is traced, and its backward pass from some of its ends."""

    def __init__(self, graph: Trace, leaves: Mapping[str, Value], flats: Sequence[Flat]) -> None:
        self.graph = graph
        self.leaves = leaves
        self.ends = ends_of(graph)
        self.cotangents: dict[str, Value] = {}
        self._parameters = {name: graph.parameters[name] for flat in flats for name in flat.shapes}

    def pull_back(self, names: Collection[str]) -> tuple[dict[str, Value], Saved]:
        """Return the gradients that there are from the ends `names`, and what they read of the forward pass."""
        specs = self.graph.definition.parameters
        wrt = {name: value for name, value in self._parameters.items() if not specs[name].frozen}
        held = [leaf for name, leaf in self.leaves.items() if not name.startswith("buffer:")]
        ends = [end for name, end in self.ends.items() if name in names]
        with self.graph.trace():
            nodes = reachable(list(self.ends.values()))
            saved = Saved(nodes, held)
            seeds = [self._seed(name, end) for name, end in self.ends.items() if name in names]
            found = pull_back(ends, seeds, list(wrt.values()), reachable(ends), saved.reading)
        gradients = {name: value for name, value in zip(wrt, found, strict=True) if value is not None}
        saved.keep_what_is_read(list(gradients.values()))
        return gradients, saved

    def _seed(self, name: str, end: Value) -> Value:
        """Return the cotangent of an end; as the loss is, it is scaled."""
        given = Value(end.shape, computing_dtype(end.dtype), None, name=name)
        self.cotangents[COTANGENT + name] = given
        scaled = given * cast(self.leaves[LOSS_SCALE], dtype=given.dtype) if LOSS_SCALE in self.leaves else given
        return cast(scaled, dtype=end.dtype)


def ends_of(graph: Trace) -> dict[str, Value]:
    """Return what a backward pass can start from: the floating outputs and the losses, by reference."""
    outputs = {name: value for name, value in graph.outputs.items() if is_float(value.dtype)}
    return {**outputs, **graph.losses}


def reached_from(graph: Trace) -> dict[str, frozenset[str]]:
    """Return for each output and loss from which a backward pass can start the parameters that it reaches."""
    specs = graph.definition.parameters
    wrt = {name: value for name, value in graph.parameters.items() if not specs[name].frozen}
    reached = {}
    with graph.trace():
        for name, end in ends_of(graph).items():
            found = pull_back([end], [end], list(wrt.values()))
            reached[name] = frozenset(n for n, value in zip(wrt, found, strict=True) if value is not None)
    return reached


def _results(graph: Trace, *, outputs: bool, each: bool = False) -> dict[str, Value]:
    """Return the declared outputs if wanted, and each loss where there are several or that is wanted."""
    found = {OUTPUT + name: value for name, value in graph.outputs.items()} if outputs else {}
    losses = graph.losses
    if each or len(losses) > 1:
        found.update({EACH_LOSS + name: reshape(value, shape=()) for name, value in losses.items()})
    return found


def _added_up(flats: Sequence[Flat], gradients: Mapping[str, Value], leaves: dict[str, Value]) -> dict[str, Value]:
    """Return the sums of gradients with new ones added, and the squared norms of their vectors and parameters."""
    found: dict[str, Value] = {}
    for flat in flats:
        name = GRADIENT + flat.name
        leaves[name] = Value((flat.size,), flat.dtype, None, name=name)
        found[NEW + name] = total = leaves[name] + packed(flat, gradients)
        plain = unscaled(total, leaves)
        found[SQUARED_NORM + flat.name] = sum_of_squares(plain)
        found.update({SQUARED_NORM + parameter: sum_of_squares(g) for parameter, g in flat.values(plain).items()})
    return found


def _changed(model: Form, graph: Trace, leaves: Mapping[str, Value], recipe: Recipe) -> dict[str, Value]:
    """Return what a forward pass in training makes of running statistics, and of parameters that it limits."""
    found = {}
    for name, new in graph.buffer_updates.items():
        state = f"buffer:{name}"
        found[NEW + state] = kept_finite(new, leaves[state], recipe)
    for flat in model.flats:
        if any(name in graph.parameter_updates for name in flat.shapes):
            found[NEW + flat.name] = entering(flat, graph, leaves)
    return found
