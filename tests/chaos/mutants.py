"""Faults planted into a server, one for each fit that asks for it: would the harness notice?

`python -m tests.chaos.mutants serve` serves with all of them in place. Which one a fit gets is given by how many
checkpoints it keeps, a number that its curve does not depend on. The first process of such a fit dies on its way.
"""

import json
import os
import signal
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import Any

import numpy as np

import engine
from app.domain.messages import MetricRows
from app.runner import local
from app.service.attempts.recorder import AttemptRecorder

SERVE = (sys.executable, "-m", "tests.chaos.mutants", "serve")
WORK = (sys.executable, "-P", "-m", "tests.chaos.mutants", "work")
FAITHFUL = "faithful"

Snapshot = Callable[[engine.Checkpoint], None]
Restored = Callable[[Any], None]
Enter = Callable[[AttemptRecorder, MetricRows], None]


def forget_momentum(checkpoint: engine.Checkpoint) -> None:
    """The optimizer's state is not saved."""
    checkpoint.optimizer = {name: np.zeros_like(array) for name, array in checkpoint.optimizer.items()}


def forget_statistics(checkpoint: engine.Checkpoint) -> None:
    """The running statistics of batch norm are not saved."""
    checkpoint.buffers = {name: np.zeros_like(array) for name, array in checkpoint.buffers.items()}


def halve_precision(checkpoint: engine.Checkpoint) -> None:
    """What is float64 is saved as float32."""
    for group in (checkpoint.parameters, checkpoint.optimizer):
        group.update({name: _halved(array) for name, array in group.items()})


def begin_draws_again(fit: Any) -> None:
    """The state of the random numbers is not saved."""
    fit._stepper._recipe = replace(fit.recipe, seed=fit.recipe.seed + 1)


def forget_order(fit: Any) -> None:
    """The order of the epoch's rows is not saved."""
    fit._order = fit._order[::-1].copy()


def skip_a_step(fit: Any) -> None:
    """The place in the data is off by one."""
    fit._cursor.step += 1


def lose_a_row(fit: Any) -> None:
    """The number of the last row is off by one."""
    fit._cursor.seq += 1


def append_only(journal: AttemptRecorder, points: MetricRows) -> None:
    """Rows that are made again are appended again."""
    last = journal._work.events.last_metric_seq(journal.fit.id)
    rows = [(seq, json.dumps({**json.loads(row), "seq": seq})) for seq, row in enumerate(points.rows, last + 1)]
    journal._work.events.append_metrics(journal.fit.id, rows)
    journal.fit = replace(journal.fit, step=points.step, epoch=points.epoch, latest=points.latest, best=points.best)


def overwrite(journal: AttemptRecorder, points: MetricRows) -> None:
    """Rows that are made again take the place of those that were read, however they come out."""
    last = journal._work.events.last_metric_seq(journal.fit.id)
    rows = [(json.loads(row)["seq"], row) for row in points.rows]
    for seq, row in rows:
        if seq <= last:
            journal._work.events._connection.exec_driver_sql(
                "UPDATE events SET body = ? WHERE fit_id = ? AND metric_seq = ?", (row, journal.fit.id, seq)
            )
    journal._work.events.append_metrics(journal.fit.id, [(seq, row) for seq, row in rows if seq > last])
    journal.fit = replace(journal.fit, step=points.step, epoch=points.epoch, latest=points.latest, best=points.best)


SAVED: Mapping[str, Snapshot] = MappingProxyType(
    {
        "forget_momentum": forget_momentum,
        "forget_statistics": forget_statistics,
        "halve_precision": halve_precision,
        "overwrite": forget_momentum,
    }
)
RESTORED: Mapping[str, Restored] = MappingProxyType(
    {
        "begin_draws_again": begin_draws_again,
        "forget_order": forget_order,
        "skip_a_step": skip_a_step,
        "lose_a_row": lose_a_row,
    }
)
ENTERED: Mapping[str, Enter] = MappingProxyType({"append_only": append_only, "overwrite": overwrite})
NAMES = (FAITHFUL, *dict.fromkeys([*SAVED, *RESTORED, *ENTERED]))
FIRST = 1000
DIES_AT = 76
REPORTED_SECONDS = 0.3
"""How long a process waits before it dies, so that the server has heard of all its rows."""


def kept_checkpoints(name: str) -> int:
    """Return the `keep_last` by which a fit asks for this mutant."""
    return FIRST + NAMES.index(name)


def _asked_for(keep_last: int | None) -> str | None:
    return NAMES[keep_last - FIRST] if keep_last is not None and keep_last >= FIRST else None


def _halved(array: Any) -> Any:
    return array.astype(np.float32).astype(np.float64) if array.dtype == np.float64 else array


def plant_in_worker() -> None:
    """Change how fits are saved and taken up again, and have the first process of each die."""
    snapshot, restore, advance_chunk = engine.Fit.snapshot, engine.Fit.restore, engine.Fit.advance_chunk
    taken_up: set[int] = set()

    def saved(fit: Any) -> engine.Checkpoint:
        checkpoint = snapshot(fit)
        SAVED.get(_name_of(fit), _nothing)(checkpoint)
        return checkpoint

    def restored(fit: Any, *arguments: Any, **options: Any) -> None:
        restore(fit, *arguments, **options)
        taken_up.add(id(fit))
        RESTORED.get(_name_of(fit), _nothing)(fit)

    def proceeded(fit: Any, end: int | None = None) -> list[engine.MetricRow]:
        if _name_of(fit) and fit.step >= DIES_AT and id(fit) not in taken_up:
            time.sleep(REPORTED_SECONDS)
            os.kill(os.getpid(), signal.SIGKILL)
        return advance_chunk(fit, end)

    engine.Fit.snapshot = saved  # type: ignore[method-assign] # this is what it is about
    engine.Fit.restore = restored  # type: ignore[method-assign] # likewise
    engine.Fit.advance_chunk = proceeded  # type: ignore[method-assign] # likewise


def _name_of(fit: Any) -> str:
    return _asked_for(fit.recipe.checkpoint.keep_last) or ""


def _nothing(_changed: Any) -> None:
    """Leave it as it is."""


def plant_in_server() -> None:
    """Change how rows are written down, and have workers forked from a server with mutants."""
    append_rows = AttemptRecorder.append_rows

    def entered(journal: AttemptRecorder, news: MetricRows) -> None:
        name = _asked_for((journal.fit.request.get("checkpoint") or {}).get("keep_last"))
        ENTERED.get(name or "", append_rows)(journal, news)

    AttemptRecorder.append_rows = entered  # type: ignore[method-assign] # this is what it is about
    local._COMMAND = WORK


def main(arguments: Sequence[str]) -> int:
    """Serve, or be the fork server of such a server."""
    if arguments[:1] == ["work"]:
        from app.worker import fork_server

        plant_in_worker()
        fork_server.main(*arguments[1:])
        return 0
    from app.config.settings import Settings
    from app.main.application import run

    plant_in_server()
    return run(Settings(), lambda url: print(url, flush=True))  # noqa: T201 (where it is, as the tests' servers say it)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
