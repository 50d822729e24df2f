"""The thread pool of a session: made as asked for within what the machine has, remade when a session is taken up."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, replace
from typing import Any

from engine.core.cores import usable_cores
from engine.core.errors import PoolError, PoolMissing
from engine.ggml.compute_plan import DEFAULT_N_THREADS
from engine.ggml.threadpool import Threadpool
from engine.ggml.threadpool_params import ThreadpoolParams


def most_threads() -> int:
    """Return how many threads are started at most: as many as there are cores, or ggml's default."""
    return max(usable_cores(), DEFAULT_N_THREADS)


def clamped(n_threads: int) -> tuple[int, tuple[str, ...]]:
    """Return a number of threads that the machine takes, and a warning if that is not what was asked for."""
    most = most_threads()
    if n_threads <= most:
        return n_threads, ()
    return most, (f"{n_threads} threads asked for, this machine takes {most}: so many are used",)


class Pooling:
    """At most one pool.

    Attributes:
        pool: the pool, if there is one.
        asked: what it was asked to be.
        warnings: what was asked for and could not be granted.
    """

    def __init__(self) -> None:
        """Begin without a pool."""
        self.pool: Threadpool | None = None
        self.asked: ThreadpoolParams | None = None
        self.warnings: tuple[str, ...] = ()

    def new(self, params: ThreadpoolParams) -> None:
        """Make a pool in the place of the one there is (ggml_threadpool_new).

        Raises:
            PoolError: a CPU of the mask is not there; the pool before stays.
        """
        n_threads, warnings = clamped(params.n_threads)
        pool = Threadpool(replace(params, n_threads=n_threads))
        self.free()
        self.pool, self.asked, self.warnings = pool, params, warnings

    def free(self) -> None:
        """End the pool, if there is one (ggml_threadpool_free)."""
        if self.pool is not None:
            self.pool.free()
        self.pool, self.asked, self.warnings = None, None, ()

    def required(self) -> Threadpool:
        """Return the pool; PoolMissing if there is none."""
        if self.pool is None:
            raise PoolMissing("there is no thread pool; make one (threadpool_new)")
        return self.pool

    def matches(self, params: ThreadpoolParams) -> bool:
        """Tell whether the pool serves where `params` are asked for (ggml_threadpool_params_match)."""
        self.required()
        return self.asked is not None and self.asked.matches(params)

    def threads(self, wanted: int | None) -> tuple[int, tuple[str, ...]]:
        """Return how many threads compute: by default those of the pool or one; 0 leaves it to the plan."""
        if wanted is None:
            wanted = self.pool.n_threads if self.pool else 1
        return (wanted, ()) if self.pool is not None else clamped(wanted)

    def describe(self) -> dict[str, Any] | None:
        """Return what the pool is, as plain data; None without one."""
        if self.pool is None:
            return None
        params = self.pool.params
        return {
            **asdict(params),
            "prio": params.prio.name.lower(),
            "cpumask": list(params.cpumask),
            "paused": self.pool.paused,
            "prio_applied": self.pool.prio_applied,
            "affinity": [sorted(cpus) for cpus in self.pool.affinity()],
            "warnings": list(self.warnings),
        }

    def tell(self) -> dict[str, Any] | None:
        """Return what `remake` needs, as plain data."""
        if self.pool is None or self.asked is None:
            return None
        return {**asdict(self.asked), "prio": int(self.asked.prio), "paused": self.pool.paused}

    def remake(self, told: Mapping[str, Any] | None) -> None:
        """Make the pool again; on a machine without its CPUs, one that is bound to none."""
        if told is None:
            self.free()
            return
        params = ThreadpoolParams.read(told)
        try:
            self.new(params)
        except PoolError as error:
            self.new(replace(params, cpumask=()))
            self.warnings = (*self.warnings, str(error))
