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

from .conftest import RECIPE, ROWS, Result, SupervisorHarness, all_end, some_rows

ENDLESS = {"steps": 10**9, "epochs": None, "record": {"every_steps": 1}}
NO_CHECKPOINTS = {"every_steps": None, "every_epochs": None, "keep_best": False}


def pid_of(harness: SupervisorHarness, fit_id: str = "fit_1") -> int:
    def found() -> list[int]:
        now = (fit_id, harness.fit(fit_id).attempt)
        return [worker.pid for worker in harness.supervisors[-1].workers() if (worker.fit_id, worker.attempt) == now]

    harness.until(lambda: bool(found()))
    return found()[0]


def assert_same(harness: SupervisorHarness, expected: Result, fit_id: str = "fit_1") -> None:
    assert harness.rows(fit_id) == expected.rows
    assert harness.arrays(fit_id) == expected.arrays


def test_a_fit_leaves_rows_and_the_checkpoints_it_should_keep(harness: SupervisorHarness, undisturbed: Result) -> None:
    harness.submit()
    supervisor = harness.supervisor()
    fit = harness.until_state("succeeded")
    supervisor.drain()
    assert_same(harness, undisturbed)
    assert (fit.step, fit.epoch, fit.phase) == (RECIPE["steps"], 22, "succeeded")
    last = json.loads([row for row in harness.rows() if '"split":"train"' in row][-1])
    assert fit.latest["loss"] == last["values"]["loss"]
    kept = harness.checkpoints()
    assert kept[0].step == RECIPE["steps"]
    assert 3 <= len(kept) <= 4
    (best,) = [checkpoint for checkpoint in kept if checkpoint.is_best]
    assert fit.best is not None
    assert best.step == fit.best["step"]
    # The files: the columns, and the checkpoints that are kept.
    assert len([*harness.blobs.digests()]) == 2 + len(kept)
    assert [*harness.staging.iterdir()] == []
    announced = harness.events("checkpoint")
    assert {checkpoint.id for checkpoint in kept} <= {event["id"] for event in announced}
    assert all(checkpoint.metrics["loss"] for checkpoint in kept)


def test_a_killed_process_costs_nothing_but_time_and_no_other_fit_anything(
    harness: SupervisorHarness, undisturbed: Result
) -> None:
    harness.submit("fit_1")
    harness.submit("fit_2")
    with harness.gate.holding(70) as hold:
        harness.supervisor()
        for killed, rows in ((1, 70), (2, 160)):
            hold(rows)
            harness.until_rows(rows)
            os.kill(pid_of(harness), signal.SIGKILL)
            harness.until(lambda killed=killed: harness.outcomes().count("killed") == killed)
    harness.until_state("succeeded", "fit_1")
    harness.until_state("succeeded", "fit_2")
    assert harness.outcomes("fit_1") == ["killed", "killed", "succeeded"]
    assert harness.outcomes("fit_2") == ["succeeded"]
    assert_same(harness, undisturbed, "fit_1")
    assert_same(harness, undisturbed, "fit_2")


def test_a_dead_process_is_noticed_and_replaced_within_two_seconds(harness: SupervisorHarness) -> None:
    harness.submit(**ENDLESS)
    harness.supervisor(backoff=(1.0,))
    harness.until_rows(20)
    killed = time.monotonic()
    os.kill(pid_of(harness), signal.SIGKILL)
    harness.until_state("interrupted")
    noticed = time.monotonic()
    harness.until_state("running")
    if FULL:  # seconds are of a machine that does nothing else
        assert noticed - killed < 0.5
        assert time.monotonic() - killed < 2.0


def test_a_fit_is_cancelled_with_a_checkpoint_of_where_it_was(harness: SupervisorHarness) -> None:
    harness.submit(**ENDLESS, checkpoint=NO_CHECKPOINTS)
    harness.supervisor()
    harness.until_rows(20)
    harness.cancel()
    fit = harness.until_state("cancelled")
    (checkpoint,) = harness.checkpoints()
    assert checkpoint.step == fit.step
    assert json.loads(harness.rows()[-1])["step"] == fit.step
    assert engine.Checkpoint.load(harness.blobs.local_path(checkpoint.digest)).cursor["seq"] == harness.last_row()
    assert harness.states() == ["queued", "starting", "running", "cancelling", "cancelled"]


