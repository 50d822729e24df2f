from collections.abc import Callable

import pytest
from sqlalchemy.exc import IntegrityError

from app.domain.errors import Conflict, DatabaseBusy
from app.domain.fit import Event, EventKind, FitRecord
from app.store.events import CHUNK
from app.store.unit_of_work import Store


@pytest.fixture
def with_fits(store: Store, a_fit: Callable[..., FitRecord]) -> Store:
    with store.begin() as uow:
        uow.fits.add(a_fit("fit_1"))
        uow.fits.add(a_fit("fit_2"))
    return store


def rows(first: int, last: int) -> list[tuple[int, str]]:
    return [(number, f'{{"seq":{number}}}') for number in range(first, last + 1)]


def test_events_are_numbered_from_1_for_each_fit(with_fits: Store) -> None:
    with with_fits.begin() as uow:
        assert uow.events.last_seq("fit_1") == 0
        assert [uow.events.append("fit_1", "log", "{}").seq for _ in range(3)] == [1, 2, 3]
        assert uow.events.append("fit_2", "log", "{}").seq == 1
        assert uow.events.last_seq("fit_1") == 3


def test_an_event_reads_back_word_for_word(with_fits: Store) -> None:
    body = '{"text":"a\\u0000 \u2713 \u2028","loss":0.30000000000000004}'
    with with_fits.begin() as uow:
        event = uow.events.append("fit_1", "log", body)
        assert event == Event("fit_1", 1, "log", body, None, uow.now)
        assert uow.events.after("fit_1", 0, 10) == [event]


def test_metric_rows_read_back_word_for_word(with_fits: Store) -> None:
    bodies = ['{"seq":1,"note":"\\"a\\", {b} \\\\ \\u0000 \u2713 \U0001f600"}', "{}", '{"x":"\\n\\t"}', "NULL", ""]
    written = [*enumerate(bodies, 1)]
    with with_fits.begin() as uow:
        uow.events.append_metrics("fit_1", written)
    with with_fits.read() as uow:
        assert uow.events.metric_rows("fit_1", 0, 100) == written


def test_metric_rows_are_events_with_a_number_of_their_own(with_fits: Store) -> None:
    with with_fits.begin() as uow:
        uow.events.append("fit_1", "state", "{}")
        assert uow.events.append_metrics("fit_1", rows(1, 3)) == 4
        uow.events.append("fit_1", "log", "{}")
        assert uow.events.append("fit_1", "metric", '{"seq":4}', metric_seq=4).seq == 6
        assert uow.events.append_metrics("fit_1", rows(5, 6)) == 8
        assert uow.events.last_metric_seq("fit_1") == 6
        journal = uow.events.after("fit_1", 0, 100)
        assert [event.seq for event in journal] == [*range(1, 9)]
        assert [event.metric_seq for event in journal] == [None, 1, 2, 3, None, 4, 5, 6]
        assert {event.created_at for event in journal} == {uow.now}
        assert uow.events.metrics("fit_1", 0, 100) == [event for event in journal if event.kind == "metric"]


@pytest.mark.parametrize(
    "wrong", [rows(2, 4), rows(4, 4), [(3, "{}"), (5, "{}")], [(3, "{}"), (3, "{}")], [(4, "{}"), (3, "{}")]]
)
def test_metric_rows_leave_no_gap_and_replace_nothing(with_fits: Store, wrong: list[tuple[int, str]]) -> None:
    with with_fits.begin() as uow:
        uow.events.append_metrics("fit_1", rows(1, 2))
        with pytest.raises(Conflict, match="fit_1 must go on at 3") as caught:
            uow.events.append_metrics("fit_1", wrong)
        assert caught.value.code == "metric_gap"
        assert uow.events.metric_rows("fit_1", 0, 100) == rows(1, 2)


def test_no_rows_change_nothing(with_fits: Store) -> None:
    with with_fits.begin() as uow:
        uow.events.append("fit_1", "log", "{}")
        assert uow.events.append_metrics("fit_1", []) == 1
        assert uow.events.last_metric_seq("fit_1") == 0


