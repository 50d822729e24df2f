"""A fit that stops and goes on, at any step, comes to what it would have come to."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import engine
from app.domain.messages import Assignment, CheckpointWritten, Finished, Message, MetricRows
from app.worker.fit_loop import run_fit
from app.worker.reporter import Reporter
from tests.app.demanding_fits import DEMANDING, Demanding
from tests.app.runner.conftest import some_rows

from .test_fit_loop import ALONE, StopFlag

STEPS = 40
STOPS = (1, 12, 13, 17, 24, 26, 27, 28, 30, 39)
RECIPE = {"batch_size": 16, "seed": 7, "checkpoint": {"every_epochs": None, "keep_best": False}}


@pytest.fixture
def demand(assign: Callable[..., Assignment], tmp_path: Path) -> Callable[[Demanding, str | None], Assignment]:
    rows = some_rows(seed=1, rows=200)
    for name, array in rows.items():
        np.save(tmp_path / f"{name}.npy", array)

    def build(demanding: Demanding, resume_from: str | None) -> Assignment:
        return replace(
            assign(),
            definition=engine.parse_graph(demanding.graph).to_json(),
            request={"steps": STEPS, **RECIPE, **demanding.recipe},
            columns={name: [str(tmp_path / f"{name}.npy")] for name in demanding.graph["inputs"]},
            resume_from=resume_from,
        )

    return build


def rows_of(messages: list[Message]) -> list[str]:
    return [row for message in messages if isinstance(message, MetricRows) for row in message.rows]


def last_of(messages: list[Message]) -> Path:
    return Path([message.path for message in messages if isinstance(message, CheckpointWritten)][-1])


@pytest.mark.parametrize("name", DEMANDING)
def test_a_fit_that_stops_anywhere_goes_on_to_the_same_bits(demand: Any, channel: Any, server: Any, name: str) -> None:
    demanding = DEMANDING[name]
    ended = run_fit(demand(demanding, None), Reporter(channel), StopFlag(), ALONE)
    assert isinstance(ended, Finished)
    assert ended.outcome == "succeeded"
    whole = server.heard()
    expected = last_of(whole).read_bytes()
    for stop in STOPS:
        verdict = run_fit(demand(demanding, None), Reporter(channel), StopFlag("drain", after=stop), ALONE)
        assert verdict == Finished("drained"), stop
        begun = server.heard()
        assert run_fit(demand(demanding, str(last_of(begun))), Reporter(channel), StopFlag(), ALONE) == ended
        gone_on = server.heard()
        assert rows_of(begun) + rows_of(gone_on) == rows_of(whole), stop
        assert last_of(gone_on).read_bytes() == expected, stop
