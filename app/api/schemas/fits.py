"""Fits, their metric rows and their captured gradients."""

from typing import Any, Literal
from urllib.parse import quote

from pydantic import BaseModel, ConfigDict, Field

import engine
from app.api.schemas.bundles import FitReplay
from app.api.schemas.diagnostics import ArrayStatistics, statistics_fields
from app.api.schemas.sweeps import SweepSummary, VariantInfo
from app.api.schemas.values import Moment, ResourceShape, finite_part
from app.domain.fit import Attempt, FitRecord, FitState
from app.domain.records import GradientRecord
from app.domain.runtime import Replay
from app.http.problems import ProblemError
from app.service.fits.view import FitView
from app.store.pages import Page

STATES = (
    "queued: waits for a worker. starting, running: a process works on it. pausing, cancelling: its process writes a "
    "checkpoint and goes. paused: rests until it is resumed. interrupted: its process died, another will go on from "
    "the last checkpoint. succeeded, failed, cancelled: it has ended, and can be taken up again."
)
OUTCOMES = (
    "How its process ended; null while it works. succeeded, cancelled, drained: as it was asked to. killed_by_client. "
    "lost, stopped: with the server. killed, out_of_memory, blas_abort, stalled, error, not_started: a crash. "
    "Else the code of the error that the fit failed with."
)


class FitAttempt(ResourceShape):
    """A process that worked on the fit."""

    number: int
    started_at: Moment
    ended_at: Moment | None
    outcome: str | None = Field(description=OUTCOMES)

    @classmethod
    def of(cls, attempt: Attempt) -> "FitAttempt":
        """Show an attempt."""
        return cls(
            number=attempt.number,
            started_at=attempt.started_at,
            ended_at=attempt.ended_at,
            outcome=attempt.outcome,
        )


class FitError(BaseModel):
    """Why a fit failed."""

    model_config = ConfigDict(extra="allow", frozen=True)

    code: str
    detail: str


class FitRuntime(ResourceShape):
    """What the fit's last process ran with."""

    executor: str
    threads: int = Field(description="Threads that work inside a step.")
    threads_requested: int | None
    affinity: list[int] | None = Field(description="CPUs that its processes are bound to; null: those of the server.")
    niceness: int = Field(description="How far it stands back behind the server, in steps of nice.")
    fingerprint: dict[str, Any] = Field(description="What the bits of its numbers depend on.")


class FitOrigin(ResourceShape):
    """The checkpoint that a fit was begun at."""

    model_config = ConfigDict(frozen=True, serialize_by_alias=True)

    checkpoint: str
    fit: str | None = Field(description="The fit that it belongs to; null for one that was uploaded.")
    step: int = Field(description="The step that the fit began at.")
    digest: str = Field(description="SHA-256 of the checkpoint's content.")
    restore: Literal["all", "parameters"] = Field(description="Whether all went on, or only the parameters were taken.")
    copy_: str = Field(alias="copy", description="The fit's own checkpoint with that content.")


class FitLinks(ResourceShape):
    """Where to go on from a fit."""

    self: str
    metrics: str
    events: str
    checkpoints: str
    gradients: str
    children: str = Field(description="The fits that were forked from its checkpoints.")
    origin: str | None = None
    variants: str | None = None
    parent: str | None = None
    graph: str
    dataset: str