def test_a_metric_number_is_given_once(with_fits: Store) -> None:
    with with_fits.begin() as uow:
        uow.events.append("fit_1", "metric", "{}", metric_seq=1)
    with pytest.raises((IntegrityError, DatabaseBusy)), with_fits.begin() as uow:
        uow.events.append("fit_1", "metric", "{}", metric_seq=1)


@pytest.mark.parametrize(
    ("after", "limit", "expected"), [(0, 3, [1, 2, 3]), (3, 3, [4, 5]), (5, 3, []), (0, 99, [1, 2, 3, 4, 5])]
)
def test_reading_goes_on_after_a_number(with_fits: Store, after: int, limit: int, expected: list[int]) -> None:
    with with_fits.begin() as uow:
        uow.events.append_metrics("fit_2", rows(1, 9))
        uow.events.append_metrics("fit_1", rows(1, 5))
        assert [event.seq for event in uow.events.after("fit_1", after, limit)] == expected
        assert [event.metric_seq for event in uow.events.metrics("fit_1", after, limit)] == expected
        assert [number for number, _ in uow.events.metric_rows("fit_1", after, limit)] == expected


def test_bodies_of_named_metric_rows_are_found_however_many(with_fits: Store) -> None:
    many = rows(1, 2 * CHUNK + 5)
    with with_fits.begin() as uow:
        uow.events.append_metrics("fit_1", many)
        assert uow.events.metric_bodies("fit_1", [2, 5, 10**9]) == dict([many[1], many[4]])
        assert uow.events.metric_bodies("fit_1", range(1, len(many) + 1)) == dict(many)
        assert uow.events.metric_bodies("fit_1", []) == {}
        assert uow.events.metric_bodies("fit_2", [1]) == {}


@pytest.mark.sqlite
def test_some_rows_of_a_long_curve_are_found_by_their_index(with_fits: Store) -> None:
    statements: list[str] = []
    driver = with_fits._database.connection.connection.driver_connection
    assert driver is not None
    with with_fits.begin() as uow:
        driver.set_trace_callback(statements.append)
        uow.events.metric_bodies("fit_1", [2, 5])
        uow.events.after("fit_1", 3, 10, metrics=False)
        driver.set_trace_callback(None)
    for statement in statements:
        (plan,) = (row[-1] for row in driver.execute(f"EXPLAIN QUERY PLAN {statement}"))
        assert "(fit_id=? AND metric_seq=?" in plan


def test_a_journal_goes_with_its_fit(with_fits: Store) -> None:
    with with_fits.begin() as uow:
        uow.events.append_metrics("fit_1", rows(1, 5))
        uow.fits.delete("fit_1")
        assert uow.events.after("fit_1", 0, 10) == []


def test_a_fit_that_is_not_there_has_no_journal_to_write_to(store: Store) -> None:
    with pytest.raises((IntegrityError, DatabaseBusy)), store.begin() as uow:
        uow.events.append_metrics("fit_9", rows(1, 1))


def test_an_end_that_is_none_any_more_becomes_a_log_entry_in_its_place(with_fits: Store) -> None:
    with with_fits.begin() as uow:
        kinds: tuple[EventKind, ...] = ("state", "end")
        for kind in kinds:
            for fit_id in ("fit_1", "fit_2"):
                uow.events.append(fit_id, kind, "{}")
        uow.events.reopen("fit_1", '{"code":"reopened"}')
        uow.events.append("fit_1", "state", "{}")
        # What goes on already is left as it is.
        uow.events.reopen("fit_1", "[]")
        journal = [(event.seq, event.kind, event.body) for event in uow.events.after("fit_1", 0, 10)]
        assert journal == [(1, "state", "{}"), (2, "log", '{"code":"reopened"}'), (3, "state", "{}")]
        assert [event.kind for event in uow.events.after("fit_2", 0, 10)] == ["state", "end"]
