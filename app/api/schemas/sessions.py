"""Sessions on the wire."""

from datetime import timedelta
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from app.api.schemas.checkpoints import ParameterSummary
from app.api.schemas.fit_options import ClassNamesChoice
from app.api.schemas.shapes import Moment, ResourceShape
from app.domain.session import OPEN, SessionKind, SessionState
from app.http.problems import ProblemError
from app.service.sessions.state import SessionView
from app.store.pages import Page

STATES = (
    "active: steps are taken. paused: it rests until it is resumed. closed: a client ended it. expired: it was idle "
    "for too long, and saved as a checkpoint. failed: what it held is lost, see error."
)
PROCESSES = "The process that works for it now: starting, ready or stopping; null: the next step starts one."
UNTOLD = "null: its process has not told since the server began; ask with wake=true."


class SessionError(BaseModel):
    """Why a session failed."""

    model_config = ConfigDict(extra="allow", frozen=True)

    code: str
    detail: str


class SessionLinks(ResourceShape):
    """Where to go on from a session."""

    self: str
    parameters: str
    gradients: str
    buffers: str
    graph: str
    dataset: str | None
    checkpoint: str | None


class Session(ResourceShape):
    """A model in training whose steps the client takes."""

    id: str
    object: Literal["session"] = "session"
    kind: SessionKind
    state: SessionState = Field(description=STATES)
    process: str | None = Field(description=PROCESSES)
    graph: str
    dataset: str | None = Field(description="What steps take rows of, unless they name another.")
    optimizer: dict[str, Any] | None = Field(description="null: a session of kind static has none.")
    static: dict[str, Any] | None = Field(description="What a session of kind static was made with.")
    classes: dict[str, ClassNamesChoice] = Field(description="The class names of each input that takes text.")
    seed: int
    precision: str
    executor: str | None = Field(description="What computes; null before the first process.")
    threads: int | None = Field(description="Threads that work inside a step; null before the first process.")
    labels: dict[str, str]
    next_seq: int | None = Field(description=f"The place of the next step. {UNTOLD}")
    step: int | None = Field(description=f"Steps that the optimizer has taken. {UNTOLD}")
    parameters: list[ParameterSummary]
    attempt: int = Field(description="Processes that were started for it.")
    bit_exact: bool = Field(description="False once it has gone on under other numerics: bits may differ from then on.")
    ttl_seconds: float
    created_at: Moment
    used_at: Moment = Field(description="When its last step was, to about a minute.")
    expires_at: Moment | None = Field(description="When it expires unless there is a step; null: it has ended.")
    finished_at: Moment | None
    error: SessionError | None
    checkpoint: str | None = Field(description="The checkpoint that it was saved as when it expired.")
    links: SessionLinks

    @classmethod
    def of(cls, view: SessionView) -> "Session":
        """Show a session and its process."""
        session, status = view.session, view.status
        request = session.request
        runtime = session.runtime or {}
        return cls(
            id=session.id,
            kind=session.kind,
            state=session.state,
            process=status.process,
            graph=session.graph_id,
            dataset=request["dataset"],
            optimizer=request["optimizer"],
            static=request.get("static"),
            classes={name: ClassNamesChoice(**each) for name, each in (request.get("classes") or {}).items()},
            seed=request["seed"],
            precision=request["precision"],
            executor=runtime.get("executor"),
            threads=runtime.get("threads"),
            labels=session.labels,
            next_seq=status.next_seq,
            step=status.step,
            parameters=[ParameterSummary(**parameter) for parameter in request["parameters"]],
            attempt=session.attempt,
            bit_exact=session.bit_exact,
            ttl_seconds=session.ttl_seconds,
            created_at=session.created_at,
            used_at=session.used_at,
            expires_at=session.used_at + timedelta(seconds=session.ttl_seconds) if session.state in OPEN else None,
            finished_at=session.finished_at,
            error=None if session.error is None else SessionError(**session.error),
            checkpoint=session.checkpoint_id,
            links=_links(view),
        )


class SessionList(ResourceShape):
    """A page of sessions."""

    object: Literal["list"] = "list"
    data: list[Session]
    has_more: bool
    next_cursor: str | None
    findings: list[ProblemError] = Field(description="What of the query can match nothing that there is.")

    @classmethod
    def of(cls, page: Page[SessionView]) -> "SessionList":
        """Show a page of sessions."""
        return cls(
            data=[Session.of(view) for view in page.items],
            has_more=page.next_cursor is not None,
            next_cursor=page.next_cursor,
            findings=ProblemError.of(page.findings),
        )


def _links(view: SessionView) -> SessionLinks:
    session = view.session
    here = f"/v1/sessions/{session.id}"
    dataset = session.request["dataset"]
    return SessionLinks(
        self=here,
        parameters=f"{here}/parameters",
        gradients=f"{here}/gradients",
        buffers=f"{here}/buffers",
        graph=f"/v1/graphs/{session.graph_id}",
        dataset=None if dataset is None else f"/v1/datasets/{dataset}",
        checkpoint=None if session.checkpoint_id is None else f"/v1/checkpoints/{session.checkpoint_id}",
    )