class Fit(ResourceShape):
    """A fit: what was asked, how far it is, and how it ended."""

    id: str
    object: Literal["fit"] = "fit"
    state: FitState = Field(description=STATES)
    terminal: bool = Field(description="Whether nothing more happens unless a client asks for it.")
    phase: str = Field(
        description="What it is doing within its state; compiling: kernels that no fit has needed here before are "
        "compiled, and `log` events say how many of how many; waiting_for_memory: its turn has come, and there is "
        "too little memory beside what runs; waiting_for_storage: the disk or the quota has no room for what it has to "
        "write."
    )
    step: int
    total_steps: int
    epoch: int
    progress: float
    eta_seconds: float | None
    latest: dict[str, float | None]
    nonfinite: dict[str, str] = Field(description="Values of latest that are not finite: nan, inf or -inf.")
    best: dict[str, Any] | None = Field(
        description="The best step so far, by which metric, with what value: null if it is not finite, see nonfinite."
    )
    attempt: int
    attempts_max: int
    attempts: list[FitAttempt]
    error: FitError | None
    runtime: FitRuntime | None = Field(description="What it runs with; null before the first step.")
    record_every_steps: int = Field(description="Steps from one training row to the next.")
    stop_reason: str | None = Field(
        description="Why it ended, with success, before its last step; killed: it was, without a last checkpoint."
    )
    bit_exact: bool = Field(description="False once it has gone on under other numerics: bits may differ from then on.")
    running_seconds: float = Field(description="How long it has run, over all attempts.")
    deadline_at: Moment | None = Field(description="When it fails unless it has ended.")
    reopened_at: int | None = Field(
        description="The step at which it was last taken up again after its end, or with other hyperparameters."
    )
    created_at: Moment
    started_at: Moment | None
    finished_at: Moment | None
    graph: str
    dataset: str = Field(description="The dataset that it trains on, or the first of them.")
    datasets: list[str] = Field(description="All datasets that it trains on, in their order.")
    origin: FitOrigin | None = Field(description="The checkpoint that it was begun at, if it was.")
    parent: str | None = Field(description="The fit whose sweep it is a variant of.")
    variant: VariantInfo | None = Field(description="Which variant of the sweep it is.")
    sweep: SweepSummary | None = Field(description="How its variants are doing, if it was submitted with a sweep.")
    replay: FitReplay | None = Field(description="Which fit it runs again, if that is what it is for.")
    labels: dict[str, str]
    request: dict[str, Any] = Field(title="Request as sent", description="With ids in place of what came inline.")
    links: FitLinks

    @classmethod
    def of(cls, view: FitView) -> "Fit":
        """Show a fit with its attempts."""
        fit = view.fit
        latest, nonfinite = finite_part(fit.latest)
        return cls(
            id=fit.id,
            state=fit.state,
            terminal=fit.terminal,
            phase=fit.phase,
            step=fit.step,
            total_steps=fit.total_steps,
            epoch=fit.epoch,
            progress=fit.progress,
            eta_seconds=view.eta_seconds,
            latest=latest,
            nonfinite=nonfinite,
            best=_best(fit),
            attempt=fit.attempt,
            attempts_max=fit.attempts_max,
            attempts=[FitAttempt.of(attempt) for attempt in view.attempts],
            error=None if fit.error is None else FitError(**fit.error),
            runtime=None if fit.runtime is None else FitRuntime(**fit.runtime),
            record_every_steps=view.record_every_steps,
            stop_reason=fit.stop_reason,
            bit_exact=fit.bit_exact,
            running_seconds=round(fit.seconds, 3),
            deadline_at=fit.deadline_at,
            reopened_at=fit.reopened_at,
            created_at=fit.created_at,
            started_at=fit.started_at,
            finished_at=fit.finished_at,
            graph=fit.graph_id,
            dataset=fit.dataset_id,
            datasets=list(fit.dataset_ids),
            origin=None if fit.origin is None else FitOrigin(**fit.origin),
            parent=fit.parent_id,
            variant=None if fit.variant is None else VariantInfo.of(fit.variant),
            sweep=SweepSummary.of(view),
            replay=None if fit.replay is None else FitReplay.showing(Replay(**fit.replay)),
            labels=fit.labels,
            request=fit.request,
            links=_links(fit),
        )


class FitList(ResourceShape):
    """A page of fits."""

    object: Literal["list"] = "list"
    data: list[Fit]
    has_more: bool
    next_cursor: str | None
    findings: list[ProblemError] = Field(description="What of the query can match nothing that there is.")

    @classmethod
    def of(cls, page: Page[FitView]) -> "FitList":
        """Show a page of fits."""
        return cls(
            data=[Fit.of(view) for view in page.items],
            has_more=page.next_cursor is not None,
            next_cursor=page.next_cursor,
            findings=ProblemError.of(page.findings),
        )


