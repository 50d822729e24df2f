"""Servers of tests, in processes of their own."""

import atexit
import os
import queue
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, TextIO

import httpx

from tests.support.fork_server import ForkedServer, ForkServer
from tests.support.fork_server import started as fork_server_started
from tests.support.orders import SHARED
from tests.support.patience import PATIENCE

ROOT = Path(__file__).parents[2]

# What a command line does: serve, and say where.
LAUNCH = """
import sys
from app.main.application import run
from app.config.settings import Settings
sys.exit(run(Settings(), lambda url: print(url, flush=True)))
"""
COMMAND = (sys.executable, "-c", LAUNCH)


@dataclass
class ServerProcess:
    """A server in a process of its own, and a client of it."""

    process: subprocess.Popen[str] | ForkedServer
    url: str
    data_dir: Path
    http: httpx.Client
    log: list[str] = field(default_factory=list)

    def tracebacks(self, since: int = 0) -> list[str]:
        """Return the lines of the log with a traceback, from a line on: other tests may have asked for some before."""
        return [line for line in self.log[since:] if "Traceback" in line]

    def stop(self, kind: int = signal.SIGTERM, patience: float = PATIENCE) -> int:
        """Send a signal and return the exit status."""
        self.process.send_signal(kind)
        return self.process.wait(patience)


StartServer = Callable[..., ServerProcess]


@contextmanager
def serving(
    data_dir: Path,
    headers: dict[str, str] | None = None,
    command: Sequence[str] | None = None,
    environment: Mapping[str, str] | None = None,
    **settings: Any,
) -> Iterator[ServerProcess]:
    """Run a server on a port of the system's choice; whatever is left of it is killed in the end.

    It is forked from a process that has loaded the application, and so are the readers of its uploads. Where a
    `command` is given that serves in its place, and prints the URL in a line; COMMAND is a server that loads everything
    itself.
    """
    chosen = {"port": 0, "data_dir": data_dir, "workers": 2, "log_level": "warning", **settings}
    inherited = {name: value for name, value in os.environ.items() if not name.startswith("ADJOINT_")}
    said_by_environment = {f"ADJOINT_{name.upper()}": str(value) for name, value in chosen.items()}
    variables = {**inherited, **said_by_environment, **(environment or {})}
    process = fork_server().fork(variables) if command is None else _run(command, variables)
    assert process.stdout is not None
    assert process.stderr is not None
    stderr, log = process.stderr, []
    reader = threading.Thread(target=lambda: log.extend(stderr), daemon=True)
    reader.start()
    said: queue.Queue[str] = queue.Queue()
    stdout = process.stdout
    threading.Thread(target=lambda: said.put(stdout.readline().strip()), daemon=True).start()
    try:
        url = said.get(timeout=PATIENCE)
        if not url:
            reader.join(PATIENCE)
            raise RuntimeError("the server did not start:\n" + "".join(log))
        # Certificates would take 30 ms to load.
        with httpx.Client(base_url=url, timeout=PATIENCE, headers=headers, verify=False) as http:
            yield ServerProcess(process, url, data_dir, http, log)
    finally:
        if process.poll() is None:
            process.terminate()
            try:
                process.wait(PATIENCE)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        reader.join(PATIENCE)
        if reader.is_alive():  # closing the pipe would wait for it
            raise RuntimeError(f"a server has exited, but its standard error is open in {_holders(stderr)}")
        process.stdout.close()
        process.stderr.close()


def _holders(pipe: TextIO) -> list[str]:
    """Return the command lines of other processes that have the pipe open."""
    target, found = f"pipe:[{os.fstat(pipe.fileno()).st_ino}]", []
    for end in Path("/proc").glob("[0-9]*/fd/*"):
        with suppress(OSError):  # the process has exited, or closed it
            if str(end.readlink()) == target and end.parts[2] != str(os.getpid()):
                found.append((end.parents[1] / "cmdline").read_text().replace("\0", " "))
    return found


def run_command(arguments: Sequence[str], environment: Mapping[str, str] | None = None) -> tuple[int, str, str]:
    """Run `adjoint` with these arguments in a forked process; return its exit status, its output and its errors."""
    process = fork_server().fork(os.environ if environment is None else environment, arguments)
    with process.stdout as output, process.stderr as errors:
        return process.wait(PATIENCE), output.read(), errors.read()


@cache
def fork_server() -> ForkServer:
    """Return the process that this one has its servers forked from, which it starts unless one is shared."""
    started = ForkServer(os.environ.get(SHARED) or _until_exit(fork_server_started()))
    atexit.register(started.close)
    return started


def share_fork_server() -> None:
    """Have this process, and those that it starts, have their servers forked from one process."""
    if SHARED not in os.environ:
        os.environ[SHARED] = _until_exit(fork_server_started())


def _until_exit(context: AbstractContextManager[str]) -> str:
    stack = ExitStack()
    atexit.register(stack.close)
    return stack.enter_context(context)


def _run(command: Sequence[str], variables: Mapping[str, str]) -> subprocess.Popen[str]:
    return subprocess.Popen(command, cwd=ROOT, env=variables, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
