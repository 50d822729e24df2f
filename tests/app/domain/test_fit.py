from dataclasses import replace
from datetime import UTC, datetime
from itertools import product

import pytest

from app.domain.errors import Conflict
from app.domain.fit import CLAIMABLE, TERMINAL, TRANSITIONS, FitRecord, FitState
from tests.support.fits import fit_record


@pytest.fixture
def fit() -> FitRecord:
    return fit_record("fit_1", phase="waiting", request={"epochs": 1}, created_at=datetime(2026, 1, 1, tzinfo=UTC))


def in_state(fit: FitRecord, state: FitState) -> FitRecord:
    return replace(fit, state=state)


@pytest.mark.parametrize(("source", "target"), [*product(FitState, FitState)])
def test_a_fit_moves_exactly_as_the_table_says(fit: FitRecord, source: FitState, target: FitState) -> None:
    present = in_state(fit, source)
    if target in TRANSITIONS[source]:
        assert present.to(target).state is target
    else:
        with pytest.raises(Conflict, match=f"is {source} and cannot become {target}") as caught:
            present.to(target)
        assert caught.value.code == "illegal_transition"


def test_a_move_changes_other_fields_too_and_leaves_the_old_record_alone(fit: FitRecord) -> None:
    moved = fit.to(FitState.STARTING, phase="starting", attempt=1)
    assert (moved.state, moved.phase, moved.attempt) == (FitState.STARTING, "starting", 1)
    assert (fit.state, fit.phase, fit.attempt) == (FitState.QUEUED, "waiting", 0)


def test_every_state_can_be_reached_and_every_state_leads_to_an_end() -> None:
    def reachable(start: FitState) -> set[FitState]:
        seen, frontier = {start}, [start]
        while frontier:
            fresh = TRANSITIONS[frontier.pop()] - seen
            seen |= fresh
            frontier += fresh
        return seen

    assert reachable(FitState.QUEUED) == set(FitState)
    assert all(reachable(state) & TERMINAL for state in FitState)


def test_a_fit_that_is_being_stopped_is_never_started_again_unasked() -> None:
    for state in (FitState.PAUSING, FitState.CANCELLING):
        assert not TRANSITIONS[state] & set(CLAIMABLE)


@pytest.mark.parametrize("state", FitState)
def test_only_an_end_is_terminal(fit: FitRecord, state: FitState) -> None:
    assert in_state(fit, state).terminal == (state in {"succeeded", "failed", "cancelled"})


@pytest.mark.parametrize(
    ("state", "step", "total", "progress"),
    [
        ("queued", 0, 10, 0.0),
        ("running", 5, 10, 0.5),
        ("running", 0, 0, 0.0),
        ("running", 11, 10, 1.0),
        ("succeeded", 3, 10, 1.0),
        ("cancelled", 3, 10, 0.3),
    ],
)
def test_progress_is_the_part_done(state: str, step: int, total: int, progress: float, fit: FitRecord) -> None:
    assert replace(fit, state=FitState(state), step=step, total_steps=total).progress == progress
