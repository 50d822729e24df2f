"""The supervisor, with real processes that really fit; and what becomes of fits when these die."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import psutil

import engine
from tests.extent import FULL
from tests.support.patience import PATIENCE

from .conftest import RECIPE, ROWS, Result, Workshop, all_end, some_rows

ENDLESS = {"steps": 10**9, "epochs": None, "record": {"every_steps": 1}}
NO_CHECKPOINTS = {"every_steps": None, "every_epochs": None, "keep_best": False}


def pid_of(workshop: Workshop, fit_id: str = "fit_1") -> int:
    def found() -> list[int]:
        now = (fit_id, workshop.fit(fit_id).attempt)
        return [worker.pid for worker in workshop.supervisors[-1].workers() if (worker.fit_id, worker.attempt) == now]

    workshop.until(lambda: bool(found()))
    return found()[0]


def assert_same(workshop: Workshop, expected: Result, fit_id: str = "fit_1") -> None:
    assert workshop.rows(fit_id) == expected.rows
    assert workshop.arrays(fit_id) == expected.arrays


def test_a_fit_leaves_rows_and_the_checkpoints_it_should_keep(workshop: Workshop, undisturbed: Result) -> None:
    workshop.submit()
    supervisor = workshop.supervisor()
    fit = workshop.until_state("succeeded")
    supervisor.drain()
    assert_same(workshop, undisturbed)
    assert (fit.step, fit.epoch, fit.phase) == (RECIPE["steps"], 22, "succeeded")
    last = json.loads([row for row in workshop.rows() if '"split":"train"' in row][-1])
    assert fit.latest["loss"] == last["values"]["loss"]
    kept = workshop.checkpoints()
    assert kept[0].step == RECIPE["steps"]
    assert 3 <= len(kept) <= 4
    (best,) = [checkpoint for checkpoint in kept if checkpoint.is_best]
    assert fit.best is not None
    assert best.step == fit.best["step"]
    # The files: the columns, and the checkpoints that are kept.
    assert len([*workshop.blobs.digests()]) == 2 + len(kept)
    assert [*workshop.staging.iterdir()] == []
    announced = workshop.events("checkpoint")
    assert {checkpoint.id for checkpoint in kept} <= {event["id"] for event in announced}
    assert all(checkpoint.metrics["loss"] for checkpoint in kept)


def test_a_killed_process_costs_nothing_but_time_and_no_other_fit_anything(
    workshop: Workshop, undisturbed: Result
) -> None:
    workshop.submit("fit_1")
    workshop.submit("fit_2")
    with workshop.gate.holding(70) as hold:
        workshop.supervisor()
        for killed, rows in ((1, 70), (2, 160)):
            hold(rows)
            workshop.until_rows(rows)
            os.kill(pid_of(workshop), signal.SIGKILL)
            workshop.until(lambda killed=killed: workshop.outcomes().count("killed") == killed)
    workshop.until_state("succeeded", "fit_1")
    workshop.until_state("succeeded", "fit_2")
    assert workshop.outcomes("fit_1") == ["killed", "killed", "succeeded"]
    assert workshop.outcomes("fit_2") == ["succeeded"]
    assert_same(workshop, undisturbed, "fit_1")
    assert_same(workshop, undisturbed, "fit_2")


def test_a_dead_process_is_noticed_and_replaced_within_two_seconds(workshop: Workshop) -> None:
    workshop.submit(**ENDLESS)
    workshop.supervisor(backoff=(1.0,))
    workshop.until_rows(20)
    killed = time.monotonic()
    os.kill(pid_of(workshop), signal.SIGKILL)
    workshop.until_state("interrupted")
    noticed = time.monotonic()
    workshop.until_state("running")
    if FULL:  # seconds are of a machine that does nothing else
        assert noticed - killed < 0.5
        assert time.monotonic() - killed < 2.0


def test_a_fit_is_cancelled_with_a_checkpoint_of_where_it_was(workshop: Workshop) -> None:
    workshop.submit(**ENDLESS, checkpoint=NO_CHECKPOINTS)
    workshop.supervisor()
    workshop.until_rows(20)
    workshop.cancel()
    fit = workshop.until_state("cancelled")
    (checkpoint,) = workshop.checkpoints()
    assert checkpoint.step == fit.step
    assert json.loads(workshop.rows()[-1])["step"] == fit.step
    assert engine.Checkpoint.load(workshop.blobs.local_path(checkpoint.digest)).cursor["seq"] == workshop.last_row()
    assert workshop.states() == ["queued", "starting", "running", "cancelling", "cancelled"]


def test_a_drained_fit_goes_on_at_the_next_start_to_the_same_bits(workshop: Workshop, undisturbed: Result) -> None:
    workshop.submit()
    first = workshop.supervisor()
    with workshop.at_row(40):
        first.drain()
    assert workshop.fit().state == "interrupted"
    assert workshop.outcomes() == ["drained"]
    assert workshop.checkpoints()[0].step == workshop.fit().step
    workshop.supervisor()
    workshop.until_state("succeeded")
    assert workshop.outcomes() == ["drained", "succeeded"]
    assert_same(workshop, undisturbed)


def test_a_damaged_checkpoint_is_passed_over(workshop: Workshop, undisturbed: Result) -> None:
    workshop.submit()
    first = workshop.supervisor()
    with workshop.at_row(160):
        first.drain()
    newest, older, *_ = workshop.checkpoints()
    path = workshop.blobs.local_path(newest.digest)
    path.chmod(0o600)
    content = bytearray(path.read_bytes())
    content[-1] ^= 1
    path.write_bytes(content)
    workshop.supervisor()
    workshop.until_state("succeeded")
    assert_same(workshop, undisturbed)
    (entry,) = [event for event in workshop.events("log") if event["level"] == "error"]
    assert entry["code"] == "checkpoint_corrupt"
    assert newest.id in entry["text"]
    assert older.step < newest.step


def test_a_row_that_comes_out_differently_fails_the_fit(workshop: Workshop) -> None:
    workshop.submit(checkpoint=NO_CHECKPOINTS)
    workshop.supervisor(backoff=(0.3,))
    with workshop.gate.holding(40):
        workshop.until_rows(40)
        os.kill(pid_of(workshop), signal.SIGKILL)
        workshop.until_state("interrupted")
    with workshop.store.begin():
        workshop.store._database.connection.exec_driver_sql(
            "UPDATE events SET body = replace(body, '\"loss\":', '\"loss\":1') WHERE metric_seq = 5"
        )
    fit = workshop.until_state("failed")
    assert fit.error is not None
    assert fit.error["code"] == "numerics_diverged"
    assert "metric row 5" in fit.error["detail"]


def test_a_fit_validates_on_the_dataset_that_it_names(workshop: Workshop) -> None:
    workshop.dataset("ds_held_out", some_rows(seed=2, rows=40))
    workshop.submit(steps=2 * -(-ROWS // 16), validation={"dataset": "ds_held_out"})
    workshop.supervisor()
    workshop.until_state("succeeded")
    validated = [json.loads(row) for row in workshop.rows() if '"split":"validation"' in row]
    assert [row["epoch"] for row in validated] == [1, 2]
    assert workshop.fit().latest["val_loss"] == validated[-1]["values"]["loss"]


def test_a_fit_of_what_cannot_be_computed_fails_with_the_engines_words(workshop: Workshop) -> None:
    workshop.dataset("ds_thin", {"x": np.ones((8, 5), "float32"), "label": np.zeros(8, "int64")})
    workshop.submit(dataset="ds_thin")
    workshop.supervisor()
    fit = workshop.until_state("failed")
    assert fit.error is not None
    assert fit.error["code"] == "document_invalid"
    assert "'x'" in fit.error["detail"]
    assert str(workshop.settings.data_dir) not in fit.error["detail"]


SERVER = """
import sys, threading
from pathlib import Path
from app.store.blobs.local import LocalBlobStore
from app.domain.clock import SystemClock
from app.runner.local import LocalRunner
from app.runner.supervisor import Supervisor
from app.service.attempts.attempts import Attempts
from tests.support.storage import storage_context
from app.config.settings import Settings
from app.store.unit_of_work import Store
from tests.support.gate import use_gate

