"""StaticSession: ggml's low-level interface over a definition, with values and graphs addressed by name."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from engine.core.errors import GradientError, GraphError, LimitError, ShapeError, UnknownName
from engine.core.value import Array, Value
from engine.data.checkpoint import Checkpoint
from engine.ggml.context import DEFAULT_GRAPH_SIZE, Context
from engine.ggml.executor import ComputePlan
from engine.ggml.graph import Graph
from engine.ggml.session.computing import (
    Computed,
    ComputeManner,
    GraphRunner,
    SessionThreadpool,
    check_settable,
    clamp_threads,
    node_position,
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
"""Gradient accumulators: by name of a value, or a list with one entry, possibly None, for each node or output."""


@dataclass(frozen=True)
class ElementWrite:
    """One element of a leaf to write, at a flat index or at one index for each axis in NumPy's order."""

    tensor: str
    index: Index
    value: float


@dataclass(frozen=True)
class StaticOptions:
    """How a static session, its context and its first graph are made.

    Attributes:
        size: capacity of the graph, in nodes and in leafs.
        grads: whether the graph can be differentiated.
        order: which input of a node is visited first.
        mem_size: the bytes of the context; None for no budget.
        no_alloc: whether the elements of leaves are not charged to it.
        training: whether dropout is active and normalization uses batch statistics.
        seed: seed of initial values and of random ops.
        precision: the type that replaces float32 of the definition.
        threadpool: parameters of a thread pool to create.
    """

    size: int = DEFAULT_GRAPH_SIZE
    grads: bool = True
    order: EvaluationOrder = "left_to_right"
    mem_size: int | None = None
    no_alloc: bool = False
    training: bool = True
    seed: int = 0
    precision: Precision = "float32"
    threadpool: ThreadpoolParams | None = None


