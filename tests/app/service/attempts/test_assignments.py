from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from app.domain.errors import NotFound
from app.domain.runtime import Runtime
from app.domain.verdict import Died
from app.service.attempts.attempt_progress import Progress
from tests.app.service.office import DEFINITION, Office


def test_an_assignment_holds_what_a_process_needs_and_nothing_for_the_service(office: Office) -> None:
    office.submit(seed=3)
    claim = office.attempts.claim()
    assert claim is not None
    assignment = office.attempts.assignment(claim)
    assert (assignment.fit_id, assignment.attempt, assignment.token) == ("fit_1", 1, claim.token)
    assert assignment.definition == DEFINITION
    assert assignment.request == {"steps": 100, "seed": 3}
    assert assignment.columns == {"x": [str(office.blobs.local_path(office.column))]}
    assert (assignment.validation_columns, assignment.resume_from) == (None, None)
    assert Path(assignment.staging).is_dir()
    assert "fit_1" not in assignment.staging
    assert office.notified == ["fit_1"]


def test_the_next_process_runs_with_the_executor_of_the_first(office: Office) -> None:
    first = office.begin(resources={"executor": "auto"})
    ran = Runtime("native", 1, None, None, 10, {"executor": "native"}).to_json()
    office.attempts.record(first, Progress(phase="training", runtime=ran))
    assert office.fit().runtime == ran
    office.attempts.record(first, Progress(verdict=Died("killed", "gone")))
    again = office.attempts.claim()
    assert again is not None
    assert office.attempts.assignment(again).runtime["executor"] == "native"
    assert office.fit().runtime == ran


def test_the_rows_to_validate_on_come_along(office: Office) -> None:
    office.submit(validation={"dataset": "ds_1"})
    claim = office.attempts.claim()
    assert claim is not None
    assignment = office.attempts.assignment(claim)
    assert assignment.validation_columns == assignment.columns


@pytest.mark.parametrize("missing", [{"dataset": "ds_2"}, {"validation": {"dataset": "ds_2"}}])
def test_an_assignment_cannot_be_made_of_what_is_gone(office: Office, missing: dict[str, Any]) -> None:
    office.submit(**missing)
    claim = office.attempts.claim()
    assert claim is not None
    with pytest.raises(NotFound, match="ds_2"):
        office.attempts.assignment(claim)


def test_a_process_is_told_where_its_fit_was_taken_up_again(office: Office) -> None:
    office.submit()
    with office.store.begin() as work:
        work.fits.update(replace(work.fits.get("fit_1"), reopened_at=40))
    claim = office.attempts.claim()
    assert claim is not None
    assert office.attempts.assignment(claim).reopened_at == 40
