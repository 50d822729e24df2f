"""Computing the graphs of a session: thread pool, inputs, rollback on errors."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from typing import Any

from engine.core.cpu import usable_cores
from engine.core.errors import ComputeError, GraphError, PoolError, PoolMissing, ShapeError, UnknownName
from engine.core.value import Value
from engine.ggml.compute_plan import DEFAULT_N_THREADS, Status
from engine.ggml.context import Context
from engine.ggml.graph import Graph
from engine.ggml.session.named_values import NamedValues
from engine.ggml.threadpool import Threadpool, ThreadpoolParams


def most_threads() -> int:
    """Return how many threads are started at most: as many as there are cores, or ggml's default."""
    return max(usable_cores(), DEFAULT_N_THREADS)


def clamped(n_threads: int) -> tuple[int, tuple[str, ...]]:
    """Return a number of threads that the machine takes, and a warning if that is not what was asked for."""
    most = most_threads()
    if n_threads <= most:
        return n_threads, ()
    return most, (f"{n_threads} threads asked for, this machine takes {most}: so many are used",)


class SessionThreadpool:
    """At most one pool.

    Attributes:
        pool: the pool, if there is one.
        asked: what it was asked to be.
        warnings: what was asked for and could not be granted.
    """

    def __init__(self) -> None:
        """Begin without a pool."""
        self.pool: Threadpool | None = None
        self.asked: ThreadpoolParams | None = None
        self.warnings: tuple[str, ...] = ()

    def new(self, params: ThreadpoolParams) -> None:
        """Make a pool in the place of the one there is (ggml_threadpool_new).

        Raises:
            PoolError: a CPU of the mask is not there; the pool before stays.
        """
        n_threads, warnings = clamped(params.n_threads)
        pool = Threadpool(replace(params, n_threads=n_threads))
        self.free()
        self.pool, self.asked, self.warnings = pool, params, warnings

    def free(self) -> None:
        """End the pool, if there is one (ggml_threadpool_free)."""
        if self.pool is not None:
            self.pool.free()
        self.pool, self.asked, self.warnings = None, None, ()

    def required(self) -> Threadpool:
        """Return the pool; PoolMissing if there is none."""
        if self.pool is None:
            raise PoolMissing("there is no thread pool; make one (threadpool_new)")
        return self.pool

    def matches(self, params: ThreadpoolParams) -> bool:
        """Tell whether the pool serves where `params` are asked for (ggml_threadpool_params_match)."""
        self.required()
        return self.asked is not None and self.asked.matches(params)

    def threads(self, wanted: int | None) -> tuple[int, tuple[str, ...]]:
        """Return how many threads compute: by default those of the pool or one; 0 leaves it to the plan."""
        if wanted is None:
            wanted = self.pool.n_threads if self.pool else 1
        return (wanted, ()) if self.pool is not None else clamped(wanted)

    def describe(self) -> dict[str, Any] | None:
        """Return what the pool is, as plain data; None without one."""
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

    def tell(self) -> dict[str, Any] | None:
        """Return what `remake` needs, as plain data."""
        if self.pool is None or self.asked is None:
            return None
        return {**asdict(self.asked), "prio": int(self.asked.prio), "paused": self.pool.paused}

    def remake(self, told: Mapping[str, Any] | None) -> None:
        """Make the pool again; on a machine without its CPUs, one that is bound to none."""
        if told is None:
            self.free()
            return
        params = ThreadpoolParams.read(told)
        try:
            self.new(params)
        except PoolError as error:
            self.new(replace(params, cpumask=()))
            self.warnings = (*self.warnings, str(error))


@dataclass(frozen=True)
class ComputeManner:
    """How a graph is to be computed.

    Attributes:
        n_threads: how many threads; None for those of the pool, or one; 0 for what the plan takes by default.
        auto_resume: whether a pool that is paused is resumed, as in ggml.
        with_ctx: whether the work buffer is taken of the context (ggml_graph_compute_with_ctx).
        work_size: the bytes of the work buffer that the caller gives; None for as many as the plan asks for.
        use_ref: see `ComputePlan`.
    """

    n_threads: int | None = None
    auto_resume: bool = False
    with_ctx: bool = False
    work_size: int | None = None
    use_ref: bool = False


@dataclass(frozen=True)
class Computed:
    """How a computation ended.

    Attributes:
        status: SUCCESS or ABORTED.
        computed: how many nodes of the graph have been gone through, in order.
        losses: by name; none when aborted, or before the graph is differentiated.
        warnings: what was asked for and could not be granted.
    """

    status: Status
    computed: int
    losses: dict[str, float]
    warnings: tuple[str, ...]


