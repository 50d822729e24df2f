"""Fits and sessions on a whole cluster come to the same bits through any number of kills of all of its parts.

`make chaos CLUSTER=1` runs it; CHAOS_KILLS is the number of kills, CHAOS_SEED repeats a run, CHAOS_FAULTS names those
of FAULTS that are wanted, separated by commas.
"""

import os
import random
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.chaos.cluster_faults import FAULTS, deck
from tests.chaos.cluster_load import KINDS, Outcome, RunningFit, Session, read, undisturbed
from tests.chaos.cluster_parts import MISSING, Client, Parts
from tests.chaos.conftest import Counts
from tests.support.patience import PATIENCE
from tests.support.server import serving

pytestmark = pytest.mark.skipif(bool(MISSING), reason=MISSING)

KILLS = int(os.environ.get("CHAOS_KILLS", "200"))
STEP_SECONDS = 0.15
"""Of a step while parts are killed: fits that end early would only cost the start of others."""
SESSIONS = 2
STUCK_SECONDS = 4 * PATIENCE
"""Without progress for this long, the run has failed."""

Reference = tuple[dict[str, Outcome], list[dict[str, Any]]]


class Storm:
    """The fits, the sessions, and what is done to the cluster below them."""

    def __init__(self, parts: Parts, reference: Reference, chance: random.Random, stack: ExitStack) -> None:
        self._parts, self._chance = parts, chance
        self._expected, answers = reference
        self.client = Client(parts, random.Random(chance.random()), stack)
        self.fits = [RunningFit(self.client, kind) for kind in KINDS]
        self.sessions = [
            Session(Client(parts, random.Random(chance.random()), stack), which, answers) for which in range(SESSIONS)
        ]
        self.done: Counter[str] = Counter()

    def run(self, kills: int) -> None:
        """Kill so often, each time after some progress, and let everything end."""
        for fit in self.fits:
            fit.submit()
        with self._stepping():
            with self._parts.ray.gate.slowing(STEP_SECONDS):
                self._kill(kills)
            self._await_progress(len(self.fits))
            self._let_end()

    def _kill(self, kills: int) -> None:
        cards: list[str] = []
        for number in range(1, kills + 1):
            self._await_progress(self._chance.choice((1, 1, 1, 2, 3, len(self.fits))))
            cards = cards or deck(self._chance)
            name = cards.pop()
            began = time.monotonic()
            FAULTS[name](self._parts, self._chance)
            self.done[name] += 1
            print(f"{number} {name} {time.monotonic() - began:.1f} s, {self._state()}", flush=True)  # noqa: T201 (-s shows it)

    def _state(self) -> str:
        fits = " ".join(f"{fit.ended}:{len(fit.rows)}" for fit in self.fits)
        return (
            f"{time.strftime('%H:%M:%S')} fits {fits}, sessions {' '.join(str(each.taken) for each in self.sessions)}"
        )

    @contextmanager
    def _stepping(self) -> Iterator[None]:
        threads = [threading.Thread(target=session.run) for session in self.sessions]
        for thread in threads:
            thread.start()
        try:
            yield
        finally:
            for session in self.sessions:
                session.is_over.set()
            for thread in threads:
                thread.join()

    def _await_progress(self, least: int) -> None:
        """Wait until at least `least` fits have new rows, and as many sessions (at most all) new steps."""
        fits = {fit.kind: fit.progress for fit in self.fits}
        steps = [session.taken for session in self.sessions]
        rows = self._chance.randint(1, 8)
        end = time.monotonic() + STUCK_SECONDS

        def is_further(fit: RunningFit) -> bool:
            ended, before = fits[fit.kind]
            return fit.ended > ended or len(fit.rows) >= before + rows

        while True:
            self._read_all()
            further = sum(map(is_further, self.fits))
            stepped = sum(session.taken > before for session, before in zip(self.sessions, steps, strict=True))
            if further >= least and stepped >= min(least, SESSIONS):
                return
            assert time.monotonic() < end, f"no progress: {self._state()}: {self._reasons()}"
            time.sleep(0.1)

    def _read_all(self, *, again: bool = True) -> bool:
        """Read all rows; judge what has ended, and begin it `again`. Returns whether nothing runs any more."""
        self._parts.repair()
        for session in self.sessions:
            if session.error is not None:
                raise session.error
        for fit in self.fits:
            if fit.id and fit.read_on()["terminal"]:
                fit.check(self._expected[fit.kind])
                fit.id = ""
                if again:
                    fit.submit()
        return not any(fit.id for fit in self.fits)

    def _let_end(self) -> None:
        end = time.monotonic() + STUCK_SECONDS
        while not self._read_all(again=False):
            assert time.monotonic() < end, f"a fit does not end: {self._state()}: {self._reasons()}"
            time.sleep(0.1)

    def _reasons(self) -> list[Any]:
        found = [read(self.client, f"/v1/fits/{fit.id}") for fit in self.fits if fit.id]
        return [[fit["id"], fit["state"], fit["phase"], fit["attempt"], fit["step"]] for fit in found]


def test_fits_and_sessions_have_the_same_bits_whatever_part_of_the_cluster_is_killed(
    counts: Counts, chance: random.Random, tmp_path: Path
) -> None:
    if not counts.full:
        pytest.skip("this takes minutes: make chaos CLUSTER=1 runs it")
    with serving(tmp_path / "local") as server:
        reference = undisturbed(Alone(server))
    is_shared = chance.random() < 0.5
    print(f"the servers have {'one data directory' if is_shared else 'data directories of their own'}")  # noqa: T201 (-s shows it)
    with ExitStack() as stack:
        parts = Parts(tmp_path, stack, is_shared=is_shared)
        storm = Storm(parts, reference, chance, stack)
        try:
            storm.run(KILLS)
        finally:
            for number, log in enumerate(parts.logs):
                (tmp_path / f"log-{number}").write_text("".join(log))
            print(f"{sum(storm.done.values())} kills: {dict(storm.done)}")  # noqa: T201 (-s shows it)
            print(f"attempts {[(fit.kind, fit.attempts, Counter(fit.outcomes)) for fit in storm.fits]}")  # noqa: T201 (-s shows it)
        listed = read(storm.client, "/v1/fits", limit=1000)["data"]
        assert len(listed) == sum(fit.number for fit in storm.fits), "a fit was lost, or made twice"
        assert all(fit["terminal"] for fit in listed)
    assert not [line for log in parts.logs for line in log if "Traceback" in line]


class Alone:
    """Asks one server to which nothing happens."""

    def __init__(self, server: Any) -> None:
        self._http = server.http

    def ask(self, method: str, path: str, **arguments: Any) -> Any:
        """Return the answer."""
        return self._http.request(method, path, **arguments)
