"""Fits, the states they may be in, their attempts and their events; sweeps and their variants."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from enum import StrEnum
from types import MappingProxyType
from typing import Any, Literal

from app.domain.access import DEFAULT_TENANT
from app.domain.errors import Conflict


class FitState(StrEnum):
    """State of a fit. In the -ing states a process may still write for it."""

    QUEUED = "queued"
    STARTING = "starting"
    RUNNING = "running"
    PAUSING = "pausing"
    PAUSED = "paused"
    CANCELLING = "cancelling"
    CANCELLED = "cancelled"
    INTERRUPTED = "interrupted"
    SUCCEEDED = "succeeded"
    FAILED = "failed"


KILLED = "killed"
"""The `stop_reason` of a fit that was cancelled without a last checkpoint."""

WAITS_FOR_MEMORY = "waiting_for_memory"
"""The phase of a fit whose turn it is, and for which there is too little memory beside what runs."""

WAITS_FOR_STORAGE = "waiting_for_storage"
"""The phase of a fit that runs, and stands still until the disk or the quota has space for what it has to write."""

TERMINAL = frozenset({FitState.CANCELLED, FitState.SUCCEEDED, FitState.FAILED})
# What a free worker may take. An interrupted fit lost its process and goes on from its last checkpoint.
CLAIMABLE = (FitState.QUEUED, FitState.INTERRUPTED)
# What a process is there for.
AT_WORK = frozenset(FitState) - TERMINAL - {*CLAIMABLE, FitState.PAUSED}

TRANSITIONS: Mapping[FitState, frozenset[FitState]] = MappingProxyType(
    {
        FitState.QUEUED: frozenset({FitState.STARTING, FitState.PAUSED, FitState.CANCELLED, FitState.FAILED}),
        FitState.STARTING: frozenset(
            {
                FitState.RUNNING,
                FitState.PAUSING,
                FitState.CANCELLING,
                FitState.CANCELLED,
                FitState.INTERRUPTED,
                FitState.FAILED,
            }
        ),
        FitState.RUNNING: frozenset(
            {
                FitState.PAUSING,
                FitState.CANCELLING,
                FitState.CANCELLED,
                FitState.INTERRUPTED,
                FitState.SUCCEEDED,
                FitState.FAILED,
            }
        ),
        # A process that dies while pausing or cancelling has done what was asked of it: it is not "interrupted",
        # which would start it again against the client's request.
        FitState.PAUSING: frozenset(
            {FitState.PAUSED, FitState.CANCELLING, FitState.CANCELLED, FitState.SUCCEEDED, FitState.FAILED}
        ),
        FitState.PAUSED: frozenset({FitState.QUEUED, FitState.CANCELLED, FitState.FAILED}),
        FitState.CANCELLING: frozenset({FitState.CANCELLED, FitState.SUCCEEDED, FitState.FAILED}),
        FitState.INTERRUPTED: frozenset({FitState.STARTING, FitState.PAUSED, FitState.CANCELLED, FitState.FAILED}),
        # A finished fit can be reopened: it is queued and continues from its last checkpoint.
        FitState.CANCELLED: frozenset({FitState.QUEUED}),
        FitState.SUCCEEDED: frozenset({FitState.QUEUED}),
        FitState.FAILED: frozenset({FitState.QUEUED}),
    }
)


@dataclass(frozen=True, slots=True)
class FitRecord:
    """A fit: what was asked (`request`), how far it is, and how it ended.

    `attempt` counts the processes started for it so far, `attempts_max` bounds them; a higher `priority` is claimed
    first; `version` grows by one with every update and guards against lost ones; `stop_reason` says why it ended, with
    success, before its last step; `runtime` is what its last process ran with (see `app.domain.runtime`).
    A fit with a `sweep` has variants, which are fits with its id as `parent_id` (see `app.domain.fit`): it is
    claimed, and they are worked on along with it.

    `bit_exact` is False once it has gone on under other numerics; `seconds` is how long it has run, over all attempts;
    `deadline_at` when it fails unless it has ended; `share` the label value that it shares the workers by; `origin` the
    checkpoint that it was forked from (see `Origin`); `reopened_at` the step at which it was last reopened after
    its end, or resumed with other hyperparameters; `replay` what it is to reproduce, if that is what it is for;
    `memory_bytes` the peak memory of each of its processes (None for a sweep, whose terms hold it, and old records);
    `name` what its client calls it, which may be nothing.
    """

    id: str
    state: FitState
    phase: str
    graph_id: str
    dataset_id: str
    request: dict[str, Any]
    labels: dict[str, str]
    step: int
    total_steps: int
    epoch: int
    latest: dict[str, Any]
    best: dict[str, Any] | None
    attempt: int
    attempts_max: int
    error: dict[str, Any] | None
    created_at: datetime
    started_at: datetime | None
    finished_at: datetime | None
    priority: int
    version: int
    stop_reason: str | None = None
    runtime: dict[str, Any] | None = None
    parent_id: str | None = None
    variant: dict[str, Any] | None = None
    sweep: dict[str, Any] | None = None
    bit_exact: bool = True
    seconds: float = 0.0
    deadline_at: datetime | None = None
    share: str = ""
    origin: dict[str, Any] | None = None
    reopened_at: int | None = None
    replay: dict[str, Any] | None = None
    memory_bytes: int | None = None
    tenant: str = DEFAULT_TENANT
    name: str = ""

    @property
    def dataset_ids(self) -> tuple[str, ...]:
        """The datasets that it trains on, in their order; `dataset_id` is the first."""
        return ids_in(self.request["dataset"])

    @property
    def validation_ids(self) -> tuple[str, ...]:
        """The datasets that it validates on, in their order."""
        return ids_in((self.request.get("validation") or {}).get("dataset"))

    @property
    def terminal(self) -> bool:
        """Whether the fit has ended; a client can reopen it."""
        return self.state in TERMINAL

    @property
    def progress(self) -> float:
        """The part done, 0 to 1; a fit that stopped early with success is done."""
        if self.state is FitState.SUCCEEDED:
            return 1.0
        return min(1.0, self.step / self.total_steps) if self.total_steps > 0 else 0.0

    def to(self, state: FitState, **changes: Any) -> "FitRecord":
        """Return this fit in `state` with other fields changed as well; Conflict if the move is not in TRANSITIONS."""
        allowed = TRANSITIONS[self.state]
        if state not in allowed:
            known = ", ".join(sorted(allowed))
            raise Conflict(
                f"fit {self.id} is {self.state} and cannot become {state}; from here it can become: {known}",
                code="illegal_transition",
            )
        return replace(self, state=state, **changes)


@dataclass(frozen=True, slots=True)
class Origin:
    """Where a forked fit begins: the `origin` of its record.

    Attributes:
        checkpoint: the checkpoint that it was forked from.
        fit: the fit that this belongs to, None for one that was uploaded.
        step: the step at which the fork begins to count.
        digest: SHA-256 of the checkpoint's file.
        restore: whether everything goes on ("all") or only the values of parameters and buffers are taken over.
        copy: the fork's own checkpoint with that content.
    """

    checkpoint: str
    fit: str | None
    step: int
    digest: str
    restore: Literal["all", "parameters"]
    copy: str


def ids_in(named: str | Sequence[str] | None) -> tuple[str, ...]:
    """Return the ids that a field of a request names: one, several or none."""
    return () if named is None else (named,) if isinstance(named, str) else tuple(named)


@dataclass(frozen=True, slots=True)
class Attempt:
    """The `number`-th process (from 1) started for a fit.

    `token` is its fencing token: what it reports counts only while it is the fit's latest, unended attempt.
    `outcome` says how it ended, such as `succeeded`, `drained` or `died`. `received` is the number of its last report
    that is stored, 0 where reports have no numbers.
    """

    fit_id: str
    number: int
    token: str
    pid: int | None
    started_at: datetime
    ended_at: datetime | None
    outcome: str | None
    received: int = 0


EventKind = Literal["metric", "state", "checkpoint", "log", "end"]


@dataclass(frozen=True, slots=True)
class Event:
    """One entry of a fit's journal, numbered without gaps from 1 by `seq`.

    `body` is JSON text, sent to clients as it is. `metric_seq` numbers the metric rows alone, also without gaps from 1.
    """

    fit_id: str
    seq: int
    kind: EventKind
    body: str
    metric_seq: int | None
    created_at: datetime


WAITING = "waiting"
"""The phase of a variant that has come to a rung and waits for the others: no thread works on it."""


@dataclass(frozen=True, slots=True)
class SweepConfig:
    """How the variants of a sweep are run and ranked; part of the parent's record.

    Attributes:
        kind: how they were chosen.
        monitor: the metric that they are ranked by.
        mode: which values of it are better.
        eta: of how many one goes on to the next rung.
        rungs: the steps after which they are compared; none but for halving.
        fit_bytes: the memory that one of them needs.
        progressed_in: the last attempt in which one of them advanced, or the first since the sweep was reopened.
        variants: how many there were; None for a sweep from before this was kept.
    """

    kind: Literal["grid", "random", "halving"]
    monitor: str
    mode: Literal["min", "max"]
    eta: int
    rungs: list[int]
    fit_bytes: int
    progressed_in: int = 0
    variants: int | None = None


@dataclass(frozen=True, slots=True)
class VariantConfig:
    """Which variant a fit is; part of its record.

    Attributes:
        index: its place among them.
        parameters: the values that make it different, by their paths in the request.
        reached: the metric at the rungs that it has come to.
        withdrawn: whether it was cancelled by itself, and not with the sweep: then it does not go on with that.
    """

    index: int
    parameters: dict[str, Any]
    reached: list[float | None]
    withdrawn: bool = False


@dataclass(frozen=True, slots=True)
class VariantState:
    """How far a variant is: what its ranking and a resumption need of its record."""

    fit_id: str
    state: FitState
    step: int
    total_steps: int
    latest: dict[str, Any]
    best: dict[str, Any] | None
    variant: dict[str, Any]

    @property
    def terms(self) -> VariantConfig:
        """Which variant it is."""
        return VariantConfig(**self.variant)


def sweep_config_of(parent: FitRecord) -> SweepConfig:
    """Return how a sweep runs."""
    assert parent.sweep is not None
    return SweepConfig(**parent.sweep)


def check_whole(fit: FitRecord) -> None:
    """Conflict if the fit is a variant: some requests are for a sweep as a whole."""
    if fit.parent_id is not None:
        raise Conflict(
            f"fit {fit.id} is a variant of {fit.parent_id} and goes as that does; ask for this of {fit.parent_id}",
            code="is_variant",
        )
