"""Runs the demo: starts a server, takes the steps, stops it."""

import os
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import FrameType

from rich.console import Console

from adjoint_client import AdjointError, Client
from app.cli.demo.examples import EXAMPLES
from app.cli.demo.steps import NEXT_STEPS, run_example, show_derivative

READY = "Adjoint listening on "
_IMPORT_ROOT = Path(__file__).resolve().parents[3]
_START_SECONDS = 30.0
_STOP_SECONDS = 15.0


class ServerDidNotStart(RuntimeError):  # noqa: N818 (named as what happened)
    """The server ended, or fell silent, before it was ready; the message holds its output."""


@contextmanager
def running_server(data_dir: Path, settings: Mapping[str, str] | None = None) -> Iterator[str]:
    """Run a server on a free port with its data in `data_dir`; yields its address, and stops it in the end.

    `settings` are environment variables; those of this process that set up a server are not passed on.
    """
    data_dir.mkdir(parents=True, exist_ok=True)
    log = data_dir / "server.log"
    environment = {name: value for name, value in os.environ.items() if not name.startswith("ADJOINT_")}
    with log.open("wb") as errors:
        process = subprocess.Popen(  # noqa: S603 (the command is fixed)
            [sys.executable, "-P", "-m", "app", "serve", "--port", "0", "--data-dir", str(data_dir)],
            env={**environment, "PYTHONPATH": str(_IMPORT_ROOT), **(settings or {})},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=errors,
            text=True,
            # Ctrl-C is for the caller, who then stops the server in order.
            start_new_session=True,
        )
    try:
        yield _address(process, log)
    finally:
        _stop(process)


def _address(process: "subprocess.Popen[str]", log: Path) -> str:
    assert process.stdout is not None, "it was asked for"
    overdue = threading.Timer(_START_SECONDS, process.kill)
    overdue.start()
    line = process.stdout.readline()
    overdue.cancel()
    if not line.startswith(READY):
        process.wait()
        raise ServerDidNotStart(log.read_text("utf-8", "replace").strip() or "the server printed nothing")
    return line.removeprefix(READY).strip()


def _stop(process: "subprocess.Popen[str]") -> None:
    process.terminate()
    try:
        process.wait(_STOP_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
    if process.stdout is not None:
        process.stdout.close()


_INTERRUPTED = 130


def run(console: Console, *, keep: bool = False) -> int:
    """Show it all and return the exit status: 0 if every model is as good as it should be.

    With `keep` the server runs on, with all that was trained, until Ctrl-C.
    """
    # A stop from outside unwinds like Ctrl-C: the server must not stay behind.
    previous = signal.signal(signal.SIGTERM, _interrupt)
    try:
        return _run_steps(console, keep)
    except KeyboardInterrupt:
        console.print("stopped")
        return _INTERRUPTED
    except (ServerDidNotStart, AdjointError) as error:
        console.print(f"the demo failed: {error}", markup=False)
        return 1
    finally:
        signal.signal(signal.SIGTERM, previous)


def _run_steps(console: Console, keep: bool) -> int:
    with tempfile.TemporaryDirectory(prefix="adjoint-demo-") as name:
        folder = Path(name)
        with running_server(folder / "data") as url, Client(url) as client:
            console.print(f"a server of its own is listening on {url}")
            show_derivative(console, client)
            good = [run_example(console, client, item, folder) for item in EXAMPLES]
            if keep:
                console.print(f"the fits are at {url} in a browser; Ctrl-C stops the server", soft_wrap=True)
                signal.pause()
    console.rule("try next", align="left")
    console.print(NEXT_STEPS, markup=False, highlight=False, soft_wrap=True)
    return 0 if all(good) else 1


def _interrupt(_signal: int, _frame: FrameType | None) -> None:
    raise KeyboardInterrupt
