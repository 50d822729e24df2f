import io

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


def test_on_a_terminal_the_progress_is_a_bar_with_loss_rate_and_time():
    stream = io.StringIO()
    console = Console(file=stream, width=120, force_terminal=True, legacy_windows=False)
    with shown(console, "iris") as show:
        show(progress("running", 50))
        show(progress("succeeded", 100))
    text = stream.getvalue()
    assert "100/100" in text
    assert "loss 0.5" in text
    assert "25 steps/s" in text
    assert "lr" not in text
