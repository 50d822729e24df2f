import io
import itertools
import math

from adjoint_client.events import Event
from adjoint_client.progress import ProgressTracker, TextProgress


def metric(id, step, split="train", **values):
    return Event(id, "metric", {"step": step, "epoch": 1 + step // 10, "split": split, "values": values})


def test_the_rate_counts_only_what_happened_while_watching():
    now = itertools.count(0.0, 1.0)
    tracker = ProgressTracker("running", 50, 100, clock=lambda: next(now))
    replayed = tracker.take(metric(1, 10, loss=2.0))
    assert (replayed.step, replayed.rate, replayed.seconds_left) == (50, 0.0, None)
    progress = tracker.take(metric(2, 60, loss=1.0))
    assert (progress.step, progress.rate, progress.seconds_left) == (60, 5.0, 8.0)


def test_values_of_both_splits_are_kept_and_those_of_single_parameters_are_not():
    tracker = ProgressTracker("running", 0, 10)
    tracker.take(metric(1, 1, loss=2.0, **{"grad_norm/w": 1.0}))
    progress = tracker.take(metric(2, 1, "validation", loss=None))
    assert progress.values["loss"] == 2.0
    assert math.isnan(progress.values["val_loss"])
    assert "grad_norm/w" not in progress.values


def test_a_state_event_changes_the_state():
    progress = ProgressTracker("queued", 0, 10).take(Event(1, "state", {"state": "succeeded"}))
    assert progress.terminal


def test_text_progress_off_a_terminal_writes_few_lines_and_always_the_last():
    stream = io.StringIO()
    show = TextProgress(stream, clock=lambda: 0.0)
    tracker = ProgressTracker("running", 0, 10, clock=lambda: 0.0)
    for step in range(1, 11):
        show(tracker.take(metric(step, step, loss=1 / step)))
    show(tracker.take(Event(11, "state", {"state": "succeeded"})))
    assert stream.getvalue() == "running 1/10  epoch 1  loss 1\nsucceeded 10/10  epoch 2  loss 0.1\n"
