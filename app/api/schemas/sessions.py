"""Requests that create a session, and sessions as resources."""

from datetime import timedelta
from typing import Annotated, Any, Literal, Self

from pydantic import Field, ValidationInfo, field_validator, model_validator
from pydantic_core import PydanticCustomError

from app.api.schemas.checkpoints import ParameterSummary
from app.api.schemas.fit_options import ID, INPUTS_MAX, ClassNames, ClassNamesChoice, ClipChoice, OptimizerChoice
from app.api.schemas.fit_request import THREADS_MAX
from app.api.schemas.graphs import GraphDefinition
from app.api.schemas.static_sessions import StaticChoice
from app.api.schemas.values import (
    DescribedBy,
    FilteredPage,
    Labels,
    Moment,
    OneOf,
    OpenShape,
    RequestShape,
    ResourceName,
    ResourceShape,
    bounded,
)
from app.domain.session import OPEN, SessionKind, SessionState
from app.service.sessions.state import SessionView

SEED_MAX = 2**63
TTL_MIN, TTL_MAX, TTL_DEFAULT = 60.0, 604_800.0, 3_600.0
BOUNDED_ELSEWHERE = frozenset({"graph", "classes"})
OF_TRAINING = ("optimizer", "clip")

Optimizer = Annotated[str | dict[str, Any], DescribedBy(OptimizerChoice, also=OneOf(str, "a kind"))]
Threads = Annotated[int, Field(ge=1, le=THREADS_MAX)]


class SessionResourcesChoice(RequestShape):
    """Resources of a session."""

    executor: Literal["auto", "numpy", "native"] | None = Field(
        default=None, description='What computes; default "auto": native where the server has it, else numpy.'
    )
    threads: Threads | None = Field(
        default=None,
        description=(
            "Threads that work inside a step, cut to the cores that there are; by default the cores divided by "
            "the workers of the server."
        ),
    )


class SessionRequest(StaticChoice):
    """A session: a graph or a checkpoint, and the optimizer that its steps use. Null stands for the default."""

    kind: Literal["training", "static"] = Field(
        default="training", description="training: the verbs of a training loop. static: those of ggml's flow."
    )
    graph: Annotated[str | dict[str, Any] | None, DescribedBy(GraphDefinition, also=ID)] = Field(
        default=None, description="Id of a graph, or a graph; by default that of the checkpoint."
    )
    checkpoint: Annotated[str, Field(max_length=64)] | None = Field(
        default=None, description="Id of a checkpoint to begin at; by default parameters are initialised."
    )
    restore: Literal["all", "parameters"] | None = Field(
        default=None,
        description="Restored state; default all, if the checkpoint has the session's optimizer, else parameters.",
    )
    optimizer: Optimizer | None = Field(default=None, description="As in a fit; by default adam.")
    clip: ClipChoice | None = Field(default=None, description="Limits on gradients; default none.")
    seed: Annotated[int, Field(ge=0, lt=SEED_MAX)] | None = Field(
        default=None, description="Seed of initial values and random draws; default 0."
    )
    precision: Literal["float32", "float64", "mixed_float16", "mixed_bfloat16"] | None = Field(
        default=None, description='Number formats; default "float32".'
    )
    threads: Threads | None = Field(default=None, description="Short for resources.threads; by default as there.")
    resources: SessionResourcesChoice | None = Field(
        default=None, description="Executor and threads; by default those of the server."
    )
    dataset: Annotated[str, Field(max_length=64)] | None = Field(
        default=None, description="Id of the dataset that steps take rows of, unless they name another; default none."
    )
    feeds: Annotated[dict[str, str], Field(max_length=1024)] | None = Field(
        default=None, description="Input: column, for steps that do not say so; by default of equal names."
    )
    classes: Annotated[dict[str, ClassNames], Field(max_length=INPUTS_MAX)] | None = Field(
        default=None,
        description="Input: the class names of its text column, as in a fit; by default those of the checkpoint, else "
        "of the dataset that first feeds it.",
    )
    name: ResourceName | None = Field(
        default=None, description="A name for lists, 1 to 200 characters, which need not be unique; default none."
    )
    labels: Labels | None = Field(
        default=None, description="Labels, up to 64 keys with values, for filtering lists; default none."
    )
    start_paused: bool | None = Field(default=None, description="Whether it starts paused; default false.")
    ttl_seconds: Annotated[float, Field(ge=TTL_MIN, le=TTL_MAX)] | None = Field(
        default=None,
        description=f"Without a step for so long, it is saved as a checkpoint and expires; default {TTL_DEFAULT:g}.",
    )

    @field_validator("*", mode="before")
    @classmethod
    def _bounded(cls, value: Any, info: ValidationInfo) -> Any:
        return value if info.field_name in BOUNDED_ELSEWHERE else bounded(value)

    @model_validator(mode="after")
    def _complete(self) -> Self:
        if self.graph is None and self.checkpoint is None:
            raise PydanticCustomError("missing_field", "graph must be given, or else checkpoint")
        if self.restore is not None and self.checkpoint is None:
            raise PydanticCustomError("conflict", "restore says what is taken of a checkpoint, and there is none")
        if self.threads is not None and self.resources is not None and self.resources.threads is not None:
            raise PydanticCustomError("conflict", "give threads, or resources.threads")
        return self

    @model_validator(mode="after")
    def _of_one_kind(self) -> Self:
        foreign = OF_TRAINING if self.kind == "static" else StaticChoice.model_fields
        for name in foreign:
            if getattr(self, name) is not None:
                message = "{name} is nothing for a session of kind {kind}; leave it out"
                raise PydanticCustomError("conflict", message, {"name": name, "kind": self.kind})
        if self.kind == "static" and (self.restore == "all" or "mixed" in (self.precision or "")):
            message = "a session of kind static takes parameters of a checkpoint, and float32 or float64"
            raise PydanticCustomError("conflict", message)
        return self

    def document(self) -> dict[str, Any]:
        """Return the fields that were given; threads are in resources, and what is of kind "static" in `static`."""
        given = self.model_dump(exclude_unset=True, exclude_none=True)
        static = {name: given.pop(name) for name in StaticChoice.model_fields if name in given}
        if self.kind == "static":
            given["static"] = static
        threads = given.pop("threads", None)
        if threads is not None:
            given["resources"] = {**given.get("resources", {}), "threads": threads}
        return given


