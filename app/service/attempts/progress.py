"""A claimed fit, and the reports of its attempt collected for one commit."""

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import engine
from app.domain.fit import FitRecord
from app.domain.messages import (
    About,
    CheckpointWritten,
    Failed,
    Finished,
    GradientWritten,
    Log,
    Message,
    MetricRows,
    NumericsChanged,
    Phase,
    Reached,
    Started,
    Verdict,
)
from app.domain.records import CheckpointRecord, GradientRecord
from app.domain.runtime import Comparison


@dataclass(frozen=True, slots=True)
class MemoryNeed:
    """Bytes that each process of an attempt needs, and all together; None if unknown."""

    each: int | None = None
    total: int | None = None


@dataclass(frozen=True)
class Claim:
    """A fit that this server has claimed, with the fencing token of its attempt."""

    fit: FitRecord
    token: str
    need: MemoryNeed = MemoryNeed()

    @cached_property
    def policy(self) -> engine.CheckpointPolicy:
        """Which checkpoints of the fit, or of each variant of the sweep, are retained."""
        # Not from the whole recipe: that of a sweep is complete in its variants only.
        fields = {name: value for name, value in self.fit.request.items() if name in ("checkpoint", "preset")}
        return engine.read_recipe({"epochs": 1, **fields}).checkpoint


@dataclass(slots=True)
class AttemptReport:
    """Reports of an attempt, applied in the order of the fields.

    Attributes:
        seconds: how long the fit has run, over all attempts.
        written: checkpoint files in the spool directory; `checkpoints` are those that were imported.
        captured: gradient files in the spool directory; `gradients` are those that were imported.
        comparison: how a successful replay compares with the original.
        reached: the metric at the rungs that a variant has reached.
        variants: the reports of a sweep's variants, by fit.
        waits_for_storage: whether it was logged that a file cannot be stored now.
        received: the number of the last message of the process, 0 if it has none.
        received_before: that of the last report that was stored when this one was first tried, None before.
    """

    pid: int | None = None
    seconds: float | None = None
    phase: str | None = None
    total_steps: int | None = None
    runtime: dict[str, Any] | None = None
    numerics: NumericsChanged | None = None
    logs: list[Log] = field(default_factory=list)
    metric_rows: MetricRows | None = None
    written: list[CheckpointWritten] = field(default_factory=list)
    checkpoints: list[CheckpointRecord] = field(default_factory=list)
    captured: list[GradientWritten] = field(default_factory=list)
    gradients: list[GradientRecord] = field(default_factory=list)
    comparison: Comparison | None = None
    verdict: Verdict | None = None
    reached: list[float | None] = field(default_factory=list)
    variants: "dict[str, AttemptReport]" = field(default_factory=dict)
    waits_for_storage: bool = False
    received: int = 0
    received_before: int | None = None

    @property
    def digests(self) -> list[str]:
        """The blobs of this report."""
        checkpoints = [checkpoint.digest for checkpoint in self.checkpoints]
        return checkpoints + [gradient.digest for gradient in self.gradients]

    def add(self, message: Message, number: int = 0) -> None:
        """Add the next message of the process, with its number."""
        self.received = number or self.received
        match message:
            case Started(pid):
                self.pid = pid
            case Phase(phase, total_steps, runtime):
                self.phase = phase
                self.total_steps = total_steps if total_steps is not None else self.total_steps
                self.runtime = runtime if runtime is not None else self.runtime
            case NumericsChanged():
                self.numerics = message
            case MetricRows(rows, step, epoch, latest, best):
                before = [] if self.metric_rows is None else self.metric_rows.rows
                before += rows
                self.metric_rows = MetricRows(before, step, epoch, latest, best)
            case Finished() | Failed():
                self.verdict = message
            case _:
                self._collect(message)

    def _collect(self, message: Message) -> None:
        """Add a message that does not replace an earlier one."""
        match message:
            case Log():
                self.logs.append(message)
            case CheckpointWritten():
                self.written.append(message)
            case GradientWritten():
                self.captured.append(message)
            case Reached(_, value):
                self.reached.append(value)
            case About(fit_id, inner):
                self.variants.setdefault(fit_id, AttemptReport()).add(inner)
            case _:
                raise TypeError(f"a worker does not send {type(message).__name__}")
