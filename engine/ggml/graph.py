"""Graph: define once, compute many times; forward and backward nodes in one list (ggml_cgraph)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace

from engine.core.dtypes import is_float
from engine.core.errors import AttributeValueError, DTypeError, GradientError, GraphError, ShapeError, UnknownName
from engine.core.modes import tracing
from engine.core.value import Array, Value
from engine.ggml.context import DEFAULT_GRAPH_SIZE, Context, graph_overhead, set_param, tensor_overhead
from engine.ggml.execution import Execution, GraphKey
from engine.ggml.executor import ComputePlan, Status, make_compute_plan
from engine.ggml.gradients import Accumulators, BackwardNodes, build, given_accumulators
from engine.ggml.inspection import Inspection, graph_drawing, graph_listing
from engine.ggml.storage import Storage
from engine.ggml.tensor_table import EvaluationOrder, TensorTable
from engine.ggml.threadpool import Threadpool
from engine.graph.trace import check_loss


class Graph(Inspection):
    """Nodes (op results and parameters) and leafs (all other leaves) in the order of execution.

    Build values with the ops over leaves from `declare`, then `expand` the outputs, `build_backward`, `set` the leaves,
    `compute`, `get`. Gradients add up from one computation to the next until `reset`. Random ops called inside `trace`
    draw other numbers in each computation.

    Attributes:
        size: capacity, in nodes and in leafs.
        has_grads: whether the graph can be differentiated.
        order: which input of a node is visited first.
        context: holds the leaves, and is charged for the graph and the backward pass.
    """

    def __init__(
        self,
        size: int = DEFAULT_GRAPH_SIZE,
        *,
        grads: bool = False,
        order: EvaluationOrder = "left_to_right",
        context: Context | None = None,
    ) -> None:
        """Create an empty graph (ggml_new_graph_custom).

        Raises:
            AttributeValueError: `size` is below 1.
            OutOfContextMemory: the context has fewer bytes left than `graph_overhead`.
        """
        if size < 1:
            raise AttributeValueError(f"size {size} of a graph must be at least 1")
        if context is not None:
            context.charge(graph_overhead(size, grads=grads))
        self.size = size
        self.has_grads = grads
        self.order: EvaluationOrder = order
        self.context = context
        self._window: range | None = None
        self._hold(context.storage if context is not None else Storage(), TensorTable(size), GraphKey())

    def _hold(self, storage: Storage, table: TensorTable, key: GraphKey) -> None:
        """Set the table, without losses and gradients."""
        self._storage = storage
        self._table = table
        self._key = key
        self._marked: list[Value] = []
        self._ends: tuple[tuple[int, int, int], tuple[int, int, int]] | None = None
        self._gradients: BackwardNodes | None = None
        self._execution = Execution(table, storage, key)

    # Building

    def expand(self, *outputs: Value, order: EvaluationOrder | None = None, compute: bool = True) -> None:
        """Append `outputs` and all they depend on, each value once, inputs first (ggml_build_forward_expand).

        Args:
            outputs: what is to be computed.
            order: which input of a node is visited first, where that differs from the graph's.
            compute: False only gives them their place: they are computed if what is expanded later needs them
                (ggml_build_forward_order).

        Raises:
            GraphFull: they do not fit; the graph is as before.
        """
        self._check_whole()
        with self._table.unchanged_on_error():
            for output in outputs:
                self._table.add(output, order or self.order, compute=compute)

    def select(self, branches: Sequence[Value], index: int) -> Value:
        """Append all `branches` but compute only that at `index`, and return it (ggml_build_forward_select).

        The graph has the same nodes whichever branch is chosen.
        """
        self._check_whole()
        if not 0 <= index < len(branches):
            raise GraphError(f"branch {index} is not one of the {len(branches)}; use 0..{len(branches) - 1}")
        with self._table.unchanged_on_error():
            for number, branch in enumerate(branches):
                self._table.add(branch, self.order, compute=number == index)
        return branches[index]

    def set_loss(self, value: Value) -> None:
        """Mark a floating value of one element as a loss; the gradients of several losses add up (ggml_set_loss)."""
        reason = check_loss(value)
        if reason is not None:
            raise (ShapeError if is_float(value.dtype) else DTypeError)(reason)
        self._marked.append(value)

    def build_backward(self, accumulators: Accumulators = None, *, accumulate: bool = True) -> None:
        """Append the gradients of the losses by the parameters (ggml_build_backward_expand).

        Without a marked loss, the only floating scalar among the outputs is the loss. A second call first removes the
        gradients that the first appended.

        Args:
            accumulators: leaves to add gradients up in, by name of a value, or one (or None) for each node or output;
                the one of a loss holds its seed.
            accumulate: whether parameters without one get one; if not, `grad` is that of the last computation alone.

        Raises:
            GradientError: the graph has no grads, no parameter or no loss.
            GraphFull: the gradients do not fit; the graph is as before.
        """
        self._check_whole()
        self._check_grads()
        gone = [] if self._ends is None else self._table.nodes[self._ends[0][0] :]
        with self.unchanged_on_error():
            self._build_backward(accumulators, accumulate=accumulate)
        self._storage.forget(gone)

    def _build_backward(self, accumulators: Accumulators, *, accumulate: bool) -> None:
        if self._ends is not None:
            if self._table.mark() != self._ends[1]:
                raise GraphError("nodes were expanded behind the gradients: clear() the graph and build it again")
            self._table.restore(self._ends[0])
        self._gradients, self._ends, self._execution.sums = None, None, []
        before = self._table.mark()
        given = given_accumulators(self._table, self._table.wanted, accumulators)
        with self.trace():
            gradients = build(self._table, self._marked, given, accumulate=accumulate, order=self.order)
            for leaf, number in (*((acc, 0) for _, acc in gradients.sums), *((seed, 1) for seed in gradients.seeds)):
                if not self._storage.is_filled(leaf):
                    self._charge_leaf(leaf, given)
                    self._storage.set(leaf, number)
        self._gradients, self._ends = gradients, (before, self._table.mark())
        self._execution.sums = gradients.sums

    @contextmanager
    def unchanged_on_error(self) -> Iterator[None]:
        """Restore the graph and the budget of its context if an error is raised inside."""
        table, marked = self._table.copy(self.size), list(self._marked)
        gradients, ends = self._gradients, self._ends
        sums, updates = self._execution.sums, list(self._execution.updates)
        used = 0 if self.context is None else self.context.used_mem
        try:
            yield
        except BaseException:
            self._table.take(table)
            self._marked, self._gradients, self._ends = marked, gradients, ends
            self._execution.sums, self._execution.updates = sums, updates
            if self.context is not None:
                self.context.used_mem = used
            raise

    def _charge_leaf(self, leaf: Value, given: dict[object, Value]) -> None:
        if self.context is not None and all(leaf is not other for other in given.values()):
            self.context.charge(tensor_overhead())

    def assign(self, leaf: Value, new: Value) -> None:
        """Assign `new` to `leaf` after each complete computation: for parameters, moments, statistics."""
        if leaf.node is not None or leaf.spec != new.spec:
            raise ShapeError(
                f"{new.dtype.name}{list(new.shape)} can only be assigned to a leaf of its shape and dtype, not to "
                f"{leaf.dtype.name}{list(leaf.shape)}"
            )
        self.expand(leaf, new)
        kept = [(old, value) for old, value in self._execution.updates if old.key != leaf.key]
        self._execution.updates = [*kept, (leaf, new)]

    def trace(self) -> AbstractContextManager[None]:
        """Return a context in which ops are traced without computing, and random ops use the graph's key."""
        return tracing(self._key.next_key)

    def seed(self, number: int) -> None:
        """Seed the random ops of the graph."""
        self._key.seed(number)

    def clear(self) -> None:
        """Remove all nodes and leafs; leaves keep their data (ggml_graph_clear)."""
        self._check_whole()
        if self.context is None:
            self._storage = self._storage.without_results()
        else:
            self._storage.forget(self._table.nodes)
        self._hold(self._storage, TensorTable(self.size), self._key)

    # Showing and copying

    def to_text(self) -> str:
        """Print a line for each node and leaf; x marks a parameter, g what has a gradient (ggml_graph_print)."""
        return graph_listing(self)

    def to_dot(self, forward: Graph | None = None) -> str:
        """Draw the graph in DOT (ggml_graph_dump_dot); `forward` has the nodes of the forward pass.

        Parameters are yellow, nodes with a gradient green, or lightblue when not in `forward`, others white, leafs
        pink. A gradient is part of what it is the gradient of.
        """
        return graph_drawing(self, self.forward() if forward is None else forward)

    def forward(self) -> Graph:
        """Return the nodes that were there before the gradients, as a view."""
        count = self.n_nodes if self._ends is None else self._ends[0][0]
        return self if self._window is not None else self.view(0, count)

    def dup(self, *, force_grads: bool = False) -> Graph:
        """Return a copy over the same data, which can be extended on its own (ggml_graph_dup)."""
        self._check_whole()
        other = Graph(self.size, grads=self.has_grads or force_grads, order=self.order, context=self.context)
        self.copy_to(other)
        return other

    def copy_to(self, other: Graph) -> None:
        """Replace the content of `other` by that of this graph, over the same data (ggml_graph_cpy).

        Raises:
            GraphFull: it does not fit; `other` is as before.
            GradientError: this graph has gradients and `other` was made without.
        """
        self._check_whole()
        if self._gradients is not None and not other.has_grads:
            raise GradientError("gradients cannot be copied into a graph made with grads=False")
        other._hold(self._storage, self._table.copy(other.size), self._key)
        other._marked, other._gradients, other._ends = list(self._marked), self._gradients, self._ends
        other._execution.sums = self._execution.sums
        other._execution.updates = list(self._execution.updates)

    def view(self, start: int, stop: int) -> Graph:
        """Return the nodes start..stop-1 as a graph to look at and compute; it has no gradients and cannot be extended.

        What its nodes need must have been computed before (ggml_graph_view).
        """
        self._check_whole()
        if not 0 <= start <= stop <= self.n_nodes:
            raise UnknownName(f"nodes {start} to {stop} are not in a graph of {self.n_nodes} nodes")
        other = Graph(max(stop - start, 1), order=self.order)
        other._hold(self._storage, self._table, self._key)
        other._execution = self._execution
        other._window = range(start, stop)
        return other

    # Computing

    def reset(self, *, grads: bool = True, momenta: bool = False) -> None:
        """Start a new window of accumulation (ggml_graph_reset).

        Args:
            grads: set sums of gradients to 0 and the seeds of the losses to 1.
            momenta: set the moments of every AdamW step in the graph to 0.

        Raises:
            GradientError: the graph was made with grads=False.
            GraphError: `momenta`, and there is no AdamW step.
        """
        self._check_grads()
        if momenta:
            steps = {v.node for v in self.nodes if v.node is not None and v.node.op.memory.moments}
            if not steps:
                raise GraphError("the graph holds no AdamW step (opt_step_adamw) whose moments could be reset")
            for step in steps:
                for index in step.op.memory.moments:
                    self._storage.set(step.inputs[index], 0)
        if grads and self._gradients is not None:
            for _, leaf in self._gradients.sums:
                self._storage.set(leaf, 0)
            for seed in self._gradients.seeds:
                self._storage.set(seed, 1)

    def plan(self, n_threads: int = 0, threadpool: Threadpool | None = None) -> ComputePlan:
        """Plan a computation (ggml_graph_plan); the work buffer is the caller's to allocate.

        Args:
            n_threads: how many threads; below 1, those of the pool, or 4 without one.
            threadpool: a pool that is there; more threads than it has are cut to its number, with a warning.
        """
        return make_compute_plan(self._execution.static_plan().work_size, n_threads, threadpool)

    def compute(
        self,
        plan: ComputePlan | None = None,
        *,
        n_threads: int = 1,
        threadpool: Threadpool | None = None,
        abort: Callable[[], bool] | None = None,
        auto_resume: bool = False,
        use_ref: bool = False,
        context: Context | None = None,
    ) -> Status:
        """Compute every node in order (ggml_graph_compute).

        Args:
            plan: how; its work buffer must be there. Left out, the others say how, and the graph keeps its memory.
            n_threads: how many threads compute.
            threadpool: the pool to use; it limits n_threads.
            abort: called after each node that is computed; True ends the computation there.
            auto_resume: whether a pool that is paused is resumed, as in ggml.
            use_ref: see `ComputePlan`.
            context: what the work buffer is taken from (ggml_graph_compute_with_ctx).

        Returns:
            SUCCESS or ABORTED.

        Raises:
            GraphError: a leaf was never set, or a plan without memory.
            ComputeError: a node could not be computed; its `status` is FAILED or ALLOC_FAILED.
            OutOfContextMemory: the context has too few bytes left for the work buffer.
            PoolPaused, PoolBusy: the pool takes no work.
        """
        if plan is None:
            plan = self.plan(n_threads, threadpool)
            callback = None if abort is None else (lambda _: abort())
            work_data = self._execution.memory(context)
            plan = replace(plan, work_data=work_data, abort_callback=callback, use_ref=use_ref)
        return self._execution.compute(plan, self._window, auto_resume=auto_resume)

    def missing_bytes(self, context: Context | None = None) -> int:
        """Return how many bytes a computation without a plan would allocate for its results, of `context` if given."""
        return self._execution.missing(context)

    def reserved(self, context: Context) -> int:
        """Return how many bytes of `context` are the graph's work buffer."""
        return self._execution.reserved(context)

    def computed(self) -> list[tuple[int, Array]]:
        """Return what the last computation left, by position of the node; not copies."""
        last = self._execution.published()
        found = [(place, value, self._storage.result(value)) for place, value in enumerate(self._table.nodes)]
        return [(place, array) for place, value, array in found if array is not None and last.get(value.key) is array]

    def resume(self, results: Mapping[int, Array], context: Context | None = None, nbytes: int = 0) -> None:
        """Restore computed results, by position of the node; see `computed` and `reserved`."""
        by_key = {self._table.nodes[place].key: array for place, array in results.items()}
        self._execution.resume(by_key, context, nbytes)

    def forget_results(self) -> None:
        """Drop all results: reading them raises until they are computed again."""
        self._storage.forget(self._table.nodes)

    # ggml's names, without their prefix

    set_param = staticmethod(set_param)
    build_forward_expand = expand
    build_forward_select = select
    build_backward_expand = build_backward
    get_grad = Inspection.grad
    get_grad_acc = Inspection.grad_leaf
    get_tensor = Inspection.find
    dump_dot = to_dot

    # Refusing

    def _check_whole(self) -> None:
        if self._window is not None:
            raise GraphError("this is a view of a graph: extend, copy or differentiate the graph it is of")

    def _check_grads(self) -> None:
        if not self.has_grads:
            raise GradientError("the graph was made with grads=False; make it with Graph(size, grads=True)")
