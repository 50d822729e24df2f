"""The harness notices what it is there to notice: each planted fault breaks an invariant, and without one all hold."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import pytest

from tests.chaos import invariants, mutants
from tests.chaos.driver import Driver, Observed
from tests.chaos.invariants import Broken
from tests.chaos.workload import fit_request
from tests.extent import FULL

pytestmark = pytest.mark.skipif(not FULL, reason="`make chaos` looks whether its harness notices what it should")

STEPS = 100
SAVED_EVERY = 36  # not at the end of an epoch, of 13 steps, where the order begins anew
OF_FLOAT64 = {"halve_precision"}


@dataclass(frozen=True)
class Evidence:
    """What was reported of a fit whose process was killed, what was read before, and what it should have come to."""

    observed: Observed
    read: list[dict[str, Any]]
    undisturbed: Observed

    def check(self) -> None:
        """Raise Broken unless all is well."""
        invariants.rows_are_gap_free(self.observed.rows)
        invariants.rows_never_change(self.read, self.observed.rows)
        invariants.same_bits(self.observed, self.undisturbed)


def request_for(name: str) -> dict[str, Any]:
    saved = {"every_steps": SAVED_EVERY, "every_epochs": None, "keep_last": mutants.kept_checkpoints(name)}
    return fit_request(STEPS, checkpoint=saved, precision=precision(name))


def precision(name: str) -> str:
    return "float64" if name in OF_FLOAT64 else "float32"


@pytest.fixture(scope="module")
def evidence(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, Evidence]:
    driver = Driver(tmp_path_factory.mktemp("mutants"), command=mutants.SERVE)
    try:
        driver.start()
        undisturbed = {
            kind: driver.submit(f"undisturbed-{kind}", fit_request(STEPS, precision=kind))
            for kind in ("float32", "float64")
        }
        fits = {name: driver.submit(name, request_for(name)) for name in mutants.NAMES}
        for fit_id in fits.values():
            driver.until_rows(fit_id, 2 * SAVED_EVERY + 1)
        driver.until_terminal()
        observed = {kind: driver.observe(fit_id) for kind, fit_id in undisturbed.items()}
        return {
            name: Evidence(driver.observe(fit_id), driver.read[fit_id], observed[precision(name)])
            for name, fit_id in fits.items()
        }
    finally:
        driver.close()


@pytest.mark.parametrize("name", mutants.NAMES)
def test_every_fit_lost_its_process_and_was_taken_up_again(evidence: Mapping[str, Evidence], name: str) -> None:
    assert evidence[name].observed.outcomes[0] == "killed"
    assert len(evidence[name].observed.outcomes) == 2


@pytest.mark.parametrize("name", [name for name in mutants.NAMES if name != mutants.FAITHFUL])
def test_a_mutant_is_caught(evidence: Mapping[str, Evidence], name: str) -> None:
    with pytest.raises(Broken):
        evidence[name].check()


def test_without_a_mutant_all_is_well(evidence: Mapping[str, Evidence]) -> None:
    evidence[mutants.FAITHFUL].check()
