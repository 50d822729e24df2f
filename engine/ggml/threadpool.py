"""Threadpool: threads that run the tasks of a computation, with CPU affinity and priority (ggml_threadpool)."""

from __future__ import annotations

import os
import threading
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from enum import IntEnum
from typing import Any

import numpy as np

from engine.core.errors import AttributeValueError, PoolBusy, PoolError, PoolPaused, nearest

MOST_THREADS = 512
MASK_BITS = 512
MOST_POLL = 100


class Priority(IntEnum):
    """Scheduling priority of threads (GGML_SCHED_PRIO_*)."""

    LOW = -1
    NORMAL = 0
    MEDIUM = 1
    HIGH = 2
    REALTIME = 3


@dataclass(frozen=True)
class ThreadpoolParams:
    """Parameters of a pool (ggml_threadpool_params); the values are checked when it is made.

    Attributes:
        n_threads: how many threads there are, 1 to 512.
        cpumask: the CPUs they may run on: numbers below 512, or up to 512 booleans; empty or all false lets the system
            choose.
        prio: how they are scheduled.
        poll: how long a thread without work looks for some before it sleeps, 0 (not at all) to 100.
        strict_cpu: whether each thread is bound to one CPU of the mask, in turn; else all share the mask.
        paused: whether the pool starts paused.
    """

    n_threads: int = 4
    cpumask: Sequence[int] | Sequence[bool] = ()
    prio: Priority = Priority.NORMAL
    poll: int = 50
    strict_cpu: bool = False
    paused: bool = False

    def __post_init__(self) -> None:
        """Check every field and bring mask and priority to one form."""
        _require_int("n_threads", self.n_threads, 1, MOST_THREADS)
        _require_int("poll", self.poll, 0, MOST_POLL)
        for name in ("strict_cpu", "paused"):
            if not isinstance(getattr(self, name), bool):
                raise AttributeValueError(f"{name} must be true or false, not {getattr(self, name)!r}")
        object.__setattr__(self, "cpumask", _cpus(self.cpumask))
        if self.prio not in list(Priority):
            known = ", ".join(f"{priority.value} ({priority.name})" for priority in Priority)
            raise AttributeValueError(f"prio {self.prio!r} must be one of {known}")
        object.__setattr__(self, "prio", Priority(self.prio))

    @classmethod
    def read(cls, document: Mapping[str, Any]) -> ThreadpoolParams:
        """Read parameters from a mapping; an unknown name raises AttributeValueError."""
        known = [field.name for field in fields(cls)]
        for name in document:
            if name not in known:
                raise AttributeValueError(
                    f"a thread pool has no parameter {name[:64]!r} (it has: {', '.join(known)}){nearest(name, known)}"
                )
        return cls(**document)

    def init(self, n_threads: int) -> None:
        """Set every field in place to its default, for `n_threads` threads (ggml_threadpool_params_init).

        Pools that were made before keep what they were made with.
        """
        for name, value in vars(ThreadpoolParams(n_threads)).items():
            object.__setattr__(self, name, value)

    def matches(self, other: ThreadpoolParams) -> bool:
        """Return whether these parameters equal `other`, apart from `paused`."""
        names = ("n_threads", "cpumask", "prio", "poll", "strict_cpu")
        return all(getattr(self, name) == getattr(other, name) for name in names)


def _require_int(name: str, value: object, low: int, high: int) -> None:
    if not isinstance(value, int) or isinstance(value, bool) or not low <= value <= high:
        raise AttributeValueError(f"{name} must be an integer in {low}..{high}, not {value!r}")


def _cpus(mask: Sequence[int] | Sequence[bool]) -> tuple[int, ...]:
    """Return the numbers of the CPUs in a mask of numbers or booleans, in order."""
    if len(mask) > MASK_BITS:
        raise AttributeValueError(f"cpumask has {len(mask)} entries; there are at most {MASK_BITS} CPUs")
    if all(isinstance(entry, bool) for entry in mask):
        return tuple(number for number, entry in enumerate(mask) if entry)
    for entry in mask:
        _require_int("an entry of cpumask", entry, 0, MASK_BITS - 1)
    return tuple(sorted(set(mask)))


Task = Callable[[], bool]
"""Does one thing; True stops the job."""