use_gate(Path(sys.argv[2]))
data_dir, clock, changed = Path(sys.argv[1]), SystemClock(), threading.Event()
store, blobs = Store.open(data_dir), LocalBlobStore(data_dir)
notify = lambda fit_id: changed.set()
attempts = Attempts(storage_context(store, blobs, data_dir, clock=clock), data_dir / "staging", notify)
attempts.recover()
settings = Settings(data_dir=data_dir, workers=2, metrics_flush_seconds=0.02)
Supervisor(attempts, LocalRunner(clock), settings, clock).start()
while True:
    changed.wait()
    changed.clear()
    with store.begin() as work:
        if min(work.events.last_metric_seq(fit_id) for fit_id in ("fit_1", "fit_2")) >= 40:
            break
print("under way", flush=True)
threading.Event().wait()
"""


def test_a_killed_server_leaves_no_process_and_its_fits_go_on_to_the_same_bits(
    workshop: Workshop, undisturbed: Result
) -> None:
    workshop.submit("fit_1")
    workshop.submit("fit_2", **ENDLESS)
    root = Path(engine.__file__).parents[1]
    command = [sys.executable, "-c", SERVER, str(workshop.settings.data_dir), str(workshop.gate.path)]
    with (
        workshop.gate.holding(40),
        subprocess.Popen(command, stdout=subprocess.PIPE, env={**os.environ, "PYTHONPATH": str(root)}) as server,
    ):
        assert server.stdout is not None
        assert server.stdout.readline() == b"under way\n"
        family = [process.pid for process in psutil.Process(server.pid).children(recursive=True)]
        assert len(family) == 3, "the fork server and two workers"
        with all_end(family, seconds=PATIENCE):
            server.kill()
    workshop.supervisor(workers=1)
    workshop.until_state("succeeded", "fit_1")
    assert workshop.outcomes("fit_1") == ["lost", "succeeded"]
    assert_same(workshop, undisturbed, "fit_1")
