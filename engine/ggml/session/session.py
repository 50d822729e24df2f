"""StaticSession: ggml's low-level flow over a definition, by name, step by step."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from engine.core.errors import GradientError, GraphError, LimitError, ShapeError, UnknownName
from engine.core.value import Array, Value
from engine.data.checkpoint import Checkpoint
from engine.ggml.compute_plan import ComputePlan
from engine.ggml.context import DEFAULT_GRAPH_SIZE, Context
from engine.ggml.graph import Graph
from engine.ggml.session.computing import (
    Computed,
    ComputeManner,
    GraphRunner,
    SessionThreadpool,
    by_position,
    check_settable,
    clamped,
    set_all,
)
from engine.ggml.session.graphs import NUMBERS, PARS, SessionGraphs, StepKind
from engine.ggml.session.named_values import NamedValues
from engine.ggml.session.serialization import restore, snapshot
from engine.ggml.tensor_table import EvaluationOrder
from engine.ggml.threadpool import ThreadpoolParams
from engine.graph.definition import Definition
from engine.training.recipe.options import Precision
from engine.training.train_state import at_precision

MAIN = "main"
"""The name of the graph that a session begins with."""

Index = int | Sequence[int]
Given = Mapping[str, Any] | Sequence[Any] | None
"""Accumulators: by name of a value, or one for each node or output; None where there is none."""


@dataclass(frozen=True)
class ElementWrite:
    """One element to be written: of a leaf, at a flat index or one index for each axis in NumPy's order."""

    tensor: str
    index: Index
    value: float