STATES = (
    "active: accepts steps. paused: accepts no steps until it is resumed. closed: ended by a client. expired: idle for "
    "longer than its time to live; its state was saved as a checkpoint. failed: its state is lost, see error."
)
PROCESSES = "State of its worker process: starting, ready or stopping; null: none, the next step starts one."
UNKNOWN_UNTIL_WAKE = "null: unknown since the server was started; request the session with wake=true."


class SessionError(OpenShape):
    """Why a session failed."""

    code: str
    detail: str


class CompiledKernels(ResourceShape):
    """How many kernels of how many are compiled."""

    count: int = Field(description="How many are compiled.")
    total: int = Field(description="How many were missing.")


class SessionLinks(ResourceShape):
    """Links of a session."""

    self: str
    parameters: str
    gradients: str
    buffers: str
    graph: str
    dataset: str | None
    checkpoint: str | None


class Session(ResourceShape):
    """A training session: a model whose steps the client requests."""

    id: str
    object: Literal["session"] = "session"
    name: str | None = Field(description="The name that its client gave it; null: none.")
    kind: SessionKind
    state: SessionState = Field(description=STATES)
    process: str | None = Field(description=PROCESSES)
    phase: Literal["compiling"] | None = Field(
        description="What its process does before it can go on; compiling: kernels that nothing has needed here before "
        "are compiled, see kernels; null: nothing."
    )
    kernels: CompiledKernels | None = Field(
        description="In the phase compiling, how many (count) of how many (total) kernels are compiled; updated every "
        "two seconds."
    )
    graph: str
    dataset: str | None = Field(description="Id of the dataset that steps take rows from by default.")
    optimizer: dict[str, Any] | None = Field(description="null: a session of kind static has none.")
    static: dict[str, Any] | None = Field(description="Options of a session of kind static.")
    classes: dict[str, ClassNamesChoice] = Field(description="The class names of each input that takes text.")
    seed: int
    precision: str
    executor: str | None = Field(description="Executor; null before the first process.")
    threads: int | None = Field(description="Threads that work inside a step; null before the first process.")
    labels: dict[str, str]
    next_seq: int | None = Field(description=f"Position of the next step. {UNKNOWN_UNTIL_WAKE}")
    step: int | None = Field(description=f"Number of optimizer steps. {UNKNOWN_UNTIL_WAKE}")
    parameters: list[ParameterSummary]
    attempt: int = Field(description="Number of processes that were started for it.")
    bit_exact: bool = Field(
        description="False once it was resumed with different numerics: later results may differ in the last bits."
    )
    ttl_seconds: float
    created_at: Moment
    used_at: Moment = Field(description="Time of the last step, to about a minute, RFC 3339 in UTC.")
    expires_at: Moment | None = Field(description="When it expires unless there is a step; null: it has ended.")
    finished_at: Moment | None
    error: SessionError | None
    checkpoint: str | None = Field(description="Id of the checkpoint that was saved when it expired.")
    links: SessionLinks

    @classmethod
    def show(cls, view: SessionView) -> Self:
        """Build from a session and the status of its process."""
        session, status, request = view.session, view.status, view.session.request
        runtime = session.runtime or {}
        return cls.from_record(
            session,
            name=session.name or None,
            process=status.process,
            phase=status.compiling and "compiling",
            kernels=status.compiling and CompiledKernels.show(status.compiling),
            graph=session.graph_id,
            dataset=request["dataset"],
            optimizer=request["optimizer"],
            static=request.get("static"),
            classes=request.get("classes") or {},
            seed=request["seed"],
            precision=request["precision"],
            executor=runtime.get("executor"),
            threads=runtime.get("threads"),
            next_seq=status.next_seq,
            step=status.step,
            parameters=request["parameters"],
            expires_at=session.used_at + timedelta(seconds=session.ttl_seconds) if session.state in OPEN else None,
            checkpoint=session.checkpoint_id,
            links=_links(view),
        )


class SessionList(FilteredPage[Session]):
    """A page of sessions."""


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