def test_a_drained_fit_goes_on_at_the_next_start_to_the_same_bits(
    harness: SupervisorHarness, undisturbed: Result
) -> None:
    harness.submit()
    first = harness.supervisor()
    with harness.at_row(40):
        first.drain()
    assert harness.fit().state == "interrupted"
    assert harness.outcomes() == ["drained"]
    assert harness.checkpoints()[0].step == harness.fit().step
    harness.supervisor()
    harness.until_state("succeeded")
    assert harness.outcomes() == ["drained", "succeeded"]
    assert_same(harness, undisturbed)


def test_a_damaged_checkpoint_is_passed_over(harness: SupervisorHarness, undisturbed: Result) -> None:
    harness.submit()
    first = harness.supervisor()
    with harness.at_row(160):
        first.drain()
    newest, older, *_ = harness.checkpoints()
    path = harness.blobs.local_path(newest.digest)
    path.chmod(0o600)
    content = bytearray(path.read_bytes())
    content[-1] ^= 1
    path.write_bytes(content)
    harness.supervisor()
    harness.until_state("succeeded")
    assert_same(harness, undisturbed)
    (entry,) = [event for event in harness.events("log") if event["level"] == "error"]
    assert entry["code"] == "checkpoint_corrupt"
    assert newest.id in entry["text"]
    assert older.step < newest.step


def test_a_row_that_comes_out_differently_fails_the_fit(harness: SupervisorHarness) -> None:
    harness.submit(checkpoint=NO_CHECKPOINTS)
    harness.supervisor(backoff=(0.3,))
    with harness.gate.holding(40):
        harness.until_rows(40)
        os.kill(pid_of(harness), signal.SIGKILL)
        harness.until_state("interrupted")
    with harness.store.begin():
        harness.store._database.connection.exec_driver_sql(
            "UPDATE events SET body = replace(body, '\"loss\":', '\"loss\":1') WHERE metric_seq = 5"
        )
    fit = harness.until_state("failed")
    assert fit.error is not None
    assert fit.error["code"] == "numerics_diverged"
    assert "metric row 5" in fit.error["detail"]


def test_a_fit_validates_on_the_dataset_that_it_names(harness: SupervisorHarness) -> None:
    harness.dataset("ds_held_out", some_rows(seed=2, rows=40))
    harness.submit(steps=2 * -(-ROWS // 16), validation={"dataset": "ds_held_out"})
    harness.supervisor()
    harness.until_state("succeeded")
    validated = [json.loads(row) for row in harness.rows() if '"split":"validation"' in row]
    assert [row["epoch"] for row in validated] == [1, 2]
    assert harness.fit().latest["val_loss"] == validated[-1]["values"]["loss"]


def test_a_fit_of_what_cannot_be_computed_fails_with_the_engines_words(harness: SupervisorHarness) -> None:
    harness.dataset("ds_thin", {"x": np.ones((8, 5), "float32"), "label": np.zeros(8, "int64")})
    harness.submit(dataset="ds_thin")
    harness.supervisor()
    fit = harness.until_state("failed")
    assert fit.error is not None
    assert fit.error["code"] == "document_invalid"
    assert "'x'" in fit.error["detail"]
    assert str(harness.settings.data_dir) not in fit.error["detail"]


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
    harness: SupervisorHarness, undisturbed: Result
) -> None:
    harness.submit("fit_1")
    harness.submit("fit_2", **ENDLESS)
    root = Path(engine.__file__).parents[1]
    command = [sys.executable, "-c", SERVER, str(harness.settings.data_dir), str(harness.gate.path)]
    with (
        harness.gate.holding(40),
        subprocess.Popen(command, stdout=subprocess.PIPE, env={**os.environ, "PYTHONPATH": str(root)}) as server,
    ):
        assert server.stdout is not None
        assert server.stdout.readline() == b"under way\n"
        family = [process.pid for process in psutil.Process(server.pid).children(recursive=True)]
        with all_end(family, seconds=PATIENCE):
            server.kill()
    assert len(family) in (3, 4), "the fork server, two workers, and perhaps the one that waits"
    harness.supervisor(workers=1)
    harness.until_state("succeeded", "fit_1")
    assert harness.outcomes("fit_1") == ["lost", "succeeded"]
    assert_same(harness, undisturbed, "fit_1")
