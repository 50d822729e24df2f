from collections.abc import Callable
from dataclasses import replace

import pytest

from app.domain.errors import Invalid
from app.domain.fit import FitRecord
from app.domain.records import GradientRecord
from app.store.pages import PageRequest, encode_cursor
from app.store.unit_of_work import Store, UnitOfWork

EXAMPLE = GradientRecord("fit_1", 0, "w", "float32", [2, 3], "a" * 64, 152)


@pytest.fixture
def stored(store: Store, a_fit: Callable[..., FitRecord]) -> Store:
    """Store a fit that captured three gradients at each of four steps."""
    with store.begin() as work:
        work.fits.add(a_fit())
        work.fits.add(a_fit("fit_2"))
        for step in (100, 0, 9, 50):
            for name in ("w", "b", "block/w.1"):
                work.gradients.add(
                    replace(EXAMPLE, step=step, parameter=name, digest=f"{step:x}{name[0]}".rjust(64, "0"))
                )
    return store


def places(work: UnitOfWork, page: PageRequest, **wanted: object) -> tuple[list[tuple[int, str]], str | None]:
    found = work.gradients.list("fit_1", page, **wanted)  # type: ignore[arg-type]  # of several types
    return [(each.step, each.parameter) for each in found.items], found.next_cursor


@pytest.mark.parametrize("order", ["asc", "desc"])
@pytest.mark.parametrize("limit", [1, 5, 12, 100])
def test_pages_make_up_the_whole_in_the_order_of_steps_and_names(stored: Store, order: str, limit: int) -> None:
    expected = sorted((step, name) for step in (0, 9, 50, 100) for name in ("w", "b", "block/w.1"))
    gathered: list[tuple[int, str]] = []
    cursor = None
    with stored.begin() as work:
        while True:
            page, cursor = places(work, PageRequest(limit, cursor, order))  # type: ignore[arg-type]  # a Literal
            gathered += page
            assert len(page) == limit or cursor is None
            if cursor is None:
                break
    assert gathered == (expected if order == "asc" else expected[::-1])


def test_a_cursor_stays_valid_while_gradients_come(stored: Store) -> None:
    with stored.begin() as work:
        first, cursor = places(work, PageRequest(4, None, "asc"))
        work.gradients.add(replace(EXAMPLE, step=9, parameter="a"))
        work.gradients.add(replace(EXAMPLE, step=0, parameter="a"))
        rest, _ = places(work, PageRequest(100, cursor, "asc"))
    assert not {*first} & {*rest}
    assert (0, "a") not in rest
    assert len(first) + len(rest) == 12


def test_gradients_are_listed_by_step_and_by_parameter(stored: Store) -> None:
    with stored.begin() as work:
        assert places(work, PageRequest(), step=9) == ([(9, "w"), (9, "block/w.1"), (9, "b")], None)
        assert places(work, PageRequest(order="asc"), parameter="b")[0] == [(0, "b"), (9, "b"), (50, "b"), (100, "b")]
        assert places(work, PageRequest(), step=1) == ([], None)


def test_the_latest_is_found_unless_a_step_is_named(stored: Store) -> None:
    with stored.begin() as work:
        latest = work.gradients.find("fit_1", "w")
        assert latest is not None
        assert (latest.step, latest.shape) == (100, [2, 3])
        assert work.gradients.find("fit_1", "w", 9) == replace(EXAMPLE, step=9, digest="9w".rjust(64, "0"))
        assert work.gradients.find("fit_1", "w", 10) is None
        assert work.gradients.find("fit_2", "w") is None


def test_what_is_stored_stays(stored: Store) -> None:
    other = replace(EXAMPLE, digest="f" * 64)
    with stored.begin() as work:
        before = work.gradients.find("fit_1", "w", 0)
        assert work.gradients.add(other) == before
        assert work.gradients.find("fit_1", "w", 0) == before
        assert work.gradients.add(replace(other, step=1)) is None


def test_a_long_record_is_reported_by_its_first_steps_and_its_last(stored: Store) -> None:
    with stored.begin() as work:
        assert work.gradients.steps("fit_1") == [0, 9, 50, 100]
        for step in range(200, 300):
            work.gradients.add(replace(EXAMPLE, step=step))
        steps = work.gradients.steps("fit_1")
        assert (steps[:5], steps[-1]) == ([0, 9, 50, 100, 200], 299)
        assert len(steps) < 30
        assert work.gradients.parameters("fit_1") == ["b", "block/w.1", "w"]
        assert work.gradients.steps("fit_2") == work.gradients.parameters("fit_2") == []


@pytest.mark.parametrize("last", ["fit_1", "1", "-1/w", "01/w", "99999999999999999999/w", "1/", "1/" + "w" * 65])
def test_a_cursor_of_another_list_is_refused(stored: Store, last: str) -> None:
    with stored.begin() as work, pytest.raises(Invalid) as caught:
        work.gradients.list("fit_1", PageRequest(cursor=encode_cursor(last)))
    assert [finding.pointer for finding in caught.value.findings] == ["/cursor"]


def test_gradients_go_with_their_fit(stored: Store) -> None:
    with stored.begin() as work:
        work.fits.delete("fit_1")
        assert work.gradients.find("fit_1", "w") is None
        assert work.blob_references.all() == frozenset()