class StaticSession:
    """Graphs over the values of one definition; the methods are named after ggml's functions.

    All graphs share the tensors of one context. A call that raises changes nothing. Equal calls give equal bits, on any
    number of threads, also after `snapshot` and `restore`. Calls must not overlap.

    Attributes:
        definition: what the graphs are expanded from.
        context: what holds the leaves.
        threadpool: the thread pool, if there is one.
    """

    def __init__(
        self,
        definition: Definition,
        dims: Mapping[str, int] | None = None,
        options: StaticOptions = StaticOptions(),
    ) -> None:
        """Create a context with the leaves of the definition, and the empty graph `MAIN`.

        Args:
            definition: inputs, parameters, nodes and losses by name.
            dims: the extent of each dimension that the definition names.
            options: context, graph, random numbers and threads.

        Raises:
            DocumentError: invalid arguments, each with its pointer.
            OutOfContextMemory: the context is too small for the leaves and the graph.
            PoolError: the system refuses the pool.
        """
        self.definition = at_precision(definition, options.precision)
        try:
            self.context = Context(options.mem_size, no_alloc=options.no_alloc)
        except MemoryError as error:
            raise LimitError(
                f"the system has no {options.mem_size} bytes for a context; take a smaller mem_size"
            ) from error
        values = NamedValues(self.definition, dims or {}, self.context, training=options.training, seed=options.seed)
        self.threadpool = SessionThreadpool()
        self._graphs = SessionGraphs(values, self.context)
        self._runner = GraphRunner(values, self.context, self.threadpool)
        self._graphs.create("new_graph", MAIN, size=options.size, grads=options.grads, order=options.order)
        if options.threadpool is not None:
            self.threadpool.new(options.threadpool)

    @property
    def graphs(self) -> dict[str, Graph]:
        """The graphs by name; use the methods below to change them."""
        return self._graphs.graphs

    @property
    def computations(self) -> int:
        """Number of computations so far."""
        return self._runner.count

    def graph(self, name: str = MAIN) -> Graph:
        """Return a graph by name; UnknownName if there is none."""
        return self._graphs.graph(name)

    # Making graphs

    def new_graph(
        self,
        name: str,
        *,
        size: int = DEFAULT_GRAPH_SIZE,
        grads: bool = False,
        order: EvaluationOrder = "left_to_right",
    ) -> None:
        """Create an empty graph; it replaces one of the same name (ggml_new_graph_custom)."""
        self._graphs.create("new_graph", name, size=size, grads=grads, order=order)

    def graph_dup(self, name: str, graph: str = MAIN, *, force_grads: bool = False) -> None:
        """Copy a graph; both share their tensors."""
        self._graphs.create("graph_dup", name, graph, force_grads=force_grads)

    def graph_view(self, name: str, graph: str = MAIN, *, start: int, stop: int) -> None:
        """Create a view of the nodes start..stop-1 of a graph, to inspect and compute."""
        self._graphs.create("graph_view", name, graph, start=start, stop=stop)

    def graph_cpy(self, name: str, graph: str = MAIN) -> None:
        """Replace the content of the graph `name` by that of another."""
        self._graphs.copy(graph, name)

    def graph_clear(self, graph: str = MAIN) -> None:
        """Remove all nodes and leafs of a graph; tensors keep their data, and losses stay marked."""
        self._graphs.clear(graph)

    def graph_free(self, graph: str) -> None:
        """Delete a graph."""
        self._graphs.free(graph)

    # Building

    def set_param(self, names: Sequence[str]) -> None:
        """Mark leaves as parameters, before they are expanded."""
        values = [self._graphs.values.value(name) for name in names]
        if any(value.node is not None or not value.requires_grad for value in values):
            self._graphs.change("set_param", names=list(names))

    def set_loss(self, names: Sequence[str], graph: str = MAIN) -> None:
        """Mark values as losses of a graph."""
        self._graphs.change("set_loss", graph, names=list(names))

    def set_name(self, tensor: str, name: str, graph: str = MAIN) -> None:
        """Rename a value of a graph; the name in the definition stays valid too."""
        self._graphs.change("set_name", graph, tensor=tensor, name=name)

    def build_forward_expand(
        self, outputs: Sequence[str], graph: str = MAIN, *, order: EvaluationOrder | None = None, compute: bool = True
    ) -> None:
        """Append values of the definition and their dependencies; see `Graph.expand`."""
        self._graphs.change("build_forward_expand", graph, outputs=list(outputs), order=order, compute=compute)

    def build_forward_select(self, branches: Sequence[str], index: int, graph: str = MAIN) -> None:
        """Append several values of which one is computed; see `Graph.select`."""
        self._graphs.change("build_forward_select", graph, branches=list(branches), index=index)

    def build_backward_expand(self, accumulators: Given = None, graph: str = MAIN, *, accumulate: bool = True) -> None:
        """Append the gradients of the losses; see `Graph.build_backward`.

        Args:
            accumulators: arrays or numbers to which gradients are added; for a loss, its seed.
            graph: which graph.
            accumulate: whether parameters without an accumulator get one.
        """
        target = self.graph(graph)
        given = self._read_accumulators(target, accumulators)
        for name, array in given.items():
            value = self._graphs.find(graph, name)
            if value is not None:
                check_settable(Value(value.shape, value.dtype, None, name=name), array)
        self._graphs.change("build_backward_expand", graph, given=list(given), accumulate=accumulate)
        for name, array in given.items():
            leaf = target.grad_leaf(self._graphs.value(graph, name))
            assert leaf is not None
            target.set(leaf, array)

    def accumulated(self, count: int, graph: str = MAIN) -> Sequence[Value]:
        """Return the values that a list of `count` accumulators belongs to: the nodes, or else the outputs.

        Raises:
            ShapeError: neither has `count` entries.
        """
        return _accumulated_values(self.graph(graph), count)

    def _read_accumulators(self, graph: Graph, accumulators: Given) -> dict[str, Array]:
        if accumulators is None:
            return {}
        if not isinstance(accumulators, Mapping):
            values = _accumulated_values(graph, len(accumulators))
            accumulators = {graph.name_of(value): entry for value, entry in zip(values, accumulators, strict=True)}
        return {name: np.asarray(entry) for name, entry in accumulators.items() if entry is not None}

    def opt_step(
        self, kind: StepKind, pars: Sequence[float], parameters: Sequence[str] | None = None, graph: str = MAIN
    ) -> None:
        """Append an optimizer step for each parameter (ggml_opt_step_adamw, ggml_opt_step_sgd).

        Args:
            kind: which optimizer.
            pars: its numbers, see `NUMBERS`; stored in the leaf `PARS`.
            parameters: names in the graph; by default all parameters with a gradient.
            graph: which graph.
        """
        if len(pars) != len(NUMBERS[kind]):
            raise ShapeError(f"a step of {kind} takes {len(NUMBERS[kind])} numbers, {', '.join(NUMBERS[kind])}")
        names = None if parameters is None else list(parameters)
        self._graphs.change("opt_step", graph, kind=kind, parameters=names)
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
        """Write leaves, gradient accumulators (or loss seeds) by the name of their value, then single elements.

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
        """Return the leaf of an element; raises what `tensor_set` would raise."""
        leaf = self._graphs.value(graph, element.tensor)
        check_settable(leaf, np.zeros(()))
        check_index(leaf, element.index)
        return leaf

    def check_set(self, name: str, array: Any, graph: str = MAIN) -> None:
        """Raise what `tensor_set` would raise for one leaf."""
        check_settable(self._graphs.value(graph, name), np.asarray(array))

    def _leaves(self, graph: str, tensors: Mapping[str, Any]) -> list[tuple[Value, Any]]:
        return [(self._graphs.value(graph, name), np.asarray(array)) for name, array in tensors.items()]

    def _grad_leaf(self, graph: str, name: str) -> Value:
        leaf = self.graph(graph).grad_leaf(self._graphs.value(graph, name))
        if leaf is None:
            raise GradientError(f"{name[:64]!r} has no gradient accumulator; call build_backward_expand with one")
        return leaf

    def value(self, name: str, graph: str = MAIN) -> Value:
        """Return the value of this name in the definition or the graph; UnknownName if there is none."""
        return self._graphs.value(graph, name)

    def find(self, name: str, graph: str = MAIN) -> Value | None:
        """Return the value of this name in the definition or the graph, or None."""
        return self._graphs.find(graph, name)

    def position(self, node: int | str, graph: str = MAIN) -> int:
        """Return the position of a node given by position, from the end if negative, or by name."""
        return node_position(self.graph(graph), node)

    def tensor(self, name: str, graph: str = MAIN) -> Array:
        """Return a copy of a tensor: a leaf that was set or a computed result."""
        return self.graph(graph).get(self.value(name, graph))

    def element(self, name: str, index: Index, graph: str = MAIN) -> Any:
        """Return one element of a tensor as a number, at a flat index or one index for each axis in NumPy's order."""
        return self.graph(graph).get_at(self.value(name, graph), index)

    def gradient(self, name: str, graph: str = MAIN, *, accumulator: bool = False) -> Array | None:
        """Return a copy of the gradient of the losses by a value, or of its accumulator; None if there is none."""
        holder, value = self.graph(graph), self.value(name, graph)
        found = holder.grad_acc(value) if accumulator else holder.grad(value)
        if found is None:
            return None
        leaf = holder.grad_leaf(value)
        return holder.get(found if leaf is None else leaf)

    def held(self, name: str, graph: str = MAIN) -> Array | None:
        """Return a copy of a tensor; None if it has no data yet."""
        try:
            return self.tensor(name, graph)
        except GraphError:
            return None

    def held_gradient(self, name: str, graph: str = MAIN) -> Array | None:
        """Return a copy of the gradient of the losses by a value; None if there is none, or none yet."""
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
            inputs: leaves to set first, as in `tensor_set`.
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
        last = None if abort_after is None else node_position(target, abort_after)
        return self._runner.compute(target, self._leaves(graph, inputs or {}), manner or ComputeManner(), last)

    def graph_reset(self, graph: str = MAIN, *, grads: bool = True, momenta: bool = False) -> None:
        """Set sums of gradients to 0 and the seeds of losses to 1, moments to 0; see `Graph.reset`."""
        self.graph(graph).reset(grads=grads, momenta=momenta)

    def plan(self, graph: str = MAIN, n_threads: int = 0) -> ComputePlan:
        """Plan a computation on the pool, if there is one (ggml_graph_plan)."""
        wanted, warnings = (n_threads, ()) if self.threadpool.pool else clamp_threads(n_threads)
        plan = self.graph(graph).plan(wanted, self.threadpool.pool)
        plan.warnings = (*warnings, *plan.warnings)
        return plan

    # Serialization

    def load(self, checkpoint: Checkpoint) -> None:
        """Load all parameters and buffers of a checkpoint.

        Raises:
            UnknownName, ShapeError: one is missing or has another shape; then nothing is changed.
        """
        learned = checkpoint.averaged()
        tables = ((self.definition.parameters, learned.parameters), (self.definition.buffers, learned.buffers))
        for specs, arrays in tables:
            for name in specs:
                if name not in arrays:
                    raise UnknownName(f"the checkpoint has no {name!r}; it belongs to another graph")
        wanted = {name: arrays[name] for specs, arrays in tables for name in specs}
        set_all(self.context, self._leaves(MAIN, wanted))

    def learned(self) -> Checkpoint:
        """Return a checkpoint of parameters and buffers, which any session over the same definition can load."""
        whole = self.snapshot()
        return Checkpoint(whole.parameters, whole.buffers, cursor={"step": 0}, meta=whole.meta)

    def snapshot(self) -> Checkpoint:
        """Return a checkpoint of the whole state of the session."""
        return snapshot(self.definition, self._graphs, self._runner, self.context, self.threadpool)

    def restore(self, checkpoint: Checkpoint) -> None:
        """Restore a checkpoint of `snapshot` in a new session that was created with the same arguments.

        Raises:
            CheckpointError: it belongs to another graph, or is damaged.
        """
        restore(checkpoint, self.definition, self._graphs, self._runner, self.context, self.threadpool)

    def close(self) -> None:
        """Stop the threads of the pool."""
        self.threadpool.free()


def _accumulated_values(graph: Graph, count: int) -> Sequence[Value]:
    nodes = graph.forward().nodes
    values = nodes if count == len(nodes) else graph.outputs
    if len(values) != count:
        raise ShapeError(
            f"{count} accumulators fit neither the {len(nodes)} nodes nor the {len(values)} outputs; give one for "
            "each, null where there is none"
        )
    return values


def check_index(leaf: Value, index: Index) -> None:
    """Raise ShapeError for an index out of range."""
    if isinstance(index, int):
        good = 0 <= index < leaf.size
    else:
        good = len(index) == leaf.ndim and all(0 <= i < extent for i, extent in zip(index, leaf.shape, strict=True))
    if not good:
        raise ShapeError(f"index {index!s:.80} is out of range for {leaf.name or 'a leaf'} of shape {list(leaf.shape)}")
