from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any, Literal

import pytest

from app.domain.errors import Invalid
from app.domain.fit import FitRecord
from app.domain.ids import new_id
from app.store.lists import ALL, Filters
from app.store.pages import PageRequest, encode_cursor
from app.store.unit_of_work import Store

BEGIN = datetime(2026, 1, 1, tzinfo=UTC)
NAMES = ["b", "a", "", "ab", "\u00e4", "a", "A", "a%", "\U0010ffff", "a\U0010ffffz", "z\ud7ff", "z\ue000"]


@pytest.fixture
def named(store: Store, a_fit: Callable[..., FitRecord]) -> Store:
    with store.begin() as work:
        for number, name in enumerate(NAMES):
            moments: dict[str, Any] = {
                "created_at": BEGIN + timedelta(hours=number),
                "finished_at": None if number % 3 else BEGIN + timedelta(days=number),
            }
            work.fits.add(replace(a_fit(f"fit_{number:02}"), name=name, step=number % 4, **moments))
    return store


KEYS: dict[str, Callable[[FitRecord], Any]] = {
    "created_at": lambda fit: fit.id,
    "name": lambda fit: (fit.name, fit.id),
    "step": lambda fit: (fit.step, fit.id),
    "finished_at": lambda fit: (fit.finished_at or datetime.max.replace(tzinfo=UTC), fit.id),
}


def pages(store: Store, request: PageRequest, filters: Filters = ALL) -> Iterator[list[FitRecord]]:
    while True:
        with store.begin() as work:
            page = work.fits.list(request, filters)
        yield list(page.items)
        if page.next_cursor is None:
            return
        request = replace(request, cursor=page.next_cursor)


@pytest.mark.parametrize("order", ["asc", "desc"])
@pytest.mark.parametrize("order_by", KEYS)
def test_pages_of_any_order_show_everything_once_while_rows_are_added(
    named: Store, a_fit: Callable[..., FitRecord], order_by: str, order: Literal["asc", "desc"]
) -> None:
    with named.begin() as work:
        expected = sorted(work.fits.list(PageRequest(100)).items, key=KEYS[order_by], reverse=order == "desc")
    found: list[FitRecord] = []
    for page in pages(named, PageRequest(5, None, order, order_by)):
        found += page
        with named.begin() as work:  # equal to the last entry but for its id, so that it is on a page before or after
            work.fits.add(replace(page[-1], id=new_id("fit")))
    ids = {fit.id for fit in expected}
    assert [fit.id for fit in found if fit.id in ids] == [fit.id for fit in expected]
    assert len({fit.id for fit in found}) == len(found)


FOUND = [
    (Filters(name="a"), ["fit_01", "fit_05"]),
    (Filters(name_prefix="a"), ["fit_01", "fit_03", "fit_05", "fit_07", "fit_09"]),
    (Filters(name_prefix="a%"), ["fit_07"]),
    (Filters(name_prefix="a\U0010ffff"), ["fit_09"]),
    (Filters(name_prefix="\U0010ffff"), ["fit_08"]),
    (Filters(name_prefix="z\ud7ff"), ["fit_10"]),
    (Filters(created_after=BEGIN + timedelta(hours=9)), ["fit_10", "fit_11"]),
    (Filters(created_before=BEGIN + timedelta(hours=1)), ["fit_00"]),
    (Filters(name_prefix="a", created_before=BEGIN + timedelta(hours=4)), ["fit_01", "fit_03"]),
]


@pytest.mark.parametrize(("filters", "expected"), FOUND)
def test_filters_find_by_name_and_by_age(named: Store, filters: Filters, expected: list[str]) -> None:
    assert [fit.id for page in pages(named, PageRequest(2, order="asc"), filters) for fit in page] == expected


def test_a_name_that_nothing_has_suggests_the_nearest(store: Store, a_fit: Callable[..., FitRecord]) -> None:
    with store.begin() as work:
        work.fits.add(replace(a_fit("fit_1"), name="digits-mlp"))
        (finding,) = work.fits.list(PageRequest(), Filters(name="digits-mpl")).findings
        assert (finding.pointer, finding.code) == ("/name", "no_match")
        assert "did you mean 'digits-mlp'" in finding.detail
        assert work.fits.list(PageRequest(), Filters(name="digits-mlp", state="failed")).findings == ()


@pytest.mark.parametrize(
    "place",
    ["fit_01", '["step",1,"fit_01"]', '["name",1e999,"fit_01"]', '["name","a","../x"]', '["name",1,"fit_01"]',
     '["name","\\ud800","fit_1"]',
     '["name",null,"fit_1"]', '["name","a","fit_1","b"]', '["name",true,"fit_1"]', '["name","a\\u0000","fit_1"]',
     f'["name",{2**63},"fit_1"]', '["name",' + "[" * 2000 + '"fit_1"]'],
)  # fmt: skip
def test_a_cursor_of_another_order_is_refused(named: Store, place: str) -> None:
    request = PageRequest(2, encode_cursor(place), order_by="name")
    with named.begin() as work, pytest.raises(Invalid) as caught:
        work.fits.list(request)
    assert caught.value.code == "invalid_cursor"


def test_lists_by_name_and_age_are_read_from_indexes(store: Store, backend_name: str) -> None:
    if backend_name != "sqlite":
        pytest.skip("PostgreSQL chooses by the statistics of the table")
    with store.begin() as work:
        connection = work.fits._connection
        for table in ("fits", "datasets", "graphs", "sessions"):
            for condition, index in (("ORDER BY name, id", "name_id"), ("AND created_at > 5", "created_at")):
                query = f"EXPLAIN QUERY PLAN SELECT id FROM {table} WHERE tenant = 'default' {condition} LIMIT 9"
                (plan,) = (row[-1] for row in connection.exec_driver_sql(query))
                assert f"ix_{table}_tenant_{index}" in plan
