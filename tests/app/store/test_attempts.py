from collections.abc import Callable

import pytest
from sqlalchemy.exc import IntegrityError

from app.domain.errors import Conflict, DatabaseBusy, NotFound
from app.domain.fit import Attempt, FitRecord
from app.store.unit_of_work import Store
from tests.support.manual_clock import ManualClock


@pytest.fixture
def with_fits(store: Store, a_fit: Callable[..., FitRecord]) -> Store:
    with store.begin() as uow:
        uow.fits.add(a_fit("fit_1"))
        uow.fits.add(a_fit("fit_2"))
    return store


def test_an_attempt_starts_gets_its_process_and_ends(with_fits: Store, clock: ManualClock) -> None:
    with with_fits.begin() as uow:
        started = uow.now
        assert uow.attempts.latest("fit_1") is None
        uow.attempts.start("fit_1", 1, "token-1")
        uow.attempts.set_pid("fit_1", 1, 42)
        assert uow.attempts.get("fit_1", 1) == Attempt("fit_1", 1, "token-1", 42, started, None, None)
    clock.advance(3)
    with with_fits.begin() as uow:
        uow.attempts.set_received("fit_1", 1, 7)
        uow.attempts.end("fit_1", 1, "died")
        assert uow.attempts.get("fit_1", 1) == Attempt("fit_1", 1, "token-1", 42, started, uow.now, "died", 7)


def test_attempts_of_a_fit_are_listed_in_order(with_fits: Store) -> None:
    with with_fits.begin() as uow:
        for number in (1, 2, 3):
            uow.attempts.start("fit_1", number, f"token-{number}")
        uow.attempts.start("fit_2", 1, "other")
        assert [attempt.number for attempt in uow.attempts.for_fit("fit_1")] == [1, 2, 3]
        latest = uow.attempts.latest("fit_1")
        assert latest is not None
        assert latest.number == 3


def test_unended_attempts_of_all_fits_are_found(with_fits: Store) -> None:
    with with_fits.begin() as uow:
        uow.attempts.start("fit_1", 1, "a")
        uow.attempts.end("fit_1", 1, "died")
        uow.attempts.start("fit_1", 2, "b")
        uow.attempts.start("fit_2", 1, "c")
        assert [attempt.token for attempt in uow.attempts.unended()] == ["b", "c"]


def test_only_the_latest_attempt_passes_the_fence(with_fits: Store) -> None:
    with with_fits.begin() as uow:
        with pytest.raises(Conflict) as before_the_first:
            uow.attempts.guard("fit_1", "a")
        uow.attempts.start("fit_1", 1, "a")
        assert uow.attempts.guard("fit_1", "a").number == 1
        uow.attempts.start("fit_1", 2, "b")
        with pytest.raises(Conflict) as superseded:
            uow.attempts.guard("fit_1", "a")
        assert uow.attempts.guard("fit_1", "b").number == 2
        uow.attempts.end("fit_1", 2, "succeeded")
        with pytest.raises(Conflict) as ended:
            uow.attempts.guard("fit_1", "b")
    assert {caught.value.code for caught in (before_the_first, superseded, ended)} == {"fenced"}


def test_an_attempt_of_no_fit_cannot_start(store: Store) -> None:
    with pytest.raises((IntegrityError, DatabaseBusy)), store.begin() as uow:
        uow.attempts.start("fit_9", 1, "a")


def test_the_same_attempt_cannot_start_twice(with_fits: Store) -> None:
    with with_fits.begin() as uow:
        uow.attempts.start("fit_1", 1, "a")
    with pytest.raises((IntegrityError, DatabaseBusy)), with_fits.begin() as uow:
        uow.attempts.start("fit_1", 1, "b")


def test_attempts_go_with_their_fit(with_fits: Store) -> None:
    with with_fits.begin() as uow:
        uow.attempts.start("fit_1", 1, "a")
        uow.fits.delete("fit_1")
        assert uow.attempts.for_fit("fit_1") == ()


def test_what_is_not_there_is_not_found(with_fits: Store) -> None:
    with with_fits.begin() as uow:
        for call in (
            lambda: uow.attempts.get("fit_1", 7),
            lambda: uow.attempts.set_pid("fit_1", 7, 1),
            lambda: uow.attempts.end("fit_1", 7, "died"),
        ):
            with pytest.raises(NotFound, match="attempt 7"):
                call()
