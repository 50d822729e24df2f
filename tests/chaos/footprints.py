"""What fits take of a worker's memory, measured: `python -m tests.chaos.footprints SEED COUNT EXECUTOR`.

Each fit is worked on by a real worker, forked from a process that has loaded what the fork server has, and within the
bounds that its estimate sets; the kernel reports its peak. One JSON line a fit goes to standard output.
"""

import gc
import json
import os
import resource
import socket
import sys
import tempfile
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np

import engine
from app.domain.frames import LineReader, to_line
from app.domain.messages import Assignment, Failed, Finished, Message, Started
from app.domain.runtime import Runtime
from app.service.resources.memory import memory_needed
from app.worker import process
from app.worker.process_group import become_subreaper
from app.worker.warm_up import WorkerReporter
from tests.chaos.random_fits import RandomFit, random_fit

KIB = 1024


@dataclass(frozen=True)
class Measured:
    """A fit, the bytes that it was admitted with, those that its process took at its peak, and how it ended."""

    number: int
    sort: str
    executor: str
    estimated: int
    peak: int
    verdict: str
    terms: dict[str, int]

    @property
    def ratio(self) -> float:
        """The share of the estimate that was taken."""
        return self.peak / self.estimated


def measured(fit: RandomFit, number: int, executor: str, folder: Path) -> Measured:
    """Have a worker do all of the fit's steps, checkpoint included."""
    definition = engine.parse_graph(fit.graph)
    arrays = fit.columns()
    known = {
        name: engine.ColumnInfo(array.dtype.name, array.shape[1:], fit.rows, float(array.min()), float(array.max()))
        for name, array in arrays.items()
    }
    terms = engine.check_fit(definition, engine.read_recipe(fit.recipe), known, executor=executor).memory
    for name, array in arrays.items():
        np.save(folder / f"{name}.npy", array)
    staging = folder / "staging"
    staging.mkdir()
    estimated = memory_needed(terms, executor)
    assignment = Assignment(
        fit_id=f"fit_{number}",
        attempt=1,
        token="token",
        definition=definition.to_json(),
        request=fit.recipe,
        columns={name: [str(folder / f"{name}.npy")] for name in arrays},
        validation_columns=None,
        resume_from=None,
        staging=str(staging),
        runtime=Runtime(executor, 1, None, None, 10, {}).to_json(),
        memory_bytes=estimated,
    )
    verdict, peak = _worked_on(assignment)
    return Measured(number, fit.sort, executor, estimated, peak, verdict, terms)


def _worked_on(assignment: Assignment) -> tuple[str, int]:
    """Return how a worker ended, and the most bytes that it held."""
    ours, theirs = socket.socketpair()
    parent = os.getpid()
    pid = os.fork()
    if pid == 0:
        ours.close()
        process.run_worker(theirs, None, parent, WorkerReporter(None))
    theirs.close()
    with ours:
        verdict = _followed(ours, assignment)
    _, status, usage = os.wait4(pid, 0)
    return verdict or f"ended with {os.waitstatus_to_exitcode(status)}", usage.ru_maxrss * KIB


def _followed(channel: socket.socket, assignment: Assignment) -> str:
    lines, verdict = LineReader(), ""
    while data := channel.recv(1 << 16):
        for message in lines.feed(data):
            if isinstance(message, Started):
                channel.sendall(to_line(assignment))
            verdict = _verdict(message) or verdict
    return verdict


def _verdict(message: Message) -> str:
    if isinstance(message, Finished):
        return message.outcome
    return f"{message.code}: {message.detail}" if isinstance(message, Failed) else ""


def main(seed: int, count: int, executor: str) -> None:
    """Measure fits and write down each."""
    become_subreaper()
    if executor == "native":
        assert engine.why_native_unusable() is None  # loads it
    gc.collect()
    gc.freeze()
    for number in range(count):
        with tempfile.TemporaryDirectory() as folder:
            found = measured(random_fit(seed, number), number, executor, Path(folder))
        print(json.dumps(asdict(found)), flush=True)  # noqa: T201 (it is what the script is for)


if __name__ == "__main__":
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    main(int(sys.argv[1]), int(sys.argv[2]), sys.argv[3])
