"""How an example is run: against a server that is there or one of its own, with its result held against its bar."""

import os
import sys
import tempfile
from argparse import ArgumentParser, RawDescriptionHelpFormatter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from adjoint_client import AdjointError, Client, FitHandle
from curves import draw_curves

CURVES = Path(__file__).with_name("curves")


@dataclass(frozen=True, slots=True)
class Result:
    """How good a model is on what it has not seen, beside the least that is expected of it.

    Loss curves are drawn of a `fit`; a loop of one's own has none on the server.
    """

    name: str
    measure: str
    value: float
    bar: float
    fit: FitHandle | None = None
    higher_is_better: bool = True

    @property
    def reached(self) -> bool:
        """Whether the model is as good as expected."""
        return self.value >= self.bar if self.higher_is_better else self.value < self.bar

    def __str__(self) -> str:
        side = "at least" if self.higher_is_better else "below"
        return f"{self.name}: {self.measure} {self.value:.4f}, expected {side} {self.bar:.4f}"


def arguments(description: str | None) -> ArgumentParser:
    """The options that every example has."""
    parser = ArgumentParser(description=description, formatter_class=RawDescriptionHelpFormatter)
    parser.add_argument("--url", help="a server that runs already, as http://127.0.0.1:8000; else one is started")
    parser.add_argument("--curves", type=Path, default=CURVES, help="folder for the pictures of the loss curves")
    return parser


def main(run: Callable[[Client], Result], description: str | None) -> None:
    """Run one example from the command line; the exit status is 1 if its bar is missed."""
    given = arguments(description).parse_args()
    sys.exit(attempt([run], given.url, given.curves))


def attempt(runs: Sequence[Callable[[Client], Result]], url: str | None, curves: Path) -> int:
    """Run examples one after another on one server, show what comes of them, and return the exit status."""
    try:
        with connected(url) as client:
            results = [_shown(run(client), curves) for run in runs]
    except AdjointError as error:
        print(f"it failed: {error}", file=sys.stderr)
        return 1
    return 0 if all(result.reached for result in results) else 1


def _shown(result: Result, curves: Path) -> Result:
    print(result)
    if result.fit is None:
        return result
    picture = draw_curves(result.fit.metrics(), result.name, curves)
    print(f"loss curves: {picture}" if picture else "no picture of the loss curves: that needs the extra 'examples'")
    return result


def validated(fit: FitHandle, metric: str) -> float:
    """What the last validation found."""
    rows = [row for row in fit.metrics() if row.split == "validation"]
    return rows[-1].values[metric]


@contextmanager
def connected(url: str | None) -> Iterator[Client]:
    if url is not None:
        with Client(url, os.environ.get("ADJOINT_KEY")) as client:
            yield client
        return
    # A machine that only speaks with a server elsewhere need not have the server installed.
    from app.cli.demo.runner import running_server

    with tempfile.TemporaryDirectory(prefix="adjoint-example-") as folder, running_server(Path(folder)) as own:
        print(f"a server of its own is listening on {own}")
        with Client(own) as client:
            yield client
