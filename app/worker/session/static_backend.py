"""A session of kind `static`: ggml's low-level API over the values of a graph definition."""

from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

import engine
from app.domain.documents import escape
from app.domain.errors import Finding
from app.domain.messages import SessionAssignment
from app.domain.runtime import Runtime
from app.service.resources.engine_documents import engine_faults, invalid
from app.service.resources.memory import memory_left
from app.service.sessions.admission import build_static_session, read_threadpool_params
from app.worker.session.backend import (
    Arrays,
    Call,
    Handler,
    Result,
    SessionBackend,
    export_checkpoint,
    view_arrays,
    with_classes,
)
from app.worker.session.rows import Array, DatasetRows
from app.worker.session.static_graphs import (
    GraphBuilding,
    GraphInspection,
    checked_names,
    graph_name,
    mutating,
    read_leaves,
    read_tensor,
    read_tensors,
    reading,
)

UNCHECKED_BYTES = 2**20
"""Results up to this size are not held against the memory there is."""

COMPUTE_OPTIONS = ("n_threads", "auto_resume", "with_ctx", "work_size", "use_ref")


class Computation:
    """Handlers that set tensors, compute, and control the thread pool."""

    def __init__(self, session: engine.StaticSession, rows: DatasetRows) -> None:
        """Run `session`; steps can take inputs from `rows`."""
        self._session = session
        self._rows = rows
        self.handlers: Mapping[str, Handler] = {
            "tensor_set": mutating(self._set),
            "graph_compute": mutating(self._compute),
            "graph_reset": mutating(self._reset),
            "threadpool_new": mutating(self._pool_new),
            "threadpool_free": mutating(self._pool_free),
            "threadpool_pause": mutating(self._pool_pause),
            "threadpool_resume": mutating(self._pool_resume),
            "threadpool_params_match": reading(self._pool_match),
        }

    def _set(self, call: Call) -> dict[str, Any]:
        graph, tensors = graph_name(self._session, call), read_leaves(self._session, call, "tensors")
        sums = read_tensors(self._session, graph, call.options.get("accumulators") or {}, "/accumulators")
        for name in sums:
            with engine_faults(f"/accumulators/{escape(name)}"):
                self._session.value(name, graph)
        elements = [engine.ElementWrite(**each) for each in call.options.get("elements") or ()]
        for place, element in enumerate(elements):
            with engine_faults(f"/elements/{place}"):
                leaf = self._session.check_element(element, graph)
            read_tensor(element.value, f"/elements/{place}/value", leaf.dtype)
        self._session.tensor_set(tensors, sums, elements, graph)
        return {}

    def _compute(self, call: Call) -> dict[str, Any]:
        graph, session = graph_name(self._session, call), self._session
        inputs = self._inputs(call)
        fetch, wanted = checked_names(session, call, "fetch"), checked_names(session, call, "gradients")
        after = call.options.get("abort_after")
        if after is not None:
            self._check_node(graph, after)
        manner = engine.ComputeManner(**{name: call.options[name] for name in COMPUTE_OPTIONS if name in call.options})
        self._check_memory(graph, with_ctx=bool(call.options.get("with_ctx")))
        done = session.graph_compute(inputs, graph, abort_after=after, manner=manner)
        return {
            "status": done.status.name,
            "status_code": int(done.status),
            "computed": done.computed,
            "losses": done.losses,
            "tensors": {name: session.held(name, graph) for name in fetch},
            "gradients": {name: session.held_gradient(name, graph) for name in wanted},
            "warnings": list(done.warnings),
        }

    def _inputs(self, call: Call) -> Mapping[str, Array]:
        rows = call.options.get("rows")
        if rows is None:
            return read_leaves(self._session, call, "inputs")
        definition = self._session.definition
        needed = engine.needed_inputs(definition, (*definition.losses, *definition.outputs))
        optional = definition.inputs.keys() - frozenset(needed)
        found = self._rows.inputs(rows, call.options.get("feeds"), definition.inputs, optional)
        for name, array in found.items():
            with engine_faults("/rows"):
                self._session.check_set(name, array, graph_name(self._session, call))
        return found

    def _check_memory(self, graph: str, *, with_ctx: bool) -> None:
        """Raise an error for results larger than the available memory, before an OOM kill."""
        needed = 0 if with_ctx else self._session.graph(graph).missing_bytes()
        left = memory_left() if needed > UNCHECKED_BYTES else None
        if left is not None and needed > left:
            detail = f"no memory is left for {needed} bytes of results: {left} bytes are there; use smaller extents"
            raise engine.ComputeError(detail, engine.Status.ALLOC_FAILED)

    def _check_node(self, graph: str, node: int | str) -> None:
        try:
            self._session.position(node, graph)
        except engine.UnknownName as error:
            raise invalid([Finding("/abort_after", error.code, str(error))]) from error

    def _reset(self, call: Call) -> dict[str, Any]:
        chosen = {name: call.options[name] for name in ("grads", "momenta") if name in call.options}
        self._session.graph_reset(graph_name(self._session, call), **chosen)
        return {}

    def _pool_new(self, call: Call) -> dict[str, Any]:
        params = read_threadpool_params(call.options.get("params") or {}, "/params")
        with engine_faults("/params"):
            self._session.threadpool.new(params)
        return {"threadpool": self._session.threadpool.describe()}

    def _pool_free(self, _: Call) -> dict[str, Any]:
        self._session.threadpool.required()
        self._session.threadpool.free()
        return {}

    def _pool_pause(self, _: Call) -> dict[str, Any]:
        self._session.threadpool.required().pause()
        return {"paused": True}

    def _pool_resume(self, _: Call) -> dict[str, Any]:
        self._session.threadpool.required().resume()
        return {"paused": False}

    def _pool_match(self, call: Call) -> dict[str, Any]:
        return {
            "matches": self._session.threadpool.matches(
                read_threadpool_params(call.options.get("params") or {}, "/params")
            )
        }


