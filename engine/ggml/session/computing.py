"""Computing the graphs of a session: thread pool, inputs, rollback on errors."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from typing import Any

from engine.core.cpu import usable_cores
from engine.core.errors import ComputeError, GraphError, PoolError, PoolMissing, ShapeError, UnknownName
from engine.core.value import Value
from engine.ggml.context import Context
from engine.ggml.executor import DEFAULT_N_THREADS, Status
from engine.ggml.graph import Graph
from engine.ggml.session.named_values import NamedValues
from engine.ggml.threadpool import Threadpool, ThreadpoolParams


def max_threads() -> int:
    """Return the limit of threads: the number of usable cores, but at least ggml's default."""
    return max(usable_cores(), DEFAULT_N_THREADS)


def clamp_threads(n_threads: int) -> tuple[int, tuple[str, ...]]:
    """Return `n_threads` cut to `max_threads`, and a warning if it was cut."""
    limit = max_threads()
    if n_threads <= limit:
        return n_threads, ()
    return limit, (f"{n_threads} threads requested; this machine allows {limit}, which are used",)


class SessionThreadpool:
    """The thread pool of a session, or none.

    Attributes:
        pool: the pool, or None.
        asked: the requested parameters; the pool may have fewer threads.
        warnings: requests that could not be granted.
    """

    def __init__(self) -> None:
        """Start without a pool."""
        self.pool: Threadpool | None = None
        self.asked: ThreadpoolParams | None = None
        self.warnings: tuple[str, ...] = ()

    def new(self, params: ThreadpoolParams) -> None:
        """Create a pool; it replaces the current one (ggml_threadpool_new).

        Raises:
            PoolError: a CPU of the mask does not exist; the current pool stays.
        """
        n_threads, warnings = clamp_threads(params.n_threads)
        pool = Threadpool(replace(params, n_threads=n_threads))
        self.free()
        self.pool, self.asked, self.warnings = pool, params, warnings

    def free(self) -> None:
        """Free the pool, if there is one (ggml_threadpool_free)."""
        if self.pool is not None:
            self.pool.free()
        self.pool, self.asked, self.warnings = None, None, ()

    def required(self) -> Threadpool:
        """Return the pool; PoolMissing if there is none."""
        if self.pool is None:
            raise PoolMissing("there is no thread pool; create one (threadpool_new)")
        return self.pool

    def matches(self, params: ThreadpoolParams) -> bool:
        """Return whether the pool was requested with these parameters (ggml_threadpool_params_match)."""
        self.required()
        return self.asked is not None and self.asked.matches(params)

    def threads(self, wanted: int | None) -> tuple[int, tuple[str, ...]]:
        """Return the number of threads: by default those of the pool or 1; 0 leaves it to the plan."""
        if wanted is None:
            wanted = self.pool.n_threads if self.pool else 1
        return (wanted, ()) if self.pool is not None else clamp_threads(wanted)

    def describe(self) -> dict[str, Any] | None:
        """Return the pool as plain data; None without one."""
        if self.pool is None:
            return None
        params = self.pool.params
        return {
            **asdict(params),
            "prio": params.prio.name.lower(),
            "cpumask": list(params.cpumask),
            "paused": self.pool.paused,
            "prio_applied": self.pool.prio_applied,
            "affinity": [sorted(cpus) for cpus in self.pool.affinity()],
            "warnings": list(self.warnings),
        }

    def to_json(self) -> dict[str, Any] | None:
        """Return the requested parameters as plain data, for `recreate`."""
        if self.pool is None or self.asked is None:
            return None
        return {**asdict(self.asked), "prio": int(self.asked.prio), "paused": self.pool.paused}

    def recreate(self, saved: Mapping[str, Any] | None) -> None:
        """Create the saved pool; without CPU affinity if this machine lacks its CPUs."""
        if saved is None:
            self.free()
            return
        params = ThreadpoolParams.read(saved)
        try:
            self.new(params)
        except PoolError as error:
            self.new(replace(params, cpumask=()))
            self.warnings = (*self.warnings, str(error))


@dataclass(frozen=True)
class ComputeManner:
    """Options of a computation.

    Attributes:
        n_threads: number of threads; None for those of the pool, or 1; 0 for the default of the plan.
        auto_resume: whether a paused pool is resumed, as in ggml.
        with_ctx: whether the work buffer is allocated in the context (ggml_graph_compute_with_ctx).
        work_size: bytes of the caller's work buffer; None for the size that the plan needs.
        use_ref: see `ComputePlan`.
    """

    n_threads: int | None = None
    auto_resume: bool = False
    with_ctx: bool = False
    work_size: int | None = None
    use_ref: bool = False


