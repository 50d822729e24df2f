"""Creating a session: references are resolved, defaults filled in, and everything is validated."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import engine
from app.domain.column_labels import faults_by_label, with_identifiers
from app.domain.errors import Draining, Finding, NotFound, SessionsFull
from app.domain.ids import new_id
from app.domain.records import CheckpointRecord, DatasetRecord, GraphRecord
from app.domain.session import SessionRecord, SessionState
from app.service.fits.inputs import resolve
from app.service.resources.engine_documents import GRAPH_LIMITS, engine_faults, invalid, read_definition
from app.service.resources.idempotency import SaveResponse
from app.service.resources.inline_graphs import inline_graph
from app.service.resources.memory import MemoryConfig
from app.service.resources.model_classes import checkpoint_classes
from app.service.resources.notifier import Notifier
from app.service.resources.storage import StorageContext
from app.service.sessions.admission import InitialCheckpoint, SessionCandidate, admit_session, made_inputs
from app.service.sessions.classes import beginning_classes
from app.service.sessions.state import NO_PROCESS, SessionView
from app.store.unit_of_work import UnitOfWork

TTL_SECONDS = 3600.0
BEGINNING_SEQ = 0
"""The sequence number of a session's initial checkpoint: before the first step."""

INHERITED = ("optimizer", "clip", "precision")
"""Fields that a session with an initial checkpoint inherits from the fit or session of that checkpoint."""


@dataclass(frozen=True, slots=True)
class SessionLimits:
    """How many sessions may be open, in all and of one tenant; the memory of one; the size of a graph sent inline."""

    sessions: int
    tenant_sessions: int | None = None
    memory: MemoryConfig = field(default_factory=MemoryConfig)
    graph: engine.GraphLimits = GRAPH_LIMITS


@dataclass(frozen=True, slots=True)
class _References:
    """What a request refers to."""

    graph: GraphRecord | None
    checkpoint: CheckpointRecord | None
    before: Mapping[str, Any]
    runtime: dict[str, Any] | None
    dataset: DatasetRecord | None


class SessionCreation:
    """Creates sessions."""

    def __init__(self, storage: StorageContext, notifier: Notifier, limits: SessionLimits) -> None:
        """Keep sessions in `storage`, within `limits`; no session is created once `notifier` is closed."""
        self._store = storage.store
        self._integrity = storage.integrity
        self._sweeper = storage.sweeper
        self._space = storage.space
        self._clock = storage.clock
        self._notifier = notifier
        self._limits = limits

    def create(self, request: Mapping[str, Any], save_response: SaveResponse[SessionView]) -> SessionView:
        """Validate and store a session; its process is started by its first step.

        An inline graph is stored with it. The session gets a record of its own of its initial checkpoint, so
        that the other one may be deleted.

        Invalid with all faults, Corrupt if the checkpoint is damaged, TooLarge beyond the memory, SessionsFull,
        StorageFull, Draining while the server stops.
        """
        if self._notifier.closed:
            raise Draining("the server is stopping and takes no new sessions; try again when it is back")
        self._space.check()
        with self._sweeper.paused():
            request = with_identifiers(request)
            named = self._named(request)
            whole = _complete_request(request, named.before)
            graph = named.graph
            if graph is None:
                inline = read_definition(request["graph"], "/graph", self._limits.graph)
                graph = inline_graph(inline, self._store, self._clock)
            beginning = self._beginning(request, named)
            definition = read_definition(graph.definition, "/graph")
            whole["feeds"] = {**_inherited_feeds(definition, named), **whole["feeds"]}
            with faults_by_label({} if named.dataset is None else named.dataset.labels):
                whole["classes"] = self._classes(request, definition, beginning, named.dataset)
            runtime = named.runtime if whole["resources"].get("executor") is None else None
            applicant = SessionCandidate(whole, definition, graph, beginning, named.dataset, runtime)
            with faults_by_label({} if named.dataset is None else named.dataset.labels):
                admitted = admit_session(applicant, self._limits.memory)
            now = self._clock.now()
            session = SessionRecord(
                id=new_id("sess"),
                kind=request.get("kind") or "training",
                state=SessionState.PAUSED if request.get("start_paused") else SessionState.ACTIVE,
                graph_id=graph.id,
                request={**whole, "parameters": admitted.parameters, "restore": admitted.restore},
                labels=dict(request.get("labels") or {}),
                attempt=0,
                ttl_seconds=float(request.get("ttl_seconds") or TTL_SECONDS),
                created_at=now,
                used_at=now,
                runtime=runtime if admitted.restore == "all" else None,
                memory_bytes=admitted.memory_bytes,
                name=request.get("name") or "",
            )
            view = SessionView(session, NO_PROCESS)
            with self._store.begin() as work:
                self._check_room(work)
                if named.graph is None:
                    work.graphs.ensure(graph)
                work.sessions.add(session)
                self._store_beginning(work, session, named)
                save_response(work, view)
        return view

    def _named(self, request: Mapping[str, Any]) -> _References:
        """Resolve the references of a request; Invalid, with pointers, if one does not exist."""
        graph, checkpoint, dataset = (request.get(name) for name in ("graph", "checkpoint", "dataset"))
        if graph is None and checkpoint is None:
            detail = "a session begins with a graph, or with a checkpoint, whose graph it has then: give one of them"
            raise invalid([Finding("", "missing_field", detail)])
        with self._store.read() as work:
            rows = None if dataset is None else resolve("/dataset", "ds", dataset, work.datasets.get)
            known = resolve("/graph", "graph", graph, work.graphs.get) if isinstance(graph, str) else None
            if checkpoint is None:
                return _References(known, None, {}, None, rows)
            found = _require_checkpoint(work, checkpoint)
            before, runtime = _previous_request(work, found)
            if graph is None:
                known = resolve("/checkpoint", "graph", found.graph_id, work.graphs.get)
            return _References(known, found, before, runtime, rows)

    def _beginning(self, request: Mapping[str, Any], named: _References) -> InitialCheckpoint | None:
        if named.checkpoint is None:
            if request.get("restore") is not None:
                detail = "there is no checkpoint to take anything of; leave this out"
                raise invalid([Finding("/restore", "conflict", detail)])
            return None
        file = self._integrity.checkpoint(named.checkpoint, "/checkpoint")
        return InitialCheckpoint(named.checkpoint, file, request.get("restore"), named.before)

    def _classes(
        self,
        request: Mapping[str, Any],
        definition: engine.Definition,
        beginning: InitialCheckpoint | None,
        dataset: DatasetRecord | None,
    ) -> dict[str, dict[str, Any]]:
        """Return the class names of the session's model by input; Invalid if rows of the dataset do not suit them."""
        inputs, known = definition.inputs, {}
        if beginning is not None:
            with engine_faults("/checkpoint"):
                loaded = engine.Checkpoint.load(beginning.file)
            with self._store.read() as work:
                found = checkpoint_classes(work, beginning.checkpoint, loaded, inputs)
            known = {name: each for name, each in found.items() if name in inputs}
            made = made_inputs(beginning.file, inputs, request.get("feeds") or {})
            return beginning_classes(request, [name for name in inputs if name not in made], known, dataset)
        return beginning_classes(request, inputs, known, dataset)

    def _check_room(self, work: UnitOfWork) -> None:
        work.lock("sessions")
        for most, are_open, of in (
            (self._limits.sessions, work.sessions.count_open(), ""),
            (self._limits.tenant_sessions, work.sessions.count_own_open(), " of one tenant"),
        ):
            if most is not None and are_open >= most:
                raise SessionsFull(
                    f"{most} sessions{of} are open, which is the most that this server takes; close one, or wait "
                    "until one expires",
                    retry_after=60,
                )

    def _store_beginning(self, work: UnitOfWork, session: SessionRecord, named: _References) -> None:
        """Store references of the session; NotFound if a referenced object was deleted in the meantime."""
        if named.checkpoint is not None:
            copy = replace(
                _require_checkpoint(work, named.checkpoint.id),
                id=new_id("ckpt"),
                fit_id=None,
                created_at=work.now,
                is_best=False,
                pinned=False,
                session_id=session.id,
                session_seq=BEGINNING_SEQ,
            )
            work.checkpoints.add(copy)
        if named.graph is not None:
            work.graphs.get(named.graph.id)
        if named.dataset is not None:
            work.datasets.get(named.dataset.id)
            work.sessions.use(session.id, named.dataset.id)


