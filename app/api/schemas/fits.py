"""Fits, their metric rows and their captured gradients."""

from typing import Any, Literal, Self
from urllib.parse import quote

from pydantic import ConfigDict, Field

import engine
from app.api.schemas.bundles import FitReplay
from app.api.schemas.diagnostics import ArrayStatistics, statistics_fields
from app.api.schemas.sweeps import SweepSummary, VariantInfo
from app.api.schemas.values import FilteredPage, Moment, OpenShape, PageShape, ResourceShape, finite_part
from app.domain.fit import FitRecord, FitState
from app.domain.records import GradientRecord
from app.domain.runtime import Replay
from app.http.problems import ProblemError
from app.service.fits.view import FitView

STATES = (
    "queued: waits for a worker. starting, running: a worker process executes it. pausing, cancelling: its process "
    "writes a checkpoint and exits. paused: not executed until it is resumed. interrupted: its process was lost; the "
    "next one resumes from the last checkpoint. succeeded, failed, cancelled: ended; it can be resumed or extended."
)
OUTCOMES = (
    "How its process ended; null while it runs. succeeded, cancelled, drained: as requested. killed_by_client: killed "
    "by a client. lost, stopped: ended with the server. killed, out_of_memory, blas_abort, stalled, error, "
    "not_started: a crash. Otherwise the code of the error that the fit failed with."
)


class FitAttempt(ResourceShape):
    """A process of the fit."""

    number: int
    started_at: Moment
    ended_at: Moment | None
    outcome: str | None = Field(description=OUTCOMES)


class FitError(OpenShape):
    """Why a fit failed."""

    code: str
    detail: str


class FitRuntime(ResourceShape):
    """Runtime of the fit's last process."""

    executor: str
    threads: int = Field(description="Number of threads in a step.")
    threads_requested: int | None
    affinity: list[int] | None = Field(description="CPUs that its processes are bound to; null: those of the server.")
    niceness: int = Field(description="Niceness of the processes.")
    fingerprint: dict[str, Any] = Field(description="Versions and CPU features that the exact results depend on.")


class FitOrigin(ResourceShape):
    """The checkpoint that a fit was forked from."""

    model_config = ConfigDict(frozen=True, serialize_by_alias=True)

    checkpoint: str
    fit: str | None = Field(description="Id of the fit that the checkpoint belongs to; null for an uploaded one.")
    step: int = Field(description="Step at which the fit starts.")
    digest: str = Field(description="SHA-256 of the checkpoint's content.")
    restore: Literal["all", "parameters"] = Field(description="What was restored: everything, or only the parameters.")
    copy_: str = Field(alias="copy", description="The fit's own checkpoint with that content.")


class FitLinks(ResourceShape):
    """Links of a fit."""

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
    """A fit: its request, progress and result."""

    id: str
    object: Literal["fit"] = "fit"
    name: str | None = Field(description="The name that its client gave it; null: none.")
    state: FitState = Field(description=STATES)
    terminal: bool = Field(description="Whether the fit has ended; a client can reopen it.")
    phase: str = Field(
        description="What it is doing within its state; compiling: kernels that no fit has needed here before are "
        "compiled, and `log` events say how many (count) of how many (total); waiting_for_memory: its turn has come, "
        "and there is too little memory beside what runs; waiting_for_storage: the disk or the quota has no room for "
        "what it has to write."
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
    runtime: FitRuntime | None = Field(
        description="Executor, threads and numerics of the process; null before the first step."
    )
    record_every_steps: int = Field(description="Steps from one training row to the next.")
    stop_reason: str | None = Field(
        description="Why it ended before its last step; `killed`: by a client, without a last checkpoint."
    )
    bit_exact: bool = Field(
        description="False once it was resumed with different numerics: later results may differ in the last bits."
    )
    running_seconds: float = Field(description="Run time over all attempts, in seconds.")
    deadline_at: Moment | None = Field(description="Time at which the fit fails unless it has ended, RFC 3339 in UTC.")
    reopened_at: int | None = Field(
        description="Step at which the fit was last reopened after its end, or resumed with other hyperparameters."
    )
    created_at: Moment
    started_at: Moment | None
    finished_at: Moment | None
    graph: str
    dataset: str = Field(description="Id of the training dataset, or of the first of several.")
    datasets: list[str] = Field(description="Ids of all training datasets, in order.")
    origin: FitOrigin | None = Field(description="The checkpoint that it was forked from; null if it was not.")
    parent: str | None = Field(description="Id of the fit whose sweep this is a variant of.")
    variant: VariantInfo | None = Field(description="The variant of the sweep; null if it is none.")
    sweep: SweepSummary | None = Field(description="Progress of its variants; null without a sweep.")
    replay: FitReplay | None = Field(description="The fit that this one replays; null if it is no replay.")
    labels: dict[str, str]
    request: dict[str, Any] = Field(
        title="Request as sent", description="The request, with ids in place of inline documents."
    )
    links: FitLinks

    @classmethod
    def show(cls, view: FitView) -> Self:
        """Build from a fit and its attempts."""
        fit = view.fit
        latest, nonfinite = finite_part(fit.latest)
        return cls.from_record(
            fit,
            name=fit.name or None,
            eta_seconds=view.eta_seconds,
            latest=latest,
            nonfinite=nonfinite,
            best=_best(fit),
            attempts=view.attempts,
            record_every_steps=view.record_every_steps,
            running_seconds=round(fit.seconds, 3),
            graph=fit.graph_id,
            dataset=fit.dataset_id,
            datasets=fit.dataset_ids,
            parent=fit.parent_id,
            sweep=SweepSummary.show(view) if fit.sweep is not None else None,
            replay=None if fit.replay is None else FitReplay.show(Replay(**fit.replay)),
            links=_links(fit),
        )


class FitList(FilteredPage[Fit]):
    """A page of fits."""


class MetricRow(ResourceShape):
    """One row of a fit's curve; seq is gap-free from 1, and a row never changes."""

    seq: int
    step: int
    epoch: int
    split: Literal["train", "validation"]
    values: dict[str, float | None]
    nonfinite: dict[str, str]
    at: Moment | None = Field(default=None, description="Time at which it was stored; only with `timestamps`.")


class MetricRows(PageShape[MetricRow]):
    """A page of metric rows; pass next_after as `after` for the next one."""

    next_after: int
    findings: list[ProblemError] = Field(description="Parts of the query that match no row so far.")


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
    """Links of a gradient."""

    self: str
    stats: str


class Gradient(ResourceShape):
    """The gradient of the loss with respect to a parameter, without its values."""

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
    def show(cls, gradient: GradientRecord) -> Self:
        """Build from a record."""
        here = gradient_path(gradient)
        links = GradientLinks(self=here, stats=f"{here}&stats=true")
        return cls.from_record(gradient, fit=gradient.fit_id, links=links)


class GradientList(PageShape[Gradient]):
    """A page of captured gradients."""


class GradientStatistics(ArrayStatistics):
    """Statistics of a captured gradient, computed in float64."""

    object: Literal["gradient_statistics"] = "gradient_statistics"
    step: int
    parameter: str

    @classmethod
    def summarizing(cls, gradient: GradientRecord, statistics: engine.ArrayStatistics) -> Self:
        """Build from a record and the statistics of its values."""
        return cls.from_record(gradient, **statistics_fields(gradient.dtype, gradient.shape, statistics))


def gradient_path(gradient: GradientRecord) -> str:
    """Return the path and query at which the gradient's numbers are."""
    return f"/v1/fits/{gradient.fit_id}/gradients/{quote(gradient.parameter, safe='')}?step={gradient.step}"
