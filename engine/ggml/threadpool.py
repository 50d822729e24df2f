"""Threadpool: threads that wait for jobs, bound to CPUs and scheduled as asked (ggml_threadpool)."""

from __future__ import annotations

import os
import threading
import time
from dataclasses import replace

from engine.core.errors import PoolBusy, PoolError, PoolPaused
from engine.ggml.job import Job
from engine.ggml.threadpool_params import Priority, ThreadpoolParams

ROUNDS_PER_POLL = 16
"""How often a thread without work looks for some, for each point of `poll`, before it sleeps."""

START_SECONDS = 30.0


class Threadpool:
    """Threads that compute graphs, several nodes at a time where these do not depend on one another.

    Attributes:
        params: what it was made to be.
        prio_applied: whether the system let every thread have the priority asked for; the pool works all the same.
        paused: whether it takes no work.
    """

    def __init__(self, params: ThreadpoolParams | int) -> None:
        """Start the threads, each bound and scheduled before this returns.

        Args:
            params: what it should be, or just how many threads.

        Raises:
            PoolError: a CPU of the mask is not there, or the system binds no threads.
        """
        self.params = ThreadpoolParams(params) if isinstance(params, int) else replace(params)
        self.paused = self.params.paused
        self.prio_applied = True
        self._changed = threading.Condition()
        self._job: Job | None = None
        self._serial = 0
        self._active = 0
        self._freed = False
        self._started = 0
        self._refused: list[str] = []
        self._looks = [0] * self.params.n_threads
        self._threads = [
            threading.Thread(target=self._serve, args=(number,), name=f"engine-pool-{number}", daemon=True)
            for number in range(self.params.n_threads)
        ]
        try:
            for thread in self._threads:
                thread.start()
        except RuntimeError as error:
            self.free()
            raise PoolError(f"the system starts no {self.n_threads} threads ({error}); ask for fewer") from error
        with self._changed:
            self._changed.wait_for(lambda: self._started == len(self._threads), START_SECONDS)
        if self._refused:
            self.free()
            raise PoolError(self._refused[0])

    def __enter__(self) -> Threadpool:
        """Free the pool at the end of the block."""
        return self

    def __exit__(self, *_: object) -> None:
        self.free()

    @property
    def n_threads(self) -> int:
        """How many threads there are."""
        return self.params.n_threads

    @property
    def looks(self) -> int:
        """How often threads without work have looked for some so far, in place of sleeping."""
        return sum(self._looks)

    def affinity(self) -> list[set[int]]:
        """Return the CPUs that each thread may run on now."""
        self._check()
        return [os.sched_getaffinity(thread.native_id or 0) for thread in self._threads]

    def run(self, job: Job, n_threads: int | None = None, *, auto_resume: bool = False) -> None:
        """Work a job off on `n_threads` of the threads (all by default) and wait for its end.

        Raises:
            PoolPaused: the pool is paused, and `auto_resume` does not end that.
            PoolBusy: it is working on another job.
            PoolError: it has been freed.
        """
        with self._changed:
            self.check_ready(auto_resume=auto_resume)
            self.paused = False
            self._job = job
            self._active = min(n_threads or self.n_threads, self.n_threads)
            self._serial += 1
            self._changed.notify_all()
        try:
            job.wait()
        finally:
            self._job = None

    def check_ready(self, *, auto_resume: bool = False) -> None:
        """Raise what `run` would raise now."""
        self._check()
        if self.paused and not auto_resume:
            raise PoolPaused("the thread pool is paused; resume() it, or compute with auto_resume=True")
        if self._job is not None:
            raise PoolBusy("the thread pool is computing another graph; wait for it, or make a second pool")

    def pause(self) -> None:
        """Take no work from here on; a job that runs is finished first. Once more does nothing."""
        with self._changed:
            self._check()
            self.paused = True

    def resume(self) -> None:
        """Take work again."""
        with self._changed:
            self._check()
            self.paused = False

    def free(self) -> None:
        """End the threads; once more does nothing.

        Raises:
            PoolBusy: the pool is computing.
        """
        with self._changed:
            if self._job is not None:
                raise PoolBusy("the thread pool is computing and cannot be freed; wait for the graph to end")
            self._freed = True
            self._changed.notify_all()
        for thread in self._threads:
            if thread.ident is not None:
                thread.join()

    def _check(self) -> None:
        if self._freed:
            raise PoolError("the thread pool has been freed; make a new one")

    def _serve(self, number: int) -> None:
        self._settle(number)
        seen = 0
        while True:
            self._look(number, seen)
            with self._changed:
                self._changed.wait_for(lambda seen=seen: self._serial != seen or self._freed)  # type: ignore[misc]
                if self._freed:
                    return
                seen, job, active = self._serial, self._job, self._active
            if job is not None and number < active:
                job.work()

    def _look(self, number: int, seen: int) -> None:
        """Look for work for a while, giving way to other threads: waking a sleeping thread takes longer."""
        for _ in range(self.params.poll * ROUNDS_PER_POLL):
            if self._serial != seen or self._freed or self.paused:
                return
            self._looks[number] += 1
            time.sleep(0)

    def _settle(self, number: int) -> None:
        """Bind and schedule the thread this runs in."""
        refused = _bind(self.params, number)
        applied = _schedule(self.params.prio)
        with self._changed:
            self._refused += [] if refused is None else [refused]
            self.prio_applied = self.prio_applied and applied
            self._started += 1
            self._changed.notify_all()


def _bind(params: ThreadpoolParams, number: int) -> str | None:
    """Bind the calling thread to its CPUs; return why that is not possible, or None."""
    cpus = params.cpumask
    if not cpus:
        return None
    own = {int(cpus[number % len(cpus)])} if params.strict_cpu else {int(cpu) for cpu in cpus}
    try:
        os.sched_setaffinity(0, own)
    except (OSError, AttributeError) as error:
        return f"no thread can be bound to the CPUs {sorted(own)} here ({error}); leave cpumask empty"
    return None


def _schedule(prio: Priority) -> bool:
    """Give the calling thread its priority, by the policies that ggml uses; tell whether the system let it."""
    if prio is Priority.NORMAL:
        return True
    try:
        if prio is Priority.LOW:
            os.sched_setscheduler(0, os.SCHED_BATCH, os.sched_param(0))
        else:
            level = {Priority.MEDIUM: 40, Priority.HIGH: 80, Priority.REALTIME: 90}[prio]
            os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(level))
    except (OSError, AttributeError):
        return False
    return True