def _inherited_feeds(definition: engine.Definition, named: _References) -> dict[str, str]:
    """Return the column of each input in the fit or session that the checkpoint is of, if the dataset has it."""
    known = None if named.dataset is None else {column.name for column in named.dataset.columns}
    feeds = (named.before.get("feeds") or {}).items()
    return {name: c for name, c in feeds if name in definition.inputs and (known is None or c in known)}


def _complete_request(request: Mapping[str, Any], before: Mapping[str, Any]) -> dict[str, Any]:
    """Return the request with defaults."""
    taken = {name: request.get(name) or before.get(name) for name in INHERITED}
    resources = dict(request.get("resources") or {})
    if request.get("threads") is not None:
        resources["threads"] = request["threads"]
    static = request.get("static")
    optimizer = taken["optimizer"] or "adam"
    whole = {
        "optimizer": {"kind": optimizer} if isinstance(optimizer, str) else optimizer,
        "clip": taken["clip"],
        "precision": taken["precision"] or "float32",
        "static": static,
        "seed": request.get("seed") or 0,
        "dataset": request.get("dataset"),
        "feeds": dict(request.get("feeds") or {}),
        "checkpoint": request.get("checkpoint"),
        "resources": resources,
    }
    if static is None:
        return whole
    # No optimizer steps here, and numbers are kept at one precision.
    return {**whole, "optimizer": None, "clip": None, "precision": request.get("precision") or "float32"}


def _require_checkpoint(work: UnitOfWork, checkpoint_id: str) -> CheckpointRecord:
    checkpoint = resolve("/checkpoint", "ckpt", checkpoint_id, work.checkpoints.get)
    if checkpoint.deleted:
        raise invalid([Finding("/checkpoint", "gone", f"checkpoint {checkpoint_id} was deleted; choose another one")])
    return checkpoint


def _previous_request(
    work: UnitOfWork, checkpoint: CheckpointRecord
) -> tuple[Mapping[str, Any], dict[str, Any] | None]:
    """Return request and runtime of the fit or session that a checkpoint belongs to, as far as it is on record."""
    try:
        if checkpoint.session_id is not None:
            session = work.sessions.get(checkpoint.session_id)
            return session.request, session.runtime
        if checkpoint.fit_id is not None:
            fit = work.fits.get(checkpoint.fit_id)
            return fit.request, fit.runtime
    except NotFound:
        pass
    return {}, None
