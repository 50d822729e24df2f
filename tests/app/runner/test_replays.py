"""A replay with real processes, and what becomes of its verdict when these die."""

import os
import signal
from dataclasses import asdict, replace

from app.domain.runtime import Replay
from app.service.fits.bundles import digest_outcome, digest_state
from app.service.resources.blobs import Integrity

from .conftest import SupervisorHarness
from .test_supervised_processes import pid_of


def test_a_replay_whose_process_is_killed_comes_out_equal_and_is_judged_once(harness: SupervisorHarness) -> None:
    harness.submit("fit_0", steps=260)
    harness.supervisor()
    original = harness.until_state("succeeded", "fit_0")
    assert original.runtime is not None
    state = digest_state(Integrity(harness.store, harness.blobs), harness.checkpoints("fit_0")[0])
    expected = {**digest_outcome(260, harness.rows("fit_0"), state), "fingerprint": original.runtime["fingerprint"]}
    harness.submit(steps=260)
    with harness.store.begin() as work:
        replay = Replay("fit_0", expected, ["not looked at yet"])
        work.fits.update(replace(work.fits.get("fit_1"), replay=asdict(replay)))
    with harness.gate.holding(160):
        harness.supervisors[-1].wake()
        harness.until_rows(160)
        os.kill(pid_of(harness), signal.SIGKILL)
        harness.until(lambda: harness.outcomes()[0] == "killed")
    judged = harness.until_state("succeeded").replay
    assert harness.outcomes() == ["killed", "succeeded"]
    assert judged is not None
    assert judged["verdict"] == {"bit_exact": True, "differences": [], "first_row": None}
    assert judged["numerics"] == []
    assert [entry["code"] for entry in harness.events("log")].count("replayed") == 1
    with harness.store.begin() as work:
        assert work.events.after("fit_1", 0, 100_000)[-1].kind == "end"