class StaticBackend(SessionBackend):
    """Graphs, their tensors and a thread pool. There is no transient state.

    A snapshot holds graphs, tensors, gradient accumulators, results, and the thread pool's parameters.
    """

    _session: engine.StaticSession

    def __init__(self, assignment: SessionAssignment, _: Runtime) -> None:
        """Make a context with the tensors of the definition, and an empty graph."""
        super().__init__(assignment)
        self._session = build_static_session(engine.read_checked_graph(assignment.definition), assignment.request)
        building, computing = GraphBuilding(self._session), Computation(self._session, self._rows)
        own = {
            "save": Handler(self._save, "log"),
            "load": mutating(self._load, "snapshot"),
            "parameters": Handler(lambda call: view_arrays(call, self._parameters, self._parameters)),
            "buffers": Handler(lambda call: view_arrays(call, self._buffers, self._parameters)),
            "gradients": Handler(lambda call: view_arrays(call, self._gradients, self._parameters)),
        }
        reading = GraphInspection(self._session)
        self.handlers: Mapping[str, Handler] = MappingProxyType(
            {**computing.handlers, **building.handlers, **reading.handlers, **own}
        )

    @property
    def standing(self) -> dict[str, Any]:
        """How many computations there have been. There is no optimizer that steps, and there are no tapes."""
        return {"step": 0, "passes": self._session.computations, "tapes": 0}

    def start_from(self, path: Path, *, parameters_only: bool) -> None:  # noqa: ARG002 (there is nothing else)
        """Begin with parameters and buffers of a checkpoint."""
        self._session.load(engine.Checkpoint.load(path))

    @property
    def _parameters(self) -> Mapping[str, Array]:
        return {name: self._session.tensor(name) for name in self._session.definition.parameters}

    @property
    def _buffers(self) -> Mapping[str, Array]:
        return {name: self._session.tensor(name) for name in self._session.definition.buffers}

    @property
    def _gradients(self) -> Arrays:
        """The gradients of the first graph's losses by the parameters; None where there is none yet."""
        return {name: self._session.held_gradient(name) for name in self._session.definition.parameters}

    def _save(self, call: Call) -> Result:
        if call.seq in self._saved:
            return Result({"step": 0})
        return export_checkpoint(call, lambda: with_classes(self._session.learned(), self._rows.classes), {"step": 0})

    def _load(self, call: Call) -> dict[str, Any]:
        self._session.load(engine.Checkpoint.load(Path(call.files["checkpoint"])))
        return {"step": 0}
