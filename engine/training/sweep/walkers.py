"""Walkers: threads that carry the variants of a sweep to their rungs and ends, one variant each at a time."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from engine.training.sweep.ladder import Ladder, LeftBehind


@dataclass(frozen=True, slots=True)
class Reached:
    """A variant has come to its rung, where the metric has this value."""

    value: float | None


class Ended:
    """A variant does not run any more."""


class Halted:
    """The sweep is to stop here, to go on another time."""


Carry = Callable[[int, int | None], Reached | Ended | Halted]
"""Run a variant up to a step (None: to its end) and say what has come of it."""


class Walkers:
    """Runs the variants of a ladder.

    Native calls leave other threads the interpreter, so variants that make many steps a call run side by side. Which
    thread carries a variant, and when, does not touch its numbers.
    """

    def __init__(self, ladder: Ladder, carry: Carry, leave: Callable[[LeftBehind], None], *, threads: int = 1) -> None:
        """Prepare to run.

        Args:
            ladder: who runs, and how far.
            carry: runs one variant; called by several threads, never twice at once for one variant.
            leave: ends one that does not go on; called by one thread at a time.
            threads: how many variants run at once.
        """
        self._ladder = ladder
        self._carry = carry
        self._leave = leave
        self._threads = max(1, min(threads, ladder.variants))
        self._changed = threading.Condition()
        self._under_way: set[int] = set()
        self._halted = False
        self._error: BaseException | None = None

    def run(self) -> bool:
        """Run until every variant has ended; False if the sweep was halted before.

        Raises:
            Exception: the first one that `carry` or `leave` raised; the other variants stop at their next rung or end.
        """
        with self._changed:
            self._part()
        others = [threading.Thread(target=self._walk, name="walker", daemon=True) for _ in range(1, self._threads)]
        for thread in others:
            thread.start()
        self._walk()
        for thread in others:
            thread.join()
        if self._error is not None:
            raise self._error
        return self._ladder.done

    def _walk(self) -> None:
        while (variant := self._next()) is not None:
            with self._finally_free(variant):
                come = self._carry(variant, self._ladder.goal(variant))
                with self._changed:
                    self._note(variant, come)

    def _next(self) -> int | None:
        """Wait for a variant to run, and take it; None when there will be none."""
        with self._changed:
            while not self._halted and not self._ladder.done:
                free = [variant for variant in self._ladder.ready() if variant not in self._under_way]
                if free:
                    self._under_way.add(free[0])
                    return free[0]
                self._changed.wait()
            return None

    def _note(self, variant: int, come: Reached | Ended | Halted) -> None:
        if isinstance(come, Reached):
            self._ladder.reach(variant, come.value)
        elif isinstance(come, Ended):
            self._ladder.end(variant)
        else:
            self._halted = True
        self._part()

    def _part(self) -> None:
        """End those that do not go on."""
        for left in self._ladder.left_behind():
            self._leave(left)
            self._ladder.end(left.variant)

    @contextmanager
    def _finally_free(self, variant: int) -> Iterator[None]:
        try:
            yield
        except BaseException as error:  # noqa: BLE001 - it is raised again in the thread that called `run`
            self._halted, self._error = True, self._error or error
        finally:
            with self._changed:
                self._under_way.discard(variant)
                self._changed.notify_all()
