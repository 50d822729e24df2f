"""A pool of threads that run the variants of a sweep to their rungs and ends, one variant each at a time."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from engine.training.sweep.halving import LeftBehind, SuccessiveHalving


@dataclass(frozen=True, slots=True)
class Reached:
    """A variant has reached its rung with this value of the metric."""

    value: float | None


class Ended:
    """A variant has ended."""


class Halted:
    """The sweep stops, and may be resumed later."""


RunVariant = Callable[[int, int | None], Reached | Ended | Halted]
"""Runs a variant up to a step (None: to its end) and returns the result."""


class VariantPool:
    """Runs the variants that successive halving selects.

    Native calls release the interpreter lock, so variants that run many steps per call run in parallel. The numbers of
    a variant do not depend on the thread that runs it, nor on when it runs.
    """

    def __init__(
        self,
        halving: SuccessiveHalving,
        run_variant: RunVariant,
        stop_variant: Callable[[LeftBehind], None],
        *,
        threads: int = 1,
    ) -> None:
        """Create the pool; no thread is started.

        Args:
            halving: which variants run, and how far.
            run_variant: runs one variant; called by several threads, never by two at once for one variant.
            stop_variant: ends an eliminated variant; called by one thread at a time.
            threads: how many variants run at once.
        """
        self._halving = halving
        self._run_variant = run_variant
        self._stop_variant = stop_variant
        self._threads = max(1, min(threads, halving.variants))
        self._changed = threading.Condition()
        self._running: set[int] = set()
        self._halted = False
        self._error: BaseException | None = None

    def run(self) -> bool:
        """Run until every variant has ended; False if the sweep was halted before.

        Raises:
            Exception: the first one that `run_variant` or `stop_variant` raised; the other variants stop at their next
                rung or end.
        """
        with self._changed:
            self._stop_eliminated()
        others = [
            threading.Thread(target=self._run_variants, name="variant", daemon=True) for _ in range(1, self._threads)
        ]
        for thread in others:
            thread.start()
        self._run_variants()
        for thread in others:
            thread.join()
        if self._error is not None:
            raise self._error
        return self._halving.done

    def _run_variants(self) -> None:
        while (variant := self._next()) is not None:
            with self._release_afterwards(variant):
                result = self._run_variant(variant, self._halving.goal(variant))
                with self._changed:
                    self._record(variant, result)

    def _next(self) -> int | None:
        """Wait for a variant that is ready to run and return it; None when there will be none."""
        with self._changed:
            while not self._halted and not self._halving.done:
                free = [variant for variant in self._halving.ready() if variant not in self._running]
                if free:
                    self._running.add(free[0])
                    return free[0]
                self._changed.wait()
            return None

    def _record(self, variant: int, result: Reached | Ended | Halted) -> None:
        if isinstance(result, Reached):
            self._halving.reach(variant, result.value)
        elif isinstance(result, Ended):
            self._halving.end(variant)
        else:
            self._halted = True
        self._stop_eliminated()

    def _stop_eliminated(self) -> None:
        """Stop the variants that do not advance."""
        for left in self._halving.left_behind():
            self._stop_variant(left)
            self._halving.end(left.variant)

    @contextmanager
    def _release_afterwards(self, variant: int) -> Iterator[None]:
        try:
            yield
        except BaseException as error:  # noqa: BLE001 - it is raised again in the thread that called `run`
            self._halted, self._error = True, self._error or error
        finally:
            with self._changed:
                self._running.discard(variant)
                self._changed.notify_all()
