import io
import re

import pytest
from rich.console import Console

from adjoint_client import Progress
from app.cli.terminal.progress import shown


def progress(state, step):
    return Progress(state, step, 100, 1, {"loss": 0.5, "lr": 0.1, "grad_norm": 2.0}, 25.0, 3.0)


def test_off_a_terminal_the_progress_is_plain_lines():
    stream = io.StringIO()
    with shown(Console(file=stream, width=40), "iris") as show:
        for step in range(10, 100):
            show(progress("running", step))
        show(progress("succeeded", 100))
    first, last = stream.getvalue().splitlines()
    assert first == "iris running 10/100  epoch 1  loss 0.5  25 steps/s  3 s left"
    assert last == "iris succeeded 100/100  epoch 1  loss 0.5"


LABEL = "fit_01kap0t5v0000000000000000z"
NAMES = ("val_loss", "accuracy", "val_accuracy", "val_top_k_categorical_accuracy", "mean_absolute_percentage_error")


@pytest.mark.parametrize("width", [50, 80, 120])
def test_on_a_terminal_the_progress_is_one_line_with_bar_step_loss_and_time(width):
    stream = io.StringIO()
    console = Console(file=stream, width=width, force_terminal=True, legacy_windows=False)
    values = {"loss": 0.31234, **dict.fromkeys(NAMES, 0.91234), "lr": 0.1, "grad_norm": 2.0}
    with shown(console, LABEL) as show:
        show(Progress("running", 123456, 1000000, 3, values, 2400.0, 3723.0))
        console.print("printed above it, which writes the line once more")
        show(Progress("succeeded", 1000000, 1000000, 9, values, 2400.0, 0.0))
    lines = [line for line in re.split(r"\x1b\[[\d;?]*[A-Za-z]|[\r\n]+", stream.getvalue()) if line.startswith("[")]
    assert len(lines) >= 2
    assert all(len(line) <= width for line in lines)
    assert "] 123456/1000000  loss 0.3123  ETA 1:02:03" in lines[0]
    assert "] 1000000/1000000  loss 0.3123  succeeded" in lines[-1]
