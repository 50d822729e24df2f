"""Control of fits: cancel, kill, pause, resume.

Each operation is one unit of work, and units of work are serialized. Concurrent calls follow the state machine of the
fit, which ends once. Repeating an operation has no effect.
"""

from collections.abc import Iterable
from dataclasses import asdict, replace
from functools import partial

from app.domain.errors import Conflict, NotFound
from app.domain.fit import CLAIMABLE, KILLED, WAITING, FitRecord, FitState, check_whole, sweep_config_of
from app.service.fits.event_log import record_reopening, record_state
from app.service.fits.limits import FitLimits, check_expired
from app.service.fits.sweeps import close_variants, find_resumable
from app.service.fits.view import FitView, build_view
from app.service.resources.notifier import Notifier
from app.service.resources.workers import WorkerPool
from app.store.unit_of_work import Store, UnitOfWork


class FitRequeue:
    """Puts fits back into the queue; they resume from their last checkpoint."""

    def __init__(self, notifier: Notifier, worker_pool: WorkerPool, terms: FitLimits) -> None:
        """Wake the `worker_pool` and the `notifier` after the commit."""
        self._notifier = notifier
        self._worker_pool = worker_pool
        self._terms = terms

    def queue(self, work: UnitOfWork, fit: FitRecord, variants: Iterable[FitRecord] = ()) -> FitRecord:
        """Queue a paused or ended fit, and those of its `variants` that have ended; each keeps its last step.

        Their event logs continue: the `end` event is replaced by a log event `reopened`. Raises Conflict if a time
        limit is reached or an input was deleted, and QueueFull.
        """
        check_startable(work, fit)
        self._terms.check_queue(work)
        if fit.terminal and fit.sweep is not None:
            # Crashes before its end do not count any more.
            fit = replace(fit, sweep=asdict(replace(sweep_config_of(fit), progressed_in=fit.attempt + 1)))
        queued = self._queue(work, fit)
        for variant in variants:
            self._queue(work, variant)
        work.after_commit(self._worker_pool.wake)
        return queued

    def _queue(self, work: UnitOfWork, fit: FitRecord) -> FitRecord:
        if fit.terminal:
            record_reopening(work, fit)
            fit = replace(fit, reopened_at=fit.step, error=None, finished_at=None, stop_reason=None)
        queued = work.fits.update(fit.to(FitState.QUEUED, phase="queued"))
        record_state(work, queued)
        work.after_commit(partial(self._notifier.notify, fit.id))
        return queued


def check_startable(work: UnitOfWork, fit: FitRecord) -> None:
    """Raise Conflict if the fit would fail at once: a time limit is reached, or an input was deleted."""
    limit = check_expired(fit, fit.seconds, work.now)
    if limit is not None:
        raise Conflict(f"fit {fit.id} cannot go on: {limit.detail}", code=limit.code)
    try:
        work.graphs.get(fit.graph_id)
        for dataset_id in (*fit.dataset_ids, *fit.validation_ids):
            work.datasets.get(dataset_id)
    except NotFound as error:
        raise Conflict(f"fit {fit.id} cannot go on: {error.detail}", code="input_missing") from error


KILLED_BY_CLIENT = "killed_by_client"
"""The outcome of an attempt that was killed by a client."""

_IDLE = (*CLAIMABLE, FitState.PAUSED)
_ACTIVE = (*CLAIMABLE, FitState.STARTING, FitState.RUNNING)


