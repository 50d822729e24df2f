from collections.abc import Callable
from typing import Literal

import pytest

from app.domain.errors import Invalid
from app.domain.fit import FitRecord
from app.domain.ids import new_id
from app.store.pages import Page, PageRequest, decode_cursor, encode_cursor
from app.store.unit_of_work import Store


@pytest.mark.parametrize("last_id", [new_id("fit"), new_id("ckpt"), "ds_1"], ids=["fit", "checkpoint", "short"])
def test_a_cursor_reads_back(last_id: str) -> None:
    assert decode_cursor(encode_cursor(last_id)) == last_id


@pytest.mark.parametrize(
    "cursor",
    [
        "",
        "fit_1",
        "!!!!",
        encode_cursor("fit_1") + "=",
        encode_cursor("fit_1") + "A",
        encode_cursor("fit_1") + "\n",
        encode_cursor("../../etc/passwd"),
        encode_cursor("fit_" + "0" * 1000),
        encode_cursor("fit_\x00"),
        "/w",
        "\u0660\u0661",
        "Zml0XzF=",
    ],
)
def test_anything_else_is_refused_with_a_pointer(cursor: str) -> None:
    with pytest.raises(Invalid) as caught:
        decode_cursor(cursor)
    assert [finding.pointer for finding in caught.value.findings] == ["/cursor"]


@pytest.fixture
def seven(store: Store, a_fit: Callable[..., FitRecord]) -> Store:
    with store.begin() as uow:
        for number in range(7):
            uow.fits.add(a_fit(f"fit_{number}"))
    return store


def ids(page: Page[FitRecord]) -> list[str]:
    return [fit.id for fit in page.items]


@pytest.mark.parametrize("order", ["asc", "desc"])
@pytest.mark.parametrize("limit", [1, 2, 3, 6, 7, 8])
def test_pages_show_everything_once_in_order(seven: Store, order: Literal["asc", "desc"], limit: int) -> None:
    found: list[str] = []
    request = PageRequest(limit, order=order)
    with seven.begin() as uow:
        while True:
            page = uow.fits.list(request)
            assert len(page.items) <= limit
            found += ids(page)
            if page.next_cursor is None:
                break
            request = PageRequest(limit, page.next_cursor, order)
    assert found == sorted((f"fit_{number}" for number in range(7)), reverse=order == "desc")


def test_an_empty_list_has_no_next_page(store: Store) -> None:
    with store.begin() as uow:
        assert uow.fits.list(PageRequest()) == Page((), None)


def test_a_cursor_stays_valid_while_rows_come_and_go(seven: Store, a_fit: Callable[..., FitRecord]) -> None:
    with seven.begin() as uow:
        first = uow.fits.list(PageRequest(3))
        assert ids(first) == ["fit_6", "fit_5", "fit_4"]
        uow.fits.add(a_fit("fit_8"))
        uow.fits.delete("fit_4")
        uow.fits.delete("fit_3")
        assert ids(uow.fits.list(PageRequest(3, first.next_cursor))) == ["fit_2", "fit_1", "fit_0"]
