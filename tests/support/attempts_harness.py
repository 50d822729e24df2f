"""Attempts over a data directory with one graph and one dataset, for tests to work in."""

import hashlib
import json
from pathlib import Path
from typing import Any

from app.domain.fit import FitRecord
from app.domain.messages import CheckpointWritten, GradientWritten, MetricRows
from app.domain.records import Column, DatasetRecord, GraphRecord
from app.service.attempts.attempts import Attempts
from app.service.attempts.progress import AttemptReport, Claim
from app.service.resources.blobs import BlobSweeper
from app.store.blobs.local import LocalBlobStore
from app.store.pages import PageRequest
from app.store.unit_of_work import Store
from tests.support.fits import fit_record
from tests.support.manual_clock import ManualClock
from tests.support.storage import storage_context

DEFINITION = {
    "inputs": {"x": ["batch", 2]},
    "parameters": {"w": {"shape": [2], "init": {"kind": "zeros"}}},
    "program": "loss = mean((x @ w - 1.0) ** 2)",
}


class AttemptsHarness:
    """Attempts over a data directory with one graph and one dataset."""

    def __init__(self, data_dir: Path, store: Store) -> None:
        self.store = store
        self.clock = ManualClock()
        self.blobs = LocalBlobStore(data_dir)
        self.staging = data_dir / "staging"
        self.notified: list[str] = []
        sweeper = BlobSweeper(store, self.blobs)
        storage = storage_context(store, self.blobs, self.staging, sweeper=sweeper, clock=self.clock)
        self.attempts = Attempts(storage, self.staging, self.notified.append)
        self.attempts.recover()
        self.column = self.blobs.put(b"column x").digest
        now = self.clock.now()
        columns = (Column("x", "float32", (2,), self.column, None, None, None, 0),)
        with store.begin() as work:
            work.graphs.add(GraphRecord("graph_1", "g", "0" * 64, DEFINITION, {}, now))
            work.datasets.add(DatasetRecord("ds_1", "rows", "0" * 64, 1, 4, columns, "npy", now))

    def submit(self, fit_id: str = "fit_1", **request: Any) -> None:
        request = {"graph": "graph_1", "dataset": "ds_1", "labels": {"a": "b"}, "steps": 100, **request}
        fit = fit_record(
            fit_id,
            dataset_id=request["dataset"],
            request=request,
            total_steps=100,
            attempts_max=3,
            created_at=self.clock.now(),
        )
        with self.store.begin() as work:
            work.fits.add(fit)

    def begin(self, **request: Any) -> Claim:
        """Submit a fit and bring it to running."""
        self.submit(**request)
        return self.go_on()

    def go_on(self) -> Claim:
        claim = self.attempts.claim()
        assert claim is not None
        self.attempts.assignment(claim)
        self.attempts.record(claim, AttemptReport(pid=42))
        return claim

    def written(self, claim: Claim, step: int, *, is_best: bool = False, content: bytes = b"") -> CheckpointWritten:
        content = content or f"checkpoint {step}".encode()
        path = self.staging / claim.token / f"step-{step}.safetensors"
        path.write_bytes(content)
        digest = hashlib.sha256(content).hexdigest()
        return CheckpointWritten(str(path), step, 1, step, {"loss": 0.5}, digest, len(content), is_best)

    def captured(self, claim: Claim, step: int, content: bytes = b"numbers") -> GradientWritten:
        path = self.staging / claim.token / f"gradient-{step}.npy"
        path.write_bytes(content)
        digest = hashlib.sha256(content).hexdigest()
        return GradientWritten(str(path), step, "w", "float32", [2], digest, len(content))

    def gradients(self) -> dict[int, bytes]:
        with self.store.begin() as work:
            found = work.gradients.list("fit_1", PageRequest(1000)).items
        return {gradient.step: self.blobs.local_path(gradient.digest).read_bytes() for gradient in found}

    def fit(self, fit_id: str = "fit_1") -> FitRecord:
        with self.store.begin() as work:
            return work.fits.get(fit_id)

    def kept(self) -> list[int]:
        with self.store.begin() as work:
            checkpoints = work.checkpoints.kept("fit_1")
        for checkpoint in checkpoints:
            assert self.blobs.size(checkpoint.digest) == checkpoint.size_bytes
        return sorted(checkpoint.step for checkpoint in checkpoints)

    def events(self, kind: str) -> list[dict[str, Any]]:
        with self.store.begin() as work:
            return [json.loads(event.body) for event in work.events.after("fit_1", 0, 1000) if event.kind == kind]


def rows(*seqs: int, **latest: float) -> MetricRows:
    bodies = [json.dumps({"seq": seq, "step": seq}) for seq in seqs]
    return MetricRows(bodies, seqs[-1], 1, latest or {"loss": 0.5}, None)