@dataclass(frozen=True)
class Computed:
    """Result of a computation.

    Attributes:
        status: SUCCESS or ABORTED.
        computed: number of nodes computed, in order.
        losses: by name; empty if the computation was aborted or the graph is not differentiated.
        warnings: requests that could not be granted.
    """

    status: Status
    computed: int
    losses: dict[str, float]
    warnings: tuple[str, ...]


class GraphRunner:
    """Computes graphs over one context.

    Attributes:
        count: number of computations so far; random ops are seeded with it.
    """

    def __init__(self, values: NamedValues, context: Context, pool: SessionThreadpool) -> None:
        """Start before the first computation."""
        self.count = 0
        self._values = values
        self._context = context
        self._pool = pool

    def compute(
        self, graph: Graph, inputs: Sequence[tuple[Value, Any]], manner: ComputeManner, abort_after: int | None = None
    ) -> Computed:
        """Set leaves and compute. An error restores the leaves; results that were being computed are lost.

        Args:
            graph: the graph.
            inputs: leaves and the arrays to write to them first.
            manner: options.
            abort_after: position of the node after which the computation stops; later nodes are not touched.
        """
        n_threads, warnings = self._pool.threads(manner.n_threads)
        plan = graph.plan(n_threads, self._pool.pool)
        if manner.work_size is not None and manner.work_size < plan.work_size:
            raise GraphError(
                f"the plan needs a work buffer of {plan.work_size} bytes, not {manner.work_size}; leave work_size out"
            )
        shown = graph if abort_after is None else graph.view(0, abort_after + 1)
        with self._unchanged_on_error(graph, [leaf for leaf, _ in inputs]):
            set_all(self._context, inputs)
            self._set_keys(graph)
            status = shown.compute(
                n_threads=plan.n_threads,
                threadpool=self._pool.pool,
                auto_resume=manner.auto_resume,
                use_ref=manner.use_ref,
                context=self._context if manner.with_ctx else None,
            )
        self.count += 1
        if shown is not graph:
            status = Status.ABORTED
        elif not graph.is_view:
            self._update_statistics(graph)
        losses = graph.losses if status is Status.SUCCESS and not graph.is_view else ()
        losses_by_name = {graph.name_of(loss): float(graph.get_at(loss)) for loss in losses}
        return Computed(status, shown.n_nodes, losses_by_name, (*warnings, *plan.warnings))

    def _set_keys(self, graph: Graph) -> None:
        graph.seed(self.count)
        if self._values.key in graph:
            self._values.set_key(self.count)

    def _update_statistics(self, graph: Graph) -> None:
        storage = self._context.storage
        made = [(leaf, storage.result(new)) for leaf, new in self._values.updates if new in graph]
        for leaf, array in made:
            if array is not None:
                storage.set(leaf, array.copy())

    @contextmanager
    def _unchanged_on_error(self, graph: Graph, leaves: Sequence[Value]) -> Iterator[None]:
        storage = self._context.storage
        kept = [
            (leaf, storage.copy_written(leaf)) for leaf in {leaf.key: leaf for leaf in (*leaves, *graph.sums)}.values()
        ]
        paused = self._pool.pool is not None and self._pool.pool.paused
        try:
            yield
        except BaseException as error:
            for leaf, saved in kept:
                storage.restore(leaf, saved)
            if paused and self._pool.pool is not None:
                self._pool.pool.pause()
            if isinstance(error, ComputeError):
                graph.forget_results()
            raise


def set_all(context: Context, data: Sequence[tuple[Value, Any]]) -> None:
    """Write an array, or one number into every element, to each of several leaves: to all of them, or to none.

    Raises:
        GraphError: a value is not a leaf.
        ShapeError: an array does not have the shape of its leaf.
    """
    for leaf, array in data:
        check_settable(leaf, array)
    for leaf, array in data:
        context.set(leaf, array)


def check_settable(leaf: Value, array: Any) -> None:
    """Raise GraphError or ShapeError for an array that cannot be written to `leaf`."""
    if leaf.node is not None:
        raise GraphError(f"only leaves can be set; this is the result of {leaf.node.op.name}")
    if array.shape not in (leaf.shape, ()):
        raise ShapeError(
            f"{leaf.name or 'the leaf'} has shape {list(leaf.shape)}; it takes an array of that shape or one number, "
            f"not shape {list(array.shape)}"
        )


def node_position(graph: Graph, node: int | str) -> int:
    """Return the position of a node given by name, or by position (negative: from the end)."""
    if isinstance(node, int):
        graph.node(node)
        return node % graph.n_nodes
    for position, value in enumerate(graph.nodes):
        if graph.name_of(value) == node:
            return position
    raise UnknownName(f"the graph has no node called {node[:64]!r}")
