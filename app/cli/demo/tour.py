"""The demo: a server of its own, two fits on real data through HTTP, and everything that comes of them."""

import signal
import tempfile
from pathlib import Path
from types import FrameType

from rich.console import Console

from adjoint_client import AdjointError, Client
from app.cli.demo.lessons import LESSONS
from app.cli.demo.next_steps import NEXT_STEPS
from app.cli.demo.scenes import derivative, lesson
from app.cli.demo.server import ServerDidNotStart, running_server

_INTERRUPTED = 130


def run(console: Console) -> int:
    """Show it all and return the exit status: 0 if every model is as good as it should be."""
    # A stop from outside unwinds like Ctrl-C: the server must not stay behind.
    previous = signal.signal(signal.SIGTERM, _interrupt)
    try:
        return _tour(console)
    except KeyboardInterrupt:
        console.print("stopped")
        return _INTERRUPTED
    except (ServerDidNotStart, AdjointError) as error:
        console.print(f"the demo failed: {error}", markup=False)
        return 1
    finally:
        signal.signal(signal.SIGTERM, previous)


def _tour(console: Console) -> int:
    with tempfile.TemporaryDirectory(prefix="adjoint-demo-") as name:
        folder = Path(name)
        with running_server(folder / "data") as url, Client(url) as client:
            console.print(f"a server of its own is listening on {url}")
            derivative(console, client)
            good = [lesson(console, client, item, folder) for item in LESSONS]
    console.rule("try next", align="left")
    console.print(NEXT_STEPS, markup=False, highlight=False, soft_wrap=True)
    return 0 if all(good) else 1


def _interrupt(_signal: int, _frame: FrameType | None) -> None:
    raise KeyboardInterrupt
