"""Holding and slowing fits as a test says: what happens to them does not depend on how fast the machine is then."""

import os
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

if TYPE_CHECKING:
    from app.worker.reporter import Reporter

VARIABLE = "TESTS_GATE"
"""Names the file of the gate to a server that tests fork."""

COMMAND = (sys.executable, "-P", "-m", "tests.support.gate")
"""Starts a process that forks workers which heed the gate, whose file is to follow."""

SECONDS = 0.002
"""Between two looks at the file."""


class Gate:
    """The file that says which fits go on, of those whose fork server was started by `command`."""

    def __init__(self, path: Path) -> None:
        """Let all go on."""
        self.path = path

    @property
    def command(self) -> tuple[str, ...]:
        """The command line of a fork server whose workers heed the gate."""
        return (*COMMAND, str(self.path))

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


@contextmanager
def slowed(folder: Path, seconds: float = 0.005) -> Iterator[dict[str, str]]:
    """Yield the environment of servers whose fits take so long a step: one that never ends leaves others the machine.

    `folder` is for the file of the gate.
    """
    gate = Gate(folder / "gate")
    with gate.slowing(seconds):
        yield {VARIABLE: str(gate.path)}


def hold_workers(path: Path) -> None:
    """Have the workers that this process forks do as the file says after each step."""
    from app.worker.reporter import Reporter

    report_step = Reporter.report_step

    def report_and_wait(reporter: "Reporter", fit: Any, *rest: Any) -> Any:
        created = report_step(reporter, fit, *rest)
        while _is_held(path, fit.step):
            reporter.flush()
            time.sleep(SECONDS)
        return created

    Reporter.report_step = report_and_wait  # type: ignore[method-assign]


def _is_held(path: Path, step: int) -> bool:
    """Return whether a fit is to stay at this step; one that is to go slowly does so here."""
    try:
        what, number = path.read_text().split()
    except FileNotFoundError:
        return False
    if what == "slow":
        time.sleep(float(number))
        return False
    return step >= int(number)


def use_gate(path: Path) -> None:
    """Have the fork server that this process starts heed the gate."""
    from app.runner import local  # a fork server that heeds the gate does without

    local._COMMAND = Gate(path).command


def main(path: str, *arguments: str) -> NoReturn:
    """Be that fork server; `arguments` are those of any."""
    from app.worker.fork_server import main

    hold_workers(Path(path))
    main(*arguments)
    os._exit(0)


if __name__ == "__main__":
    main(*sys.argv[1:])
