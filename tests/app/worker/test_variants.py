"""The process side of a sweep: variants as fits of their own, halved, cancelled, and resumed to the bit."""

import json
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import pytest

import engine
from app.domain.messages import (
    About,
    Assignment,
    CheckpointWritten,
    Failed,
    Finished,
    Message,
    MetricRows,
    Phase,
    Reached,
    SweepShare,
    VariantShare,
)
from app.worker.fit_loop import run_fit
from app.worker.reporter import Reporter
from app.worker.sweep import run_sweep

Assign = Callable[..., Assignment]
RATES = (0.1, 0.05, 0.01, 0.2)


@dataclass
class StopFlag:
    """Stands in for the control of a sweep: nothing is wanted but what the test says."""

    stop_requested: Any = None
    cancelled: set[str] = field(default_factory=set)
    after: int | None = None
    looks: int = 0

    def is_cancelled(self, fit_id: str) -> bool:
        return fit_id in self.cancelled

    def for_variant(self, fit_id: str) -> "OfVariant":
        return OfVariant(self, fit_id)


@dataclass
class OfVariant:
    stop_request: StopFlag
    fit_id: str

    @property
    def stop_requested(self) -> Any:
        self.stop_request.looks += 1
        if self.stop_request.after is not None and self.stop_request.looks > self.stop_request.after:
            self.stop_request.stop_requested = "drain"
        return "cancel" if self.stop_request.is_cancelled(self.fit_id) else self.stop_request.stop_requested


@pytest.fixture
def sweep(assign: Assign) -> Callable[..., Assignment]:
    """Build a sweep over four learning rates: fit_1 to fit_4."""

    def build(rungs: tuple[int, ...] = (), threads: int = 1, **known: VariantShare) -> Assignment:
        base = assign()
        variants = [
            VariantShare(f"fit_{n}", {**base.request, "optimizer": {"kind": "sgd", "lr": rate}}, None, [], ended=False)
            for n, rate in enumerate(RATES, 1)
        ]
        variants = [known.get(variant.fit_id, variant) for variant in variants]
        share = SweepShare("loss", "min", 2, list(rungs), threads, variants)
        return replace(base, fit_id="fit_0", sweep=share.to_json())

    return build


def about(messages: list[Message], fit_id: str, kind: type) -> list[Any]:
    """Return what was reported of a variant, of one kind."""
    reported = [message.message for message in messages if isinstance(message, About) and message.fit_id == fit_id]
    return [message for message in reported if isinstance(message, kind)]


def rows(messages: list[Message], fit_id: str) -> list[str]:
    return [row for points in about(messages, fit_id, MetricRows) for row in points.rows]


@pytest.mark.parametrize("threads", [1, 3])
def test_every_variant_makes_the_rows_that_it_would_make_alone(
    sweep: Any, assign: Assign, channel: Any, server: Any, threads: int
) -> None:
    assignment = sweep(threads=threads)
    assert run_sweep(assignment, Reporter(channel), StopFlag()) == Finished("succeeded")
    heard = server.heard()
    assert isinstance(heard[0], Phase)
    assert heard[0].runtime is not None
    assert heard[0].runtime["threads"] == threads
    for number, rate in enumerate(RATES, 1):
        alone = assign(optimizer={"kind": "sgd", "lr": rate})
        run_fit(alone, Reporter(channel), StopFlag().for_variant("alone"), engine.Alone())
        expected = [row for message in server.heard() if isinstance(message, MetricRows) for row in message.rows]
        assert rows(heard, f"fit_{number}") == expected
        assert about(heard, f"fit_{number}", Finished) == [Finished("succeeded")]


def test_halving_shows_what_was_reached_and_who_is_left_behind(sweep: Any, channel: Any, server: Any) -> None:
    assert run_sweep(sweep((2, 4)), Reporter(channel), StopFlag()) == Finished("succeeded")
    heard = server.heard()
    lengths = [len(rows(heard, f"fit_{number}")) for number in (1, 2, 3, 4)]
    assert lengths == [4, 2, 2, 6]
    assert [[reached.step for reached in about(heard, f"fit_{n}", Reached)] for n in (1, 2, 3, 4)] == [
        [2, 4], [2], [2], [2, 4],
    ]  # fmt: skip
    (left,) = about(heard, "fit_3", Finished)
    assert left == Finished("succeeded", "left behind at step 2: rank 4 of 4")


def test_a_sweep_goes_on_from_what_was_written_down(sweep: Any, channel: Any, server: Any) -> None:
    run_sweep(sweep((2, 4)), Reporter(channel), StopFlag())
    whole = server.heard()
    assert run_sweep(sweep((2, 4)), Reporter(channel), StopFlag(after=5)) == Finished("drained")
    before = server.heard()
    known = {}
    for number in (1, 2, 3, 4):
        fit_id = f"fit_{number}"
        written = about(before, fit_id, CheckpointWritten)
        known[fit_id] = VariantShare(
            fit_id,
            {**sweep().request, "optimizer": {"kind": "sgd", "lr": RATES[number - 1]}},
            written[-1].path if written else None,
            [reached.value for reached in about(before, fit_id, Reached)],
            ended=any(end.outcome == "succeeded" for end in about(before, fit_id, Finished)),
        )
    assert run_sweep(sweep((2, 4), **known), Reporter(channel), StopFlag()) == Finished("succeeded")
    after = server.heard()
    for fit_id in known:
        seqs = {json.loads(row)["seq"]: row for row in [*rows(before, fit_id), *rows(after, fit_id)]}
        assert [seqs[seq] for seq in sorted(seqs)] == rows(whole, fit_id)


def test_a_variant_that_is_cancelled_stops_alone(sweep: Any, channel: Any, server: Any) -> None:
    assert run_sweep(sweep(), Reporter(channel), StopFlag(cancelled={"fit_2"})) == Finished("succeeded")
    heard = server.heard()
    assert about(heard, "fit_2", Finished) == [Finished("cancelled")]
    assert rows(heard, "fit_2") == []
    assert about(heard, "fit_3", Finished) == [Finished("succeeded")]


def test_a_variant_that_cannot_go_on_fails_alone(sweep: Any, channel: Any, server: Any) -> None:
    lost = VariantShare("fit_2", sweep().request, "nowhere.safetensors", [], ended=False)
    assert run_sweep(sweep(fit_2=lost), Reporter(channel), StopFlag()) == Finished("succeeded")
    heard = server.heard()
    assert len(about(heard, "fit_2", Failed)) == 1
    assert about(heard, "fit_2", Finished) == []
    assert about(heard, "fit_4", Finished) == [Finished("succeeded")]


def test_a_sweep_that_cannot_begin_says_why(sweep: Any, channel: Any) -> None:
    assignment = sweep()
    broken = replace(assignment, runtime={**assignment.runtime, "executor": "abacus"})
    verdict = run_sweep(broken, Reporter(channel), StopFlag())
    assert isinstance(verdict, Failed)
    assert "abacus" in verdict.detail
