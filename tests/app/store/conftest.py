from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest

from app.domain.fit import FitRecord
from app.domain.records import CheckpointRecord, Column, DatasetRecord, GraphRecord
from app.domain.session import SessionRecord, SessionState
from tests.support.fits import fit_record
from tests.support.manual_clock import ManualClock

MOMENT = datetime(2026, 2, 3, 4, 5, 6, 789_012, UTC)


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock(MOMENT)


@pytest.fixture
def a_fit() -> Callable[..., FitRecord]:
    """Build a fit that waits in the queue, with other fields on request."""
    example = fit_record(
        "fit_1",
        phase="waiting",
        request={"dataset": "ds_1", "epochs": 2, "seed": 2**70, "optimizer": {"lr": 0.1}},
        labels={"team": "a"},
        created_at=MOMENT,
    )

    def build(fit_id: str = "fit_1", **changes: Any) -> FitRecord:
        return replace(example, id=fit_id, **changes)

    return build


@pytest.fixture
def a_graph() -> Callable[..., GraphRecord]:
    """Build a graph."""
    example = GraphRecord(
        id="graph_1",
        name="digits \u2713",
        digest="d" * 64,
        definition={"nodes": [{"name": "h", "op": "matmul", "inputs": ["x", 0]}], "constants": {"c": 1e-300}},
        report={"parameters": 10, "findings": []},
        created_at=MOMENT,
    )

    def build(graph_id: str = "graph_1", **changes: Any) -> GraphRecord:
        return replace(example, id=graph_id, **changes)

    return build


@pytest.fixture
def a_dataset() -> Callable[..., DatasetRecord]:
    """Build a dataset of two columns."""
    example = DatasetRecord(
        id="ds_1",
        name="iris",
        digest="a" * 64,
        size_bytes=5000,
        rows=150,
        columns=(
            Column("x", "float32", (4,), "b" * 64, minimum=0.1, maximum=7.9, mean=3.46, missing=0),
            Column("y", "int64", (), "c" * 64, 0, 2, 1.0, missing=0, classes=("setosa", "versicolor", "virginica")),
        ),
        format="csv",
        created_at=MOMENT,
    )

    def build(dataset_id: str = "ds_1", **changes: Any) -> DatasetRecord:
        return replace(example, id=dataset_id, **changes)

    return build


@pytest.fixture
def a_checkpoint() -> Callable[..., CheckpointRecord]:
    """Build a checkpoint of fit_1."""
    example = CheckpointRecord(
        id="ckpt_1",
        fit_id="fit_1",
        graph_id="graph_1",
        step=3,
        epoch=1,
        digest="e" * 64,
        size_bytes=1000,
        metrics={"loss": 0.25},
        created_at=MOMENT,
        is_best=False,
        deleted=False,
    )

    def build(checkpoint_id: str = "ckpt_1", **changes: Any) -> CheckpointRecord:
        return replace(example, id=checkpoint_id, **changes)

    return build


@pytest.fixture
def a_session() -> Callable[..., SessionRecord]:
    """Build an open session of graph_1."""
    example = SessionRecord(
        id="sess_1",
        kind="training",
        state=SessionState.ACTIVE,
        graph_id="graph_1",
        request={"optimizer": {"kind": "adam", "lr": 1e-300}, "seed": 2**62},
        labels={"team": "a"},
        attempt=0,
        ttl_seconds=60.0,
        created_at=MOMENT,
        used_at=MOMENT,
    )

    def build(session_id: str = "sess_1", **changes: Any) -> SessionRecord:
        return replace(example, id=session_id, **changes)

    return build
