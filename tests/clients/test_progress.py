import io
import itertools
import math
import sys
import types

import pytest

from adjoint_client.events import Event
from adjoint_client.progress import Progress, ProgressTracker, TextProgress, bar_line, describe


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


def compiling(id, count, total):
    return Event(id, "log", {"level": "info", "code": "compiling", "text": "", "count": count, "total": total})


def test_kernels_that_are_compiled_are_shown_in_place_of_the_time_left():
    tracker = ProgressTracker("running", 0, 10, clock=lambda: 0.0)
    progress = tracker.take(compiling(1, 3, 12))
    assert describe(progress) == "running 0/10  epoch 0  compiling 3/12"
    assert bar_line(progress, 60) == "[--------------------] 0/10  compiling 3/12  running"
    assert tracker.take(Event(2, "log", {"code": "unique_column"})).compiling == (3, 12)
    for event in (compiling(3, 12, 12), metric(3, 1), Event(3, "state", {"state": "interrupted"})):
        tracker.take(compiling(2, 3, 12))
        assert tracker.take(event).compiling is None
    assert tracker.take(Event(4, "log", {"code": "compiling"})).compiling is None, "as an older server has it"


def test_text_progress_off_a_terminal_writes_few_lines_and_always_the_last():
    stream = io.StringIO()
    show = TextProgress(stream, clock=lambda: 0.0)
    tracker = ProgressTracker("running", 0, 10, clock=lambda: 0.0)
    for step in range(1, 11):
        show(tracker.take(metric(step, step, loss=1 / step)))
    show(tracker.take(Event(11, "state", {"state": "succeeded"})))
    assert stream.getvalue() == "running 1/10  epoch 1  loss 1\nsucceeded 10/10  epoch 2  loss 0.1\n"


VALUES = {
    "loss": 0.31234,
    "val_loss": 0.3456,
    "accuracy": 0.91234,
    "val_accuracy": 0.9012,
    "val_top_k_accuracy": 0.991,
    "lr": 0.1,
}


def shown(**changes):
    found = {"state": "running", "step": 123456, "total_steps": 1000000, "epoch": 3, "values": VALUES, "rate": 2400.0}
    return Progress(**{**found, "seconds_left": 3723.0, **changes})


@pytest.mark.parametrize("width", [50, 60, 80, 120, 200])
def test_a_bar_fits_its_line_and_always_has_step_loss_and_time(width):
    line = bar_line(shown(), width, label="fit_01kap0t5v0000000000000000z")
    assert len(line) <= width
    assert "] 123456/1000000  loss 0.3123" in line
    assert "ETA 1:02:03" in line
    assert ("val_accuracy 0.9012" in line) == (width == 200)


def test_names_are_shortened_before_values_are_left_out():
    line = bar_line(shown(step=12, total_steps=100, values=dict(list(VALUES.items())[:4]), seconds_left=8.0), 80)
    assert line == "[#---------] 12/100  loss 0.3123  ETA 0:08  val_los 0.3456  acc 0.9123  running"
    ended = bar_line(shown(state="succeeded", step=10, total_steps=10, values={"loss": 1.0}))
    assert ended.startswith("[####################] 10/10  loss 1  succeeded")
    assert "ETA --:--" in bar_line(shown(seconds_left=None))


def test_a_notebook_shows_the_bar_in_its_cell(monkeypatch):
    updates = []
    display = types.SimpleNamespace(
        HTML=str, display=lambda html, display_id: types.SimpleNamespace(update=updates.append)
    )
    shell = type("ZMQInteractiveShell", (), {})()
    monkeypatch.setitem(sys.modules, "IPython", types.SimpleNamespace(get_ipython=lambda: shell))
    monkeypatch.setitem(sys.modules, "IPython.display", display)
    TextProgress()(shown())
    assert '<progress value="123456" max="1000000">' in updates[0]
    assert "loss 0.3123  ETA 1:02:03" in updates[0]
    TextProgress()(shown(compiling=(3, 12)))
    assert "loss 0.3123  compiling 3/12" in updates[1]
