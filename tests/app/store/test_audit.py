from dataclasses import replace

import pytest

from app.domain.audit import Act, verified
from app.domain.errors import Invalid
from app.store.pages import PageRequest
from app.store.unit_of_work import Store

ACT = Act("key_1", "create_fit", "/v1/fits/fit_1", "202", "req_1", "127.0.0.1")


def append(store: Store, *names: str) -> None:
    with store.begin() as work:
        work.audit.append(replace(ACT, request_id=name) for name in names)


def test_acts_are_chained_within_and_between_units_of_work(store: Store) -> None:
    append(store, "a", "b")
    append(store)
    append(store, "c")
    with store.begin() as work:
        entries = work.audit.list(PageRequest(order="asc")).items
    assert [(entry.seq, entry.request_id) for entry in entries] == [(1, "a"), (2, "b"), (3, "c")]
    assert verified(entries) == (3, entries[-1].hash)


def test_the_trail_is_read_a_page_at_a_time_in_either_order(store: Store) -> None:
    append(store, *"abcde")
    with store.begin() as work:
        for order, expected in (("asc", "abcde"), ("desc", "edcba")):
            reported, cursor = "", None
            while True:
                page = work.audit.list(PageRequest(2, cursor, "asc" if order == "asc" else "desc"))
                reported += "".join(entry.request_id for entry in page.items)
                cursor = page.next_cursor
                if cursor is None:
                    break
            assert reported == expected


def test_a_cursor_of_another_list_is_refused(store: Store) -> None:
    with store.begin() as work, pytest.raises(Invalid, match="cursor"):
        work.audit.list(PageRequest(cursor="Zml0XzE"))