class StaticSession:
    """Graphs over the values of one definition, built, differentiated and computed by verbs that ggml's are named for.

    Tensors live in one context, whatever graphs they are in. A call that raises has changed nothing. Equal calls give
    equal bits, on any number of threads, also after `snapshot` and `restore`. One call at a time.

    Attributes:
        definition: what the graphs are expanded from.
        context: what holds the leaves.
        pooling: the thread pool, if there is one.
    """

    def __init__(
        self,
        definition: Definition,
        dims: Mapping[str, int] | None = None,
        *,
        size: int = DEFAULT_GRAPH_SIZE,
        grads: bool = True,
        order: EvaluationOrder = "left_to_right",
        mem_size: int | None = None,
        no_alloc: bool = False,
        training: bool = True,
        seed: int = 0,
        precision: Precision = "float32",
        threadpool: ThreadpoolParams | None = None,
    ) -> None:
        """Make a context with the leaves of the definition, and the empty graph `MAIN`.

        Args:
            definition: inputs, parameters, nodes and losses by name.
            dims: a number for each extent that the definition names.
            size: how many nodes, and leafs, the graph holds at most.
            grads: whether it can be differentiated.
            order: which input of a node is visited first.
            mem_size: the bytes of the context; None for no budget.
            no_alloc: whether the elements of leaves are not charged to it.
            training: whether dropout drops, and running statistics are those of the batch.
            seed: what first values and random draws come from.
            precision: of what the definition has as float32.
            threadpool: a pool to compute on.

        Raises:
            DocumentError: with a pointer into these arguments.
            OutOfContextMemory: the context is too small for the leaves and the graph.
            PoolError: the pool cannot be made.
        """
        self.definition = at_precision(definition, precision)
        try:
            self.context = Context(mem_size, no_alloc=no_alloc)
        except MemoryError as error:
            raise LimitError(f"the system has no {mem_size} bytes for a context; take a smaller mem_size") from error
        values = NamedValues(self.definition, dims or {}, self.context, training=training, seed=seed)
        self.pooling = SessionThreadpool()
        self._structure = SessionGraphs(values, self.context)
        self._computing = GraphRunner(values, self.context, self.pooling)
        self._structure.make("new_graph", MAIN, size=size, grads=grads, order=order)
        if threadpool is not None:
            self.pooling.new(threadpool)

    @property
    def graphs(self) -> dict[str, Graph]:
        """The graphs by name; change them by the verbs below."""
        return self._structure.graphs

    @property
    def computations(self) -> int:
        """How many computations there have been."""
        return self._computing.count

    def graph(self, name: str = MAIN) -> Graph:
        """Return a graph by name; UnknownName if there is none."""
        return self._structure.graph(name)

    # Making graphs

    def new_graph(
        self,
        name: str,
        *,
        size: int = DEFAULT_GRAPH_SIZE,
        grads: bool = False,
        order: EvaluationOrder = "left_to_right",
    ) -> None:
        """Make an empty graph, in the place of the one that was called so (ggml_new_graph_custom)."""
        self._structure.make("new_graph", name, size=size, grads=grads, order=order)

    def graph_dup(self, name: str, graph: str = MAIN, *, force_grads: bool = False) -> None:
        """Make a copy of a graph over the same tensors."""
        self._structure.make("graph_dup", name, graph, force_grads=force_grads)

    def graph_view(self, name: str, graph: str = MAIN, *, start: int, stop: int) -> None:
        """Make a graph that shows the nodes start..stop-1 of another, to look at and compute."""
        self._structure.make("graph_view", name, graph, start=start, stop=stop)

    def graph_cpy(self, name: str, graph: str = MAIN) -> None:
        """Let the graph called `name` hold what another one holds."""
        self._structure.copy(graph, name)

    def graph_clear(self, graph: str = MAIN) -> None:
        """Take everything out of a graph; tensors keep their data, and losses stay marked."""
        self._structure.clear(graph)

    def graph_free(self, graph: str) -> None:
        """Let go of a graph."""
        self._structure.free(graph)

    # Building

    def set_param(self, names: Sequence[str]) -> None:
        """Mark leaves as parameters, before they are expanded."""
        values = [self._structure.values.value(name) for name in names]
        if any(value.node is not None or not value.requires_grad for value in values):
            self._structure.change("set_param", names=list(names))

    def set_loss(self, names: Sequence[str], graph: str = MAIN) -> None:
        """Mark values as losses of a graph."""
        self._structure.change("set_loss", graph, names=list(names))

    def set_name(self, tensor: str, name: str, graph: str = MAIN) -> None:
        """Call a value of a graph something else; the definition's name for it holds too."""
        self._structure.change("set_name", graph, tensor=tensor, name=name)

    def build_forward_expand(
        self,
        outputs: Sequence[str],
        graph: str = MAIN,
        *,
        order: EvaluationOrder | None = None,
        compute: bool = True,
    ) -> None:
        """Append values of the definition and all they depend on; see `Graph.expand`."""
        self._structure.change("build_forward_expand", graph, outputs=list(outputs), order=order, compute=compute)

    def build_forward_select(self, branches: Sequence[str], index: int, graph: str = MAIN) -> None:
        """Append several values, but compute one; see `Graph.select`."""
        self._structure.change("build_forward_select", graph, branches=list(branches), index=index)

    def build_backward_expand(self, accumulators: Given = None, graph: str = MAIN, *, accumulate: bool = True) -> None:
        """Append the gradients of the losses; see `Graph.build_backward`.

        Args:
            accumulators: what gradients are added to, arrays or numbers; for a loss, its seed.
            graph: which graph.
            accumulate: whether parameters without an accumulator get one.
        """
        target = self.graph(graph)
        given = self._given(target, accumulators)
        for name, array in given.items():
            value = self._structure.find(graph, name)
            if value is not None:
                check_settable(Value(value.shape, value.dtype, None, name=name), array)
        self._structure.change("build_backward_expand", graph, given=list(given), accumulate=accumulate)
        for name, array in given.items():
            leaf = target.grad_leaf(self._structure.value(graph, name))
            assert leaf is not None
            target.set(leaf, array)

    def accumulated(self, count: int, graph: str = MAIN) -> Sequence[Value]:
        """Return the values that a list of `count` accumulators is for: the nodes, or the outputs.

        Raises:
            ShapeError: there are as many of neither.
        """
        return _accumulated(self.graph(graph), count)

    def _given(self, graph: Graph, accumulators: Given) -> dict[str, Array]:
        if accumulators is None:
            return {}
        if not isinstance(accumulators, Mapping):
            values = _accumulated(graph, len(accumulators))
            accumulators = {graph.name_of(value): entry for value, entry in zip(values, accumulators, strict=True)}
        return {name: np.asarray(entry) for name, entry in accumulators.items() if entry is not None}

    def opt_step(
        self, kind: StepKind, pars: Sequence[float], parameters: Sequence[str] | None = None, graph: str = MAIN
    ) -> None:
        """Append a step of the optimizer for each parameter (ggml_opt_step_adamw, ggml_opt_step_sgd).

        Args:
            kind: which optimizer.
            pars: its numbers, see `NUMBERS`; the leaf `PARS` holds them.
            parameters: names in the graph; all that have a gradient if left out.
            graph: which graph.
        """
        if len(pars) != len(NUMBERS[kind]):
            raise ShapeError(f"a step of {kind} takes {len(NUMBERS[kind])} numbers, {', '.join(NUMBERS[kind])}")
        names = None if parameters is None else list(parameters)
        self._structure.change("opt_step", graph, kind=kind, parameters=names)
        leaf = self.graph(graph).find(PARS)
        assert leaf is not None
        self.context.set(leaf, np.asarray(pars))

    # Data

    def tensor_set(
        self,
        tensors: Mapping[str, Any],
        accumulators: Mapping[str, Any] | None = None,
        elements: Sequence[ElementWrite] = (),
        graph: str = MAIN,
    ) -> None:
        """Write leaves, sums of gradients (or seeds of losses) by what they are of, then single elements.

        Numbers are cast to the type of the leaf, as ggml_set_f32 does.
        """
        data = self._leaves(graph, tensors)
        for name, array in (accumulators or {}).items():
            data.append((self._grad_leaf(graph, name), np.asarray(array)))
        places = [(self.check_element(element, graph), element) for element in elements]
        set_all(self.context, data)
        for leaf, element in places:
            self.context.set_at(leaf, element.index, element.value)

    def check_element(self, element: ElementWrite, graph: str = MAIN) -> Value:
        """Return the leaf that an element is of, or refuse what `tensor_set` would refuse."""
        leaf = self._structure.value(graph, element.tensor)
        check_settable(leaf, np.zeros(()))
        check_index(leaf, element.index)
        return leaf

    def check_set(self, name: str, array: Any, graph: str = MAIN) -> None:
        """Refuse what `tensor_set` would refuse for one leaf."""
        check_settable(self._structure.value(graph, name), np.asarray(array))

    def _leaves(self, graph: str, tensors: Mapping[str, Any]) -> list[tuple[Value, Any]]:
        return [(self._structure.value(graph, name), np.asarray(array)) for name, array in tensors.items()]

    def _grad_leaf(self, graph: str, name: str) -> Value:
        leaf = self.graph(graph).grad_leaf(self._structure.value(graph, name))
        if leaf is None:
            raise GradientError(f"no gradient of {name[:64]!r} is added up; build_backward_expand with an accumulator")
        return leaf

    def value(self, name: str, graph: str = MAIN) -> Value:
        """Return what the definition or the graph calls so; UnknownName if neither does."""
        return self._structure.value(graph, name)

    def find(self, name: str, graph: str = MAIN) -> Value | None:
        """Return what the definition or the graph calls so; None if neither does."""
        return self._structure.find(graph, name)

    def position(self, node: int | str, graph: str = MAIN) -> int:
        """Return the position of a node given by position, from the end if negative, or by name."""
        return by_position(self.graph(graph), node)

    def tensor(self, name: str, graph: str = MAIN) -> Array:
        """Copy the data of a tensor: of a leaf that was set, or of what was computed."""
        return self.graph(graph).get(self.value(name, graph))

    def element(self, name: str, index: Index, graph: str = MAIN) -> Any:
        """Return one element of a tensor as a number, at a flat index or one index for each axis in NumPy's order."""
        return self.graph(graph).get_at(self.value(name, graph), index)

    def gradient(self, name: str, graph: str = MAIN, *, accumulator: bool = False) -> Array | None:
        """Copy the gradient of the losses by a value, or its sum; None where there is none."""
        holder, value = self.graph(graph), self.value(name, graph)
        found = holder.grad_acc(value) if accumulator else holder.grad(value)
        if found is None:
            return None
        leaf = holder.grad_leaf(value)
        return holder.get(found if leaf is None else leaf)

    def held(self, name: str, graph: str = MAIN) -> Array | None:
        """Copy the data of a tensor; None if it has none yet."""
        try:
            return self.tensor(name, graph)
        except GraphError:
            return None

    def held_gradient(self, name: str, graph: str = MAIN) -> Array | None:
        """Copy the gradient of the losses by a value; None where there is none, or none yet."""
        try:
            return self.gradient(name, graph)
        except GraphError:
            return None

    # Computing

    def graph_compute(
        self,
        inputs: Mapping[str, Any] | None = None,
        graph: str = MAIN,
        *,
        abort_after: int | str | None = None,
        manner: ComputeManner | None = None,
    ) -> Computed:
        """Set leaves and compute a graph.

        Args:
            inputs: as the tensors of `tensor_set`.
            graph: which graph.
            abort_after: the node, by position or name, after which the computation is aborted.
            manner: how.

        Raises:
            GraphError: a leaf was never set, or the work buffer is too small.
            ComputeError: a node could not be computed; its `status` is FAILED or ALLOC_FAILED.
            OutOfContextMemory: the context has too few bytes left for the work buffer.
            PoolPaused: the pool is paused.
        """
        target = self.graph(graph)
        last = None if abort_after is None else by_position(target, abort_after)
        return self._computing.compute(target, self._leaves(graph, inputs or {}), manner or ComputeManner(), last)

    def graph_reset(self, graph: str = MAIN, *, grads: bool = True, momenta: bool = False) -> None:
        """Set sums of gradients to 0 and the seeds of losses to 1, moments to 0; see `Graph.reset`."""
        self.graph(graph).reset(grads=grads, momenta=momenta)

    def plan(self, graph: str = MAIN, n_threads: int = 0) -> ComputePlan:
        """Plan a computation on the pool, if there is one (ggml_graph_plan)."""
        wanted, warnings = (n_threads, ()) if self.pooling.pool else clamped(n_threads)
        plan = self.graph(graph).plan(wanted, self.pooling.pool)
        plan.warnings = (*warnings, *plan.warnings)
        return plan

    # Putting away

    def load(self, checkpoint: Checkpoint) -> None:
        """Take parameters and buffers of a checkpoint, all of them.

        Raises:
            UnknownName, ShapeError: one is missing, or of another shape; nothing has been changed then.
        """
        learned = checkpoint.averaged()
        tables = ((self.definition.parameters, learned.parameters), (self.definition.buffers, learned.buffers))
        for specs, arrays in tables:
            for name in specs:
                if name not in arrays:
                    raise UnknownName(f"the checkpoint has no {name!r}; it is of another graph")
        wanted = {name: arrays[name] for specs, arrays in tables for name in specs}
        set_all(self.context, self._leaves(MAIN, wanted))

    def learned(self) -> Checkpoint:
        """Copy parameters and buffers: what any session over the same definition can begin with."""
        whole = self.snapshot()
        return Checkpoint(whole.parameters, whole.buffers, cursor={"step": 0}, meta=whole.meta)

    def snapshot(self) -> Checkpoint:
        """Copy all that the next calls depend on."""
        return snapshot(self.definition, self._structure, self._computing, self.context, self.pooling)

    def restore(self, checkpoint: Checkpoint) -> None:
        """Take up what `snapshot` copied, on a session that was made alike and has done nothing yet.

        Raises:
            CheckpointError: it is of another graph, or damaged.
        """
        restore(checkpoint, self.definition, self._structure, self._computing, self.context, self.pooling)

    def close(self) -> None:
        """End the threads of the pool."""
        self.pooling.free()


def _accumulated(graph: Graph, count: int) -> Sequence[Value]:
    nodes = graph.forward().nodes
    values = nodes if count == len(nodes) else graph.outputs
    if len(values) != count:
        raise ShapeError(
            f"{count} accumulators fit neither the {len(nodes)} nodes nor the {len(values)} outputs; give one for "
            "each, null where there is none"
        )
    return values


def check_index(leaf: Value, index: Index) -> None:
    """Refuse an index that lies outside."""
    if isinstance(index, int):
        good = 0 <= index < leaf.size
    else:
        good = len(index) == leaf.ndim and all(0 <= i < extent for i, extent in zip(index, leaf.shape, strict=True))
    if not good:
        raise ShapeError(f"index {index!s:.80} is out of range for {leaf.name or 'a leaf'} of shape {list(leaf.shape)}")
