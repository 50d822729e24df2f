"""Forward and backward passes as plans without side effects: new values of states are outputs."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence

from engine.autograd.backward import pull_back, reachable
from engine.core.dtypes import computing_dtype, is_float
from engine.core.value import Node, Value
from engine.execution.plan import Plan, make_plan
from engine.graph.trace import KEY, Trace
from engine.ops.elementwise.casting import cast
from engine.ops.reduce.norms import sum_of_squares
from engine.ops.shape.shape import reshape
from engine.training.recipe.recipe import Recipe
from engine.training.step.gradient import (
    differentiate_loss,
    keep_finite_buffers,
    limit_parameters,
    pack_gradients,
    trace_model,
)
from engine.training.step.names import COTANGENT, EACH_LOSS, GRADIENT, NEW, OUTPUT, SAVED, SQUARED_NORM
from engine.training.step.reduction import Reduction
from engine.training.step.update import unscale
from engine.training.train_state import LOSS_SCALE, FlatGroup, StateLayout


def plan_accumulation(
    model: StateLayout,
    dims: Mapping[str, int],
    recipe: Recipe,
    flat_groups: Sequence[FlatGroup],
    part: tuple[Reduction, int] | None = None,
    *,
    outputs: bool = False,
    most_shards: int = 1,
) -> Plan:
    """Plan forward and backward of a batch; the gradients of `flat_groups` are added to the states `GRADIENT`.

    Outputs are the loss, each loss if there are several, the declared outputs if requested, and squared norms of the
    accumulated gradients.

    Args:
        model: the arrays to read.
        dims: a number for each named extent.
        recipe: precision.
        flat_groups: the vectors that the losses depend on.
        part: how the loss reduces its rows, and their number: then the loss is the sum over rows (of a "weighted" loss
            over weights) times the input `SHARE`; else it is that of the graph.
        outputs: whether to output the declared outputs.
        most_shards: maximum number of shards of the batch.
    """
    made = differentiate_loss(model, dims, recipe, flat_groups, part)
    graph, leaves = made.graph, dict(made.leaves)
    found = {**made.outputs, **_results(graph, outputs=outputs)}
    with graph.trace():
        found.update(_accumulate(flat_groups, made.given(), leaves))
        found.update(_changed(model, graph, leaves, recipe))
    inputs = {**graph.inputs, KEY: graph.key, **made.inputs}
    return make_plan(inputs, leaves, found, {}, rows=tuple(graph.inputs), most_shards=most_shards)


def plan_forward(
    model: StateLayout, dims: Mapping[str, int], recipe: Recipe, *, training: bool, keep: bool, most_shards: int = 1
) -> Plan:
    """Plan a forward pass: the declared outputs, and each loss.

    With `keep` the outputs `SAVED` + number are the values that `plan_backward` reads; otherwise the batch may be
    divided into shards.
    """
    flat_groups = model.flat_groups if keep else ()
    leaves, graph = trace_model(model, dims, recipe, flat_groups, training=training)
    found = _results(graph, outputs=True, each=True)
    inputs = {**graph.inputs, KEY: graph.key}
    if keep:
        taped = _TracedPass(graph, leaves, flat_groups)
        _, saved = taped.pull_back(taped.ends)
        found.update({SAVED + number: value for number, value in saved.sources.items()})
    with graph.trace():
        found.update(_changed(model, graph, leaves, recipe))
    shards = 1 if keep else most_shards
    return make_plan(inputs, leaves, found, {}, rows=tuple(graph.inputs), most_shards=shards)


def plan_backward(
    model: StateLayout,
    dims: Mapping[str, int],
    recipe: Recipe,
    flat_groups: Sequence[FlatGroup],
    names: Collection[str],
    *,
    training: bool,
) -> Plan:
    """Plan the backward pass from the outputs and losses `names`; gradients are added to the states `GRADIENT`.

    Inputs are `COTANGENT` + name, and those of the saved values, `SAVED` + number, that it reads. Outputs are squared
    norms of the accumulated gradients.
    """
    leaves, graph = trace_model(model, dims, recipe, model.flat_groups, training=training)
    leaves = dict(leaves)
    taped = _TracedPass(graph, leaves, model.flat_groups)
    gradients, saved = taped.pull_back(names)
    with graph.trace():
        found = _accumulate(flat_groups, gradients, leaves)
    inputs = {**taped.cotangents, **{SAVED + number: value for number, value in saved.stand_ins.items()}}
    return make_plan(inputs, leaves, found, {})


class _TracedPass:
    """A traced forward pass, and its backward pass from some of its outputs."""

    def __init__(self, graph: Trace, leaves: Mapping[str, Value], flat_groups: Sequence[FlatGroup]) -> None:
        self.graph = graph
        self.leaves = leaves
        self.ends = differentiable_outputs(graph)
        self.cotangents: dict[str, Value] = {}
        self._parameters = {name: graph.parameters[name] for flat in flat_groups for name in flat.shapes}

    def pull_back(self, names: Collection[str]) -> tuple[dict[str, Value], Saved]:
        """Return the gradients from the outputs `names`, and the values of the forward pass that they read."""
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
        """Return the cotangent of an output, scaled as the loss is."""
        given = Value(end.shape, computing_dtype(end.dtype), None, name=name)
        self.cotangents[COTANGENT + name] = given
        scaled = given * cast(self.leaves[LOSS_SCALE], dtype=given.dtype) if LOSS_SCALE in self.leaves else given
        return cast(scaled, dtype=end.dtype)


def differentiable_outputs(graph: Trace) -> dict[str, Value]:
    """Return the outputs and losses that a backward pass can start from, by reference: those of floating dtype."""
    outputs = {name: value for name, value in graph.outputs.items() if is_float(value.dtype)}
    return {**outputs, **graph.losses}


def reached_from(graph: Trace) -> dict[str, frozenset[str]]:
    """Return the parameters that a backward pass reaches from each output and loss."""
    return {name: frozenset(graph.reached_parameters(end)) for name, end in differentiable_outputs(graph).items()}


def _results(graph: Trace, *, outputs: bool, each: bool = False) -> dict[str, Value]:
    """Return the declared outputs if requested, and each loss if there are several or it is requested."""
    found = {OUTPUT + name: value for name, value in graph.outputs.items()} if outputs else {}
    losses = graph.losses
    if each or len(losses) > 1:
        found.update({EACH_LOSS + name: reshape(value, shape=()) for name, value in losses.items()})
    return found


def _accumulate(
    flat_groups: Sequence[FlatGroup], gradients: Mapping[str, Value], leaves: dict[str, Value]
) -> dict[str, Value]:
    """Return the accumulated gradients, and the squared norms of their vectors and parameters."""
    found: dict[str, Value] = {}
    for flat in flat_groups:
        name = GRADIENT + flat.name
        leaves[name] = Value((flat.size,), flat.dtype, None, name=name)
        found[NEW + name] = total = leaves[name] + pack_gradients(flat, gradients)
        plain = unscale(total, leaves)
        found[SQUARED_NORM + flat.name] = sum_of_squares(plain)
        found.update({SQUARED_NORM + parameter: sum_of_squares(g) for parameter, g in flat.values(plain).items()})
    return found


def _changed(model: StateLayout, graph: Trace, leaves: Mapping[str, Value], recipe: Recipe) -> dict[str, Value]:
    """Return the new running statistics of a forward pass in training, and the parameters that it limits."""
    found = {}
    for name, new in graph.buffer_updates.items():
        state = f"buffer:{name}"
        found[NEW + state] = keep_finite_buffers(new, leaves[state], recipe)
    for flat in model.flat_groups:
        if any(name in graph.parameter_updates for name in flat.shapes):
            found[NEW + flat.name] = limit_parameters(flat, graph, leaves)
    return found


class Saved:
    """Leaves in place of values of a forward pass; `reading` is for `pull_back`. Use it while tracing.

    Values are numbered in the order of the forward pass, which is the same for every trace of a graph. Leaves that keep
    their values until the backward pass, and constants, are not replaced; instead of a view its base is saved.

    Attributes:
        stand_ins: leaves in place of values, by the numbers of these.
        sources: the values, by the same numbers.
    """

    def __init__(self, nodes: Sequence[Node], held: Iterable[Value]) -> None:
        """Take the nodes of the forward pass in order, and the leaves that keep their values."""
        self.stand_ins: dict[str, Value] = {}
        self.sources: dict[str, Value] = {}
        self._found: dict[object, Value] = {leaf.key: leaf for leaf in held}
        self._numbers: dict[object, str] = {}
        for node in nodes:
            for value in (*node.inputs, *(node.output(index) for index in range(len(node.outputs)))):
                self._numbers.setdefault(value.key, str(len(self._numbers)))

    def reading(self, node: Node, _: Value) -> tuple[Sequence[Value], Sequence[Value]]:
        """Return inputs and outputs for the rule of a node."""
        outputs = [node.output(index) for index in range(len(node.outputs))]
        return [self._read(value) for value in node.inputs], [self._read(value) for value in outputs]

    def keep_what_is_read(self, results: Sequence[Value]) -> None:
        """Drop the leaves that no computation of `results` reads."""
        read = {value.key for node in reachable(results) for value in node.inputs} | {value.key for value in results}
        self.stand_ins = {number: leaf for number, leaf in self.stand_ins.items() if leaf.key in read}
        self.sources = {number: self.sources[number] for number in self.stand_ins}

    def _read(self, value: Value) -> Value:
        views: list[Node] = []
        while value.key not in self._found and value.data is None and value.node is not None and value.node.op.view:
            views.append(value.node)
            value = value.node.inputs[0]
        read = value if value.data is not None else self._found.get(value.key)
        if read is None:
            number = self._numbers[value.key]
            read = self._found[value.key] = Value(value.shape, value.dtype, None, name=f"saved {number}")
            self.stand_ins[number], self.sources[number] = read, value
        for node in reversed(views):
            read = Node(node.op, (read,), node.attrs, node.outputs, None, node.needs_grad).output(0)
            self._found[node.output(0).key] = read
        return read
