"""A server as a process of its own, for as long as it is needed."""

import os
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

READY = "Adjoint listening on "
_IMPORT_ROOT = Path(__file__).resolve().parents[3]
_START_SECONDS = 30.0
_STOP_SECONDS = 15.0


class ServerDidNotStart(RuntimeError):  # noqa: N818 (named as what happened)
    """The server ended, or fell silent, before it was ready; the message holds what it said."""


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
        raise ServerDidNotStart(log.read_text("utf-8", "replace").strip() or "the server said nothing")
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
