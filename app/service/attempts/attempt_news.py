"""Writing down what an attempt reports, within one unit of work, and which of its checkpoints are kept."""

from collections.abc import Sequence
from typing import Protocol, TypeVar

import engine
from app.service.attempts.attempt_journal import AttemptJournal
from app.service.attempts.attempt_progress import Progress
from app.service.fits.event_log import record_log
from app.store.unit_of_work import UnitOfWork


class _Kept(Protocol):
    """A checkpoint, wherever it is."""

    @property
    def step(self) -> int: ...

    @property
    def is_best(self) -> bool: ...


C = TypeVar("C", bound=_Kept)


def retained(checkpoints: Sequence[C], policy: engine.CheckpointPolicy) -> list[C]:
    """Return those of a fit's checkpoints that `policy` keeps: the furthest ones, always one, and the last best one."""
    furthest_first = sorted(checkpoints, key=lambda checkpoint: checkpoint.step, reverse=True)
    kept = furthest_first[: max(1, policy.keep_last)]
    best = next((checkpoint for checkpoint in furthest_first if checkpoint.is_best), None)
    if policy.keep_best and best is not None and best not in kept:
        kept.append(best)
    return kept


def write_down(
    journal: AttemptJournal, work: UnitOfWork, policy: engine.CheckpointPolicy, progress: Progress
) -> list[str]:
    """Enter all of `progress`; return the digests of blobs that may be superfluous."""
    _enter_standing(journal, progress)
    for entry in progress.logs:
        record_log(work, journal.fit.id, entry)
    if progress.points is not None:
        journal.points(progress.points)
    # Before the checkpoints: whoever goes on from one of them does not make again what came before it.
    journal.gradients(progress.gradients)
    if journal.ended:
        return progress.digests
    discarded = [gradient.digest for gradient in progress.gradients]
    if progress.checkpoints:
        for checkpoint in progress.checkpoints:
            journal.checkpoint(checkpoint)
        discarded += _prune(journal.fit.id, work, policy)
    journal.reached(progress.reached)
    if progress.verdict is not None:
        journal.end(progress.verdict, progress.comparison)
    return discarded


def _enter_standing(journal: AttemptJournal, progress: Progress) -> None:
    """Enter what the process is and does, apart from what it makes."""
    if progress.pid is not None:
        journal.started(progress.pid)
    if progress.waits_for_room:
        journal.stored()
    if progress.seconds is not None:
        journal.ran(progress.seconds)
    if progress.phase is not None:
        journal.phase(progress.phase, progress.total_steps, progress.runtime)
    if progress.numerics is not None:
        journal.numerics_changed(progress.numerics)


def _prune(fit_id: str, work: UnitOfWork, policy: engine.CheckpointPolicy) -> list[str]:
    """Delete the checkpoints that the fit does not keep, in the commit that makes the newer ones last.

    Pinned ones stay, and do not count. Those whose files are damaged cannot be gone on from: they take no other's
    place, but go when they would have gone undamaged.
    """
    kept = [each for each in work.checkpoints.kept(fit_id) if not each.pinned]
    worth = [*retained(kept, policy), *retained([each for each in kept if not each.corrupt], policy)]
    superfluous = [checkpoint for checkpoint in kept if checkpoint not in worth]
    for checkpoint in superfluous:
        work.checkpoints.delete(checkpoint.id)
    return [checkpoint.digest for checkpoint in superfluous]
