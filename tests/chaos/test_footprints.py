"""The estimate that a fit is admitted by holds: no worker takes more, and none takes much less."""

import json
import os
import random
import statistics
import subprocess
import sys

import pytest

from app.domain.runtime import NATIVE, NUMPY
from tests.chaos.conftest import Counts
from tests.chaos.footprints import Measured
from tests.support.server import ROOT

LEAST, MOST = 0.4, 1.0


@pytest.mark.parametrize("executor", [NUMPY, NATIVE])
def test_workers_take_what_was_estimated(executor: str, counts: Counts, chance: random.Random) -> None:
    if executor == NATIVE and not counts.full:
        pytest.skip("what the native executor compiles takes seconds a fit")
    found = measured(chance.randrange(10**6), counts.footprints, executor)
    assert len(found) == counts.footprints
    ratios = sorted(each.ratio for each in found)
    print(  # noqa: T201 (the figures are what `make chaos` shows)
        f"\n{executor}: {len(found)} fits took {ratios[0]:.2f} to {ratios[-1]:.2f} of the estimate, "
        f"half of them up to {statistics.median(ratios):.2f}"
    )
    assert not [each for each in found if each.verdict != "succeeded"]
    assert not [each for each in found if not LEAST <= each.ratio <= MOST]


def measured(seed: int, count: int, executor: str) -> list[Measured]:
    """Measure fits in a process that has loaded nothing but what a worker has."""
    command = [sys.executable, "-m", "tests.chaos.footprints", str(seed), str(count), executor]
    environment = {**os.environ, "OPENBLAS_NUM_THREADS": "1"}
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    return [Measured(**json.loads(line)) for line in done.stdout.splitlines()]