class Job:
    """Tasks, each run once, after the tasks it depends on.

    Tasks that run at the same time are independent, so results are bitwise those of one thread.

    Attributes:
        stopped: whether a task stopped the job; tasks that had not started are skipped.
    """

    def __init__(self, tasks: Sequence[Task], sources: Sequence[Sequence[int]]) -> None:
        """Take the tasks, and for each the indices of the tasks it depends on."""
        self.stopped = False
        self._tasks = tasks
        self._error: BaseException | None = None
        self._waits_for = [len(set(needed)) for needed in sources]
        self._followers: list[list[int]] = [[] for _ in tasks]
        for index, needed in enumerate(sources):
            for source in set(needed):
                self._followers[source].append(index)
        self._ready = deque(index for index, count in enumerate(self._waits_for) if not count)
        self._left = len(tasks)
        self._running = 0
        self._changed = threading.Condition()

    def work(self) -> None:
        """Run tasks until none is left, without floating-point warnings: inf and NaN are valid results."""
        with np.errstate(all="ignore"):
            while (index := self._next()) is not None:
                stop = True
                try:
                    stop = self._tasks[index]()
                except BaseException as error:  # noqa: BLE001 - raised again in the thread that waits for the job
                    self._error = self._error or error
                finally:
                    self._finish(index, stop)

    def wait(self) -> None:
        """Wait until no task is left or running; raise the error of a failed task."""
        with self._changed:
            self._changed.wait_for(lambda: self._over() and not self._running)
        if self._error is not None:
            raise self._error

    def _over(self) -> bool:
        return self.stopped or not self._left

    def _next(self) -> int | None:
        with self._changed:
            self._changed.wait_for(lambda: self._over() or bool(self._ready))
            if self._over():
                return None
            self._running += 1
            return self._ready.popleft()

    def _finish(self, index: int, stop: bool) -> None:
        with self._changed:
            self._running -= 1
            self._left -= 1
            self.stopped = self.stopped or stop
            for follower in self._followers[index]:
                self._waits_for[follower] -= 1
                if not self._waits_for[follower]:
                    self._ready.append(follower)
            self._changed.notify_all()


ROUNDS_PER_POLL = 16
"""Polls of an idle thread before it sleeps, for each point of `poll`."""

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
        self._polls = [0] * self.params.n_threads
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
        """Number of threads."""
        return self.params.n_threads

    @property
    def looks(self) -> int:
        """Number of polls of idle threads so far."""
        return sum(self._polls)

    def affinity(self) -> list[set[int]]:
        """Return the CPUs that each thread may run on now."""
        self._check()
        return [os.sched_getaffinity(thread.native_id or 0) for thread in self._threads]

    def run(self, job: Job, n_threads: int | None = None, *, auto_resume: bool = False) -> None:
        """Run a job on `n_threads` threads (by default all) and wait for its end.

        Raises:
            PoolPaused: the pool is paused, and `auto_resume` does not end that.
            PoolBusy: another job is running.
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
        """Accept no more work; a running job finishes first. A second call does nothing."""
        with self._changed:
            self._check()
            self.paused = True

    def resume(self) -> None:
        """Accept work again."""
        with self._changed:
            self._check()
            self.paused = False

    def free(self) -> None:
        """Stop the threads; a second call does nothing.

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
        self._configure_thread(number)
        seen = 0
        while True:
            self._poll_for_work(number, seen)
            with self._changed:
                self._changed.wait_for(lambda seen=seen: self._serial != seen or self._freed)  # type: ignore[misc]
                if self._freed:
                    return
                seen, job, active = self._serial, self._job, self._active
            if job is not None and number < active:
                job.work()

    def _poll_for_work(self, number: int, seen: int) -> None:
        """Poll for work before sleeping: waking a sleeping thread takes longer. Each poll yields the processor."""
        for _ in range(self.params.poll * ROUNDS_PER_POLL):
            if self._serial != seen or self._freed or self.paused:
                return
            self._polls[number] += 1
            time.sleep(0)

    def _configure_thread(self, number: int) -> None:
        """Set the affinity and priority of the calling thread."""
        refused = _bind(self.params, number)
        applied = _schedule(self.params.prio)
        with self._changed:
            self._refused += [] if refused is None else [refused]
            self.prio_applied = self.prio_applied and applied
            self._started += 1
            self._changed.notify_all()


def _bind(params: ThreadpoolParams, number: int) -> str | None:
    """Set the CPU affinity of the calling thread; return the reason of a failure, or None."""
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
    """Set the priority of the calling thread, with ggml's policies; return whether the system allowed it."""
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