class FitControl:
    """The use cases of control."""

    def __init__(self, store: Store, notifier: Notifier, worker_pool: WorkerPool, terms: FitLimits) -> None:
        """Change fits in `store`, and wake the `worker_pool` and the `notifier`."""
        self._store = store
        self._notifier = notifier
        self._worker_pool = worker_pool
        self._requeue = FitRequeue(notifier, worker_pool, terms)

    def cancel(self, fit_id: str) -> FitView:
        """Stop the fit: at once if it has no process, else after a last checkpoint.

        The variants of a sweep stop with it; if one variant is cancelled, the sweep continues. Cancelling again has no
        effect; raises Conflict if it has ended otherwise.
        """
        with self._store.begin() as work:
            fit = work.fits.get(fit_id)
            if fit.state not in (FitState.CANCELLING, FitState.CANCELLED):
                fit = self._cancel(work, _mark_withdrawn(fit))
                close_variants(work, fit, self._notifier.notify)
                self._notify_parent(work, fit)
            return build_view(work, fit)

    def kill(self, fit_id: str) -> FitView:
        """End the fit at once, without a checkpoint: later reports of its process are rejected by the fencing token.

        The variants of a sweep end with it; if one variant is killed, the sweep continues. Killing again has no effect;
        raises Conflict if it has ended otherwise.
        """
        with self._store.begin() as work:
            fit = work.fits.get(fit_id)
            if fit.stop_reason != KILLED or not fit.terminal:
                _check_not_ended(fit, "kill")
                for variant in work.fits.variants(fit_id):
                    if not variant.terminal:
                        self._end_as_killed(work, variant)
                fit = self._end_as_killed(work, _mark_withdrawn(fit))
                self._kill_process(work, fit)
                self._notify_parent(work, fit)
            return build_view(work, fit)

    def pause(self, fit_id: str) -> FitView:
        """Pause the fit: at once if it has no process, else after a checkpoint; its worker is released.

        Pausing again has no effect; raises Conflict if it has ended or is being cancelled, or is a variant of a sweep.
        """
        with self._store.begin() as work:
            fit = work.fits.get(fit_id)
            check_whole(fit)
            if fit.state not in (FitState.PAUSING, FitState.PAUSED):
                fit = self._pause(work, fit)
            return build_view(work, fit)

    def resume(self, fit_id: str) -> FitView:
        """Queue a paused, cancelled or failed fit; it continues from its last checkpoint.

        Of an ended sweep, variants that were not completed are queued too; others keep their results. Resuming an
        active fit has no effect; raises Conflict if it has succeeded, is still pausing or cancelling, is a variant of a
        sweep, or a sweep without a variant to continue.
        """
        with self._store.begin() as work:
            fit = work.fits.get(fit_id)
            check_whole(fit)
            if fit.state not in _ACTIVE:
                ended_sweep = fit.terminal and fit.sweep is not None
                if not ended_sweep:
                    _check_resumable(fit)
                fit = self._requeue.queue(work, fit, find_resumable(work, fit) if ended_sweep else ())
            return build_view(work, fit)

    def _cancel(self, work: UnitOfWork, fit: FitRecord) -> FitRecord:
        _check_not_ended(fit, "cancel")
        waiting = fit.state in _IDLE or fit.phase == WAITING
        if waiting:
            work.attempts.end_open(fit.id, "cancelled")
            fit = work.fits.update(fit.to(FitState.CANCELLED, phase="cancelled", finished_at=work.now))
        else:
            fit = work.fits.update(fit.to(FitState.CANCELLING, phase="cancelling"))
        if fit.parent_id is not None or not waiting:
            work.after_commit(partial(self._worker_pool.cancel, fit.parent_id or fit.id, fit.parent_id and fit.id))
        self._record_state(work, fit)
        return fit

    def _end_as_killed(self, work: UnitOfWork, fit: FitRecord) -> FitRecord:
        work.attempts.end_open(fit.id, KILLED_BY_CLIENT)
        ended = fit.to(FitState.CANCELLED, phase="cancelled", finished_at=work.now, stop_reason=KILLED)
        ended = work.fits.update(ended)
        self._record_state(work, ended)
        return ended

    def _kill_process(self, work: UnitOfWork, fit: FitRecord) -> None:
        """Kill the process; for a variant, which has none of its own, request the sweep's process to skip it."""
        if fit.parent_id is None:
            work.after_commit(partial(self._worker_pool.kill, fit.id))
        else:
            work.after_commit(partial(self._worker_pool.cancel, fit.parent_id, fit.id))

    def _pause(self, work: UnitOfWork, fit: FitRecord) -> FitRecord:
        _check_not_ended(fit, "pause")
        if fit.state is FitState.CANCELLING:
            raise Conflict(f"fit {fit.id} is being cancelled; resume it when it is cancelled", code="cancelling")
        if fit.state in _IDLE:
            fit = work.fits.update(fit.to(FitState.PAUSED, phase="paused"))
        else:
            fit = work.fits.update(fit.to(FitState.PAUSING, phase="pausing"))
            work.after_commit(partial(self._worker_pool.pause, fit.id))
        self._record_state(work, fit)
        return fit

    def _record_state(self, work: UnitOfWork, fit: FitRecord) -> None:
        record_state(work, fit)
        # Other fits may have been queued behind it.
        work.after_commit(self._worker_pool.wake)
        work.after_commit(partial(self._notifier.notify, fit.id))

    def _notify_parent(self, work: UnitOfWork, fit: FitRecord) -> None:
        if fit.parent_id is not None:
            # The ranking of the sweep, a part of its view, shows the states of its variants.
            work.fits.update(work.fits.get(fit.parent_id))
            work.after_commit(partial(self._notifier.notify, fit.parent_id))


def _mark_withdrawn(fit: FitRecord) -> FitRecord:
    """Return the fit, marked as ended by a client if it is a variant."""
    return fit if fit.variant is None else replace(fit, variant={**fit.variant, "withdrawn": True})


def _check_not_ended(fit: FitRecord, action: str) -> None:
    if fit.terminal:
        raise Conflict(f"fit {fit.id} has {fit.state}; there is nothing left to {action}", code="already_terminal")


def _check_resumable(fit: FitRecord) -> None:
    if fit.state is FitState.SUCCEEDED:
        raise Conflict(
            f"fit {fit.id} has succeeded; extend it by more epochs or steps, or fork it", code="already_terminal"
        )
    if fit.state in (FitState.PAUSING, FitState.CANCELLING):
        raise Conflict(f"fit {fit.id} is {fit.state}; resume it when its process has stopped", code="not_paused")
