"""A fit goes on from its newest checkpoint that is sound, and comes to the same bits as if nothing had happened."""

import signal
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import psutil
import pytest

from tests.chaos import invariants
from tests.chaos.conftest import Counts
from tests.chaos.driver import Driver
from tests.chaos.workload import CHECKPOINT_EVERY, STEPS, fit_request

FIRST_SEED = 100


def untouched(content: bytes) -> bytes:
    return content


def truncated(content: bytes) -> bytes:
    return content[: len(content) // 2]


def zeroed(content: bytes) -> bytes:
    return content[:-64] + bytes(64)


def flipped(content: bytes) -> bytes:
    place = len(content) - 100
    return content[:place] + bytes([content[place] ^ 1]) + content[place + 1 :]


def emptied(_content: bytes) -> bytes:
    return b""


DAMAGES: tuple[Callable[[bytes], bytes], ...] = (untouched, truncated, zeroed, flipped, emptied)


def damage(driver: Driver, checkpoint: Mapping[str, Any], how: Callable[[bytes], bytes]) -> None:
    content = driver.place.read_blob(checkpoint["digest"])
    driver.place.replace_blob(checkpoint["digest"], how(content))


@pytest.mark.parametrize("how", DAMAGES, ids=lambda how: how.__name__)
def test_a_fit_goes_on_from_the_newest_checkpoint_that_is_sound(
    driver: Driver, how: Callable[[bytes], bytes], counts: Counts, tmp_path: Path
) -> None:
    if not counts.full and how is not flipped:
        pytest.skip("all of them are for `make chaos`")
    # Another curve for each, since the same bytes are the same file.
    request = fit_request(STEPS, seed=FIRST_SEED + DAMAGES.index(how))
    reached = 2 * CHECKPOINT_EVERY
    with driver.gate.holding(reached + 1):
        fit_id = driver.submit(how.__name__, request)
        assert driver.until_rows(fit_id, reached + 1)
        checkpoints = driver.asked(f"/v1/fits/{fit_id}/checkpoints")["data"]
        newest = max(checkpoints, key=lambda checkpoint: int(checkpoint["step"]))
        assert newest["step"] == reached, "more is lost than has to be"
        worker = psutil.Process(driver.worker_of(fit_id))
        worker.send_signal(signal.SIGSTOP)
        damage(driver, newest, how)
        worker.kill()
    driver.until_terminal()
    observed = driver.observe(fit_id)
    logs = [event.body for event in observed.events if event.kind == "log"]
    corrupt = [log["text"] for log in logs if log["code"] == "checkpoint_corrupt"]
    assert [newest["id"] in text for text in corrupt] == ([] if how is untouched else [True])
    invariants.every_listed_checkpoint_loads(observed, tmp_path)
    invariants.rows_never_change(driver.read[fit_id], observed.rows)
    invariants.same_bits(observed, driver.undisturbed([how.__name__])[how.__name__])
