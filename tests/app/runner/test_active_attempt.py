import pytest

from app.domain.messages import (
    CheckpointWritten,
    Died,
    Expired,
    Failed,
    Finished,
    Heartbeat,
    Log,
    Message,
    MetricRows,
    NumericsChanged,
    Phase,
    Started,
    Verdict,
)
from app.runner.active_attempt import IMMEDIATELY, ReportBuffer

WRITTEN = CheckpointWritten("a", 1, 1, 1, {}, "ab" * 32, 10, is_best=False)


def points(*seqs: int) -> MetricRows:
    return MetricRows([f'{{"seq":{seq}}}' for seq in seqs], seqs[-1], 1, {"loss": seqs[-1]}, None)


@pytest.mark.parametrize(
    "message", [Started(1), points(1), NumericsChanged({}, {}), Finished("succeeded"), Failed("code", "detail")]
)
def test_the_first_row_and_what_changes_the_state_does_not_wait(message: Message) -> None:
    inbox = ReportBuffer(0.1)
    inbox.add(message, now=5.0)
    assert inbox.flush_at == IMMEDIATELY


@pytest.mark.parametrize("message", [Phase("training"), Log("info", "text"), WRITTEN])
def test_other_news_waits_as_long_as_is_set(message: Message) -> None:
    inbox = ReportBuffer(0.1)
    inbox.add(message, now=5.0)
    inbox.add(message, now=5.05)
    assert inbox.flush_at == 5.1


def test_only_the_first_row_is_in_a_hurry() -> None:
    inbox = ReportBuffer(0.1)
    inbox.add(points(1), now=5.0)
    inbox.take()
    assert inbox.flush_at is None
    inbox.add(points(2), now=6.0)
    assert inbox.flush_at == 6.1


def test_rows_are_put_together_and_the_last_standing_counts() -> None:
    inbox = ReportBuffer(0.1)
    for message in (points(1, 2), WRITTEN, points(3)):
        inbox.add(message, now=5.0)
    news = inbox.take()
    assert news.metric_rows == points(1, 2, 3)
    assert news.written == [WRITTEN]
    assert inbox.take().metric_rows is None


def test_a_verdict_outlasts_the_end_of_the_process() -> None:
    inbox = ReportBuffer(0.1)
    inbox.add(Finished("succeeded"), now=5.0)
    inbox.end(Died("error", "gone"))
    assert inbox.take().verdict == Finished("succeeded")


def test_a_process_that_ends_without_a_verdict_has_died() -> None:
    inbox = ReportBuffer(0.1)
    inbox.end(Died("killed", "gone"))
    assert inbox.flush_at == IMMEDIATELY
    assert inbox.take().verdict == Died("killed", "gone")


def test_a_sign_of_life_is_nothing_to_write_down() -> None:
    inbox = ReportBuffer(0.1)
    inbox.add(Heartbeat(), now=5.0)
    assert inbox.flush_at is None


LATE = Expired("timeout", "too late")


@pytest.mark.parametrize(
    ("said", "outcome"),
    [
        (Finished("drained"), LATE),
        (None, LATE),
        (Finished("cancelled"), Finished("cancelled")),
        (Finished("succeeded"), Finished("succeeded")),
        (Failed("numerics_nonfinite", "nan"), Failed("numerics_nonfinite", "nan")),
    ],
)
def test_a_process_that_is_stopped_at_a_limit_ends_by_that_unless_it_is_done_before(
    said: Finished | Failed | None, outcome: Verdict
) -> None:
    inbox = ReportBuffer(0.1)
    inbox.expire(LATE)
    if said is not None:
        inbox.add(said, now=5.0)
    inbox.end(Died("killed", "gone"))
    assert inbox.take().verdict == outcome
