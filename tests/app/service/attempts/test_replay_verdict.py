import json
from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import engine
from app.domain.fit import FitRecord
from app.domain.messages import MetricRows
from app.domain.records import CheckpointRecord
from app.domain.runtime import Comparison, Replay
from app.service.attempts.progress import AttemptReport
from app.service.attempts.replay_verdict import compare_replay
from app.service.fits.bundles import digest_outcome, digest_state
from app.service.fits.fits import Fits
from app.service.resources.blobs import Integrity
from app.store.blobs.local import LocalBlobStore
from app.store.unit_of_work import Store
from tests.app.service.conftest import MOMENT

STEPS = 6


def row(seq: int, loss: float = 0.5) -> str:
    return json.dumps({"seq": seq, "step": seq, "values": {"loss": loss}})


ROWS = [row(seq) for seq in range(1, STEPS + 1)]


class ReplayHarness:
    """A fit that has been run, and a replay of it whose last news have come."""

    def __init__(self, store: Store, blobs: LocalBlobStore, fits: Fits, request: dict[str, Any], folder: Path) -> None:
        self.store, self.blobs, self._folder = store, blobs, folder
        self.integrity = Integrity(store, blobs)
        self.original, self.replay = (fits.submit(request, lambda _work, _fit: None).fit.id for _ in range(2))

    def add_rows(self, fit_id: str, rows: Sequence[str]) -> None:
        with self.store.begin() as work:
            work.events.append_metrics(fit_id, [*enumerate(rows, 1)])

    def checkpoint(self, value: float) -> CheckpointRecord:
        path = self._folder / "file"
        array = np.full(3, value, np.float32)
        engine.Checkpoint({"w": array}, optimizer={"momentum": array}).save(path)
        blob = self.blobs.adopt(path)
        return CheckpointRecord(
            "ckpt_1", self.replay, "graph_1", STEPS, 1, blob.digest, blob.size, {}, MOMENT, is_best=False, deleted=False
        )

    def fit(self, expected: dict[str, Any]) -> FitRecord:
        with self.store.begin() as work:
            fit = work.fits.get(self.replay)
        return replace(fit, replay=asdict(Replay(self.original, expected, [])))

    def verdict(self, stored: Sequence[str], came: Sequence[str], checkpoints: list[CheckpointRecord]) -> Comparison:
        """Compare with a fit of `ROWS` and a checkpoint of ones."""
        expected = digest_outcome(STEPS, ROWS, digest_state(self.integrity, self.checkpoint(1)))
        self.add_rows(self.original, ROWS)
        self.add_rows(self.replay, stored)
        news = AttemptReport(metric_rows=MetricRows([*came], STEPS, 1, {}, None), checkpoints=checkpoints)
        return compare_replay(self.store, self.integrity, self.fit(expected), news)


@pytest.fixture
def harness(store: Store, blobs: LocalBlobStore, fits: Fits, request_: dict[str, Any], tmp_path: Path) -> ReplayHarness:
    return ReplayHarness(store, blobs, fits, request_, tmp_path)


@pytest.mark.parametrize("split", [0, 4, STEPS])
def test_rows_count_wherever_they_are(harness: ReplayHarness, split: int) -> None:
    # Rows that a resumed process makes again come a second time.
    again = ROWS[max(0, split - 2) :]
    assert harness.verdict(ROWS[:split], again, [harness.checkpoint(1)]) == Comparison(bit_exact=True)


def test_the_first_row_that_differs_is_named(harness: ReplayHarness) -> None:
    other = [*ROWS[:3], row(4, loss=0.25), *ROWS[4:]]
    found = harness.verdict(other[:2], other[2:], [harness.checkpoint(1)])
    assert found == Comparison(bit_exact=False, differences=["metrics"], first_row=4)


def test_a_row_too_many_is_the_first_that_differs(harness: ReplayHarness) -> None:
    found = harness.verdict(ROWS, [row(STEPS + 1)], [harness.checkpoint(1)])
    assert found == Comparison(bit_exact=False, differences=["metrics"], first_row=STEPS + 1)


def test_other_numbers_in_the_last_checkpoint_are_named(harness: ReplayHarness) -> None:
    found = harness.verdict(ROWS, [], [harness.checkpoint(2)])
    assert found == Comparison(bit_exact=False, differences=["parameters", "optimizer"])


@pytest.mark.parametrize("kept", [True, False])
def test_a_last_checkpoint_that_is_damaged_or_missing_equals_nothing(harness: ReplayHarness, kept: bool) -> None:
    last = harness.checkpoint(1)
    path = harness.blobs.local_path(last.digest)
    expected = digest_outcome(STEPS, ROWS, digest_state(harness.integrity, last))
    harness.add_rows(harness.replay, ROWS)
    path.chmod(0o600)
    path.write_bytes(path.read_bytes()[:-1] + b"\0")
    news = AttemptReport(metric_rows=MetricRows([], STEPS, 1, {}, None), checkpoints=[last] if kept else [])
    found = compare_replay(harness.store, harness.integrity, harness.fit(expected), news)
    assert found == Comparison(bit_exact=False, differences=["parameters", "buffers", "optimizer"])
