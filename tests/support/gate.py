"""Holding and slowing fits as a test says: what happens to them does not depend on how fast the machine is then."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from app.runner import local

VARIABLE = "TESTS_GATE"
"""Names the file of the gate to a server that tests fork."""

# The fork server, with workers that do as the file says after each step.
FORK_SERVER = """
import os, time
from pathlib import Path
import app.worker.fork_server
from app.worker.reporter import Reporter

gate, report_step = Path({gate!r}), Reporter.report_step

def is_held(fit):
    try:
        what, number = gate.read_text().split()
    except FileNotFoundError:
        return False
    if what == "slow":
        time.sleep(float(number))
        return False
    return fit.step >= int(number)

def report_and_wait(self, fit, *rest):
    made = report_step(self, fit, *rest)
    while is_held(fit):
        self.flush()
        time.sleep(0.002)
    return made

Reporter.report_step = report_and_wait
app.worker.fork_server.main()
os._exit(0)
"""


class Gate:
    """The file that says which fits go on, of those whose fork server was started by `command`."""

    def __init__(self, path: Path) -> None:
        """Let all go on."""
        self.path = path

    @property
    def command(self) -> tuple[str, ...]:
        """The command line of a fork server whose workers heed the gate."""
        return (sys.executable, "-P", "-c", FORK_SERVER.format(gate=str(self.path)))

    @contextmanager
    def holding(self, step: int) -> Iterator[Callable[[int], None]]:
        """Hold fits at a step, or at a later one that is asked for in the block; at its end they go on.

        A fit that is held has sent all that it has to say, and stops for nobody: `slowing` inside has it go on slowly.
        """

        def hold(step: int) -> None:
            self._write(f"hold {step}")

        with self._closed(f"hold {step}"):
            yield hold

    @contextmanager
    def slowing(self, seconds: float) -> Iterator[None]:
        """Have each step take so long; a fit that is slowed stops when it is asked to."""
        with self._closed(f"slow {seconds}"):
            yield

    @contextmanager
    def _closed(self, text: str) -> Iterator[None]:
        self._write(text)
        try:
            yield
        finally:
            self.path.unlink(missing_ok=True)

    def _write(self, text: str) -> None:
        written = self.path.with_suffix(".new")
        written.write_text(text)
        written.replace(self.path)


def use_gate(path: Path) -> None:
    """Have the fork server that this process starts heed the gate."""
    local._COMMAND = Gate(path).command
