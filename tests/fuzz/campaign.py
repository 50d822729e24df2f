"""The loop of a fuzzer: change an input, run it, and keep it if it went where none had gone."""

import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from random import Random
from types import FrameType

from tests.fuzz.edges import Edge, Edges
from tests.fuzz.mutation import mutated
from tests.fuzz.targets import Target
from tests.security.memory import memory_bound

MORE_BYTES = 512 << 20
SECONDS_MAX = 10
"""One input may take so long, watched: ten times what it takes unwatched, on a machine that does other things."""


class TooSlow(Exception):
    """An input that is read for too long."""


@dataclass
class Campaign:
    """What has come of fuzzing a target: how many inputs ran, where they went, and those that broke it."""

    target: Target
    seed: int
    executions: int = 0
    edges: set[Edge] = field(default_factory=set)
    corpus: list[bytes] = field(default_factory=list)
    broken: dict[str, bytes] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Take up the seeds."""
        self._random = Random(f"{self.target.name} {self.seed}")
        self._watch = Edges(*self.target.packages)
        for data in self.target.seeds():
            self._try(data)

    def run(self, executions: int | None = None, seconds: float | None = None) -> None:
        """Go on for so many inputs, or for so long."""
        end = time.monotonic() + (seconds or 0.0)
        count = 0
        while count < executions if executions is not None else time.monotonic() < end:
            # The youngest inputs went where few have gone: half of the time one of them is changed.
            known = self.corpus[-8:] if self._random.random() < 0.5 else self.corpus
            self._try(mutated(self._random.choice(known), self._random, self.target.words, self.corpus))
            count += 1

    def _try(self, data: bytes) -> None:
        self.executions += 1
        try:
            with memory_bound(MORE_BYTES), _in_time(), self._watch.watching():
                self.target.run(data)
        except self.target.refusals:
            pass
        except Exception as error:  # noqa: BLE001 - whatever else is raised is what a fuzzer looks for
            self.broken.setdefault(_place(error), data)
        if not self._watch.seen <= self.edges or not self.corpus:
            self.edges |= self._watch.seen
            self.corpus.append(data)


def _place(error: Exception) -> str:
    """Name an error by its kind and by where it was raised: many inputs, one fault."""
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    where = "" if trace is None else f"{trace.tb_frame.f_code.co_filename}:{trace.tb_lineno}"
    return f"{type(error).__name__} at {where}: {str(error)[:200]}"


@contextmanager
def _in_time() -> Iterator[None]:
    def stop(_signal: int, _frame: FrameType | None) -> None:
        raise TooSlow(f"an input was read for more than {SECONDS_MAX} s")

    before = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, SECONDS_MAX)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