class MetricRow(ResourceShape):
    """One row of a fit's curve; seq is gap-free from 1, and a row never changes."""

    seq: int
    step: int
    epoch: int
    split: Literal["train", "validation"]
    values: dict[str, float | None]
    nonfinite: dict[str, str]


class MetricRows(ResourceShape):
    """A page of metric rows; pass next_after as `after` for the next one."""

    object: Literal["list"] = "list"
    data: list[MetricRow]
    has_more: bool
    next_cursor: str | None
    next_after: int
    findings: list[ProblemError] = Field(description="What of the query matches no row so far.")


def _best(fit: FitRecord) -> dict[str, Any] | None:
    if fit.best is None:
        return None
    finite, nonfinite = finite_part(fit.best)
    return finite | ({"nonfinite": nonfinite} if nonfinite else {})


def _links(fit: FitRecord) -> FitLinks:
    here = f"/v1/fits/{fit.id}"
    return FitLinks(
        self=here,
        metrics=f"{here}/metrics",
        events=f"{here}/events",
        checkpoints=f"{here}/checkpoints",
        gradients=f"{here}/gradients",
        children=f"/v1/fits?origin={fit.id}",
        origin=None if fit.origin is None else f"/v1/checkpoints/{fit.origin['checkpoint']}",
        variants=f"{here}/variants" if fit.sweep is not None else None,
        parent=f"/v1/fits/{fit.parent_id}" if fit.parent_id is not None else None,
        graph=f"/v1/graphs/{fit.graph_id}",
        dataset=f"/v1/datasets/{fit.dataset_id}",
    )


class GradientLinks(ResourceShape):
    """Where the numbers are."""

    self: str
    stats: str


class Gradient(ResourceShape):
    """The gradient of the loss by a parameter, without its numbers."""

    object: Literal["gradient"] = "gradient"
    fit: str
    step: int = Field(description="The steps that were done: 0 is the gradient at the first values.")
    parameter: str
    dtype: str
    shape: list[int]
    size_bytes: int = Field(description="Of the .npy file.")
    digest: str = Field(description="SHA-256 of the .npy file.")
    corrupt: bool = Field(description="Its file is missing or damaged.")
    links: GradientLinks

    @classmethod
    def of(cls, gradient: GradientRecord) -> "Gradient":
        """Show a record."""
        here = gradient_path(gradient)
        return cls(
            fit=gradient.fit_id,
            step=gradient.step,
            parameter=gradient.parameter,
            dtype=gradient.dtype,
            shape=gradient.shape,
            size_bytes=gradient.size_bytes,
            digest=gradient.digest,
            corrupt=gradient.corrupt,
            links=GradientLinks(self=here, stats=f"{here}&stats=true"),
        )


class GradientList(ResourceShape):
    """A page of captured gradients."""

    object: Literal["list"] = "list"
    data: list[Gradient]
    has_more: bool
    next_cursor: str | None

    @classmethod
    def of(cls, page: Page[GradientRecord]) -> "GradientList":
        """Show a page of records."""
        return cls(
            data=[Gradient.of(gradient) for gradient in page.items],
            has_more=page.next_cursor is not None,
            next_cursor=page.next_cursor,
        )


class GradientStatistics(ArrayStatistics):
    """A captured gradient in a few numbers, computed in float64."""

    object: Literal["gradient_statistics"] = "gradient_statistics"
    step: int
    parameter: str

    @classmethod
    def of(cls, gradient: GradientRecord, statistics: engine.ArrayStatistics) -> "GradientStatistics":
        """Show what a gradient's numbers look like."""
        found = statistics_fields(gradient.dtype, gradient.shape, statistics)
        return cls(step=gradient.step, parameter=gradient.parameter, **found)


def gradient_path(gradient: GradientRecord) -> str:
    """Return the path and query at which the gradient's numbers are."""
    return f"/v1/fits/{gradient.fit_id}/gradients/{quote(gradient.parameter, safe='')}?step={gradient.step}"