class GraphRunner:
    """Computes graphs over one context.

    Attributes:
        count: how many computations there have been; random ops draw from it.
    """

    def __init__(self, values: NamedValues, context: Context, pooling: SessionThreadpool) -> None:
        """Begin before the first computation."""
        self.count = 0
        self._values = values
        self._context = context
        self._pooling = pooling

    def compute(
        self, graph: Graph, inputs: Sequence[tuple[Value, Any]], manner: ComputeManner, abort_after: int | None = None
    ) -> Computed:
        """Set leaves and compute; what raises has changed nothing, but results that it began to compute are lost.

        Args:
            graph: which graph.
            inputs: leaves and what is written to them before.
            manner: how.
            abort_after: the position of the node after which the computation is aborted; those behind stay untouched.
        """
        n_threads, warnings = self._pooling.threads(manner.n_threads)
        plan = graph.plan(n_threads, self._pooling.pool)
        if manner.work_size is not None and manner.work_size < plan.work_size:
            raise GraphError(
                f"the plan needs a work buffer of {plan.work_size} bytes, not {manner.work_size}; leave work_size out"
            )
        shown = graph if abort_after is None else graph.view(0, abort_after + 1)
        with self._unchanged_on_error(graph, [leaf for leaf, _ in inputs]):
            set_all(self._context, inputs)
            self._draw(graph)
            status = shown.compute(
                n_threads=plan.n_threads,
                threadpool=self._pooling.pool,
                auto_resume=manner.auto_resume,
                use_ref=manner.use_ref,
                context=self._context if manner.with_ctx else None,
            )
        self.count += 1
        if shown is not graph:
            status = Status.ABORTED
        elif not graph.is_view:
            self._move(graph)
        losses = graph.losses if status is Status.SUCCESS and not graph.is_view else ()
        told = {graph.name_of(loss): float(graph.get_at(loss)) for loss in losses}
        return Computed(status, shown.n_nodes, told, (*warnings, *plan.warnings))

    def _draw(self, graph: Graph) -> None:
        graph.seed(self.count)
        if self._values.key in graph:
            self._values.draw(self.count)

    def _move(self, graph: Graph) -> None:
        """Let running statistics become what the computation made of them."""
        storage = self._context.storage
        made = [(leaf, storage.result(new)) for leaf, new in self._values.moves if new in graph]
        for leaf, array in made:
            if array is not None:
                storage.set(leaf, array.copy())

    @contextmanager
    def _unchanged_on_error(self, graph: Graph, leaves: Sequence[Value]) -> Iterator[None]:
        storage = self._context.storage
        kept = [(leaf, storage.saved(leaf)) for leaf in {leaf.key: leaf for leaf in (*leaves, *graph.sums)}.values()]
        paused = self._pooling.pool is not None and self._pooling.pool.paused
        try:
            yield
        except BaseException as error:
            for leaf, saved in kept:
                storage.put_back(leaf, saved)
            if paused and self._pooling.pool is not None:
                self._pooling.pool.pause()
            if isinstance(error, ComputeError):
                graph.forget_results()
            raise


def set_all(context: Context, data: Sequence[tuple[Value, Any]]) -> None:
    """Write arrays, or one number into every element, of several leaves: all of them, or none.

    Raises:
        GraphError: one is no leaf.
        ShapeError: an array has not the shape of its leaf.
    """
    for leaf, array in data:
        check_settable(leaf, array)
    for leaf, array in data:
        context.set(leaf, array)


def check_settable(leaf: Value, array: Any) -> None:
    """Refuse an array that a leaf does not take."""
    if leaf.node is not None:
        raise GraphError(f"only leaves can be set; this is the result of {leaf.node.op.name}")
    if array.shape not in (leaf.shape, ()):
        raise ShapeError(
            f"{leaf.name or 'the leaf'} has shape {list(leaf.shape)}; it takes an array of that shape or one number, "
            f"not shape {list(array.shape)}"
        )


def by_position(graph: Graph, node: int | str) -> int:
    """Return the position of a node given by position, from the end if negative, or by name."""
    if isinstance(node, int):
        graph.node(node)
        return node % graph.n_nodes
    for position, value in enumerate(graph.nodes):
        if graph.name_of(value) == node:
            return position
    raise UnknownName(f"no node of the graph is called {node[:64]!r}")
