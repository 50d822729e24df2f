from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from app.domain.audit import GENESIS, Act, AuditRecord, TrailBroken, entered, verified

MOMENT = datetime(2026, 2, 3, 4, 5, 6, 789_012, UTC)
ACT = Act("key_1", "create_fit", "/v1/fits/fit_1", "202", "req_1", "127.0.0.1")


def trail(length: int) -> list[AuditRecord]:
    entries: list[AuditRecord] = []
    for seq in range(1, length + 1):
        previous = entries[-1].hash if entries else GENESIS
        entries.append(entered(replace(ACT, request_id=f"req_{seq}"), seq, MOMENT, previous))
    return entries


def test_a_trail_as_it_was_written_is_sound_and_shows_its_end() -> None:
    entries = trail(5)
    assert verified(entries) == (5, entries[-1].hash)
    assert verified([]) == (0, GENESIS)


def test_a_trail_is_checked_a_part_at_a_time() -> None:
    entries = trail(5)
    assert verified(entries[2:], after=verified(entries[:2])) == verified(entries)


def test_a_moment_is_kept_as_exactly_as_it_is_shown() -> None:
    assert entered(ACT, 1, MOMENT, GENESIS).at == MOMENT.replace(microsecond=789_000)


CHANGES: dict[str, dict[str, Any]] = {
    "who": {"key_id": None},
    "when": {"at": MOMENT + timedelta(seconds=1)},
    "what": {"action": "delete_fit"},
    "to what": {"object": "/v1/fits/fit_2"},
    "the result": {"result": "403"},
    "the request": {"request_id": "req_9"},
    "from where": {"address": "127.0.0.2"},
    "the hash": {"hash": "f" * 64},
    "what it follows": {"previous": "f" * 64},
    "its place": {"seq": 7},
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
@pytest.mark.parametrize("place", [0, 2, 4])
def test_no_field_of_any_entry_can_be_changed(place: int, change: dict[str, Any]) -> None:
    entries = trail(5)
    entries[place] = replace(entries[place], **change)
    with pytest.raises(TrailBroken) as caught:
        verified(entries)
    assert caught.value.seq == place + 1


def test_an_entry_rewritten_with_a_hash_of_its_own_does_not_fit_the_next() -> None:
    entries = trail(5)
    entries[1] = entered(replace(ACT, result="200"), 2, MOMENT, entries[0].hash)
    with pytest.raises(TrailBroken, match="entry 3: it does not follow"):
        verified(entries)


@pytest.mark.parametrize("place", [0, 2])
def test_an_entry_cannot_be_taken_out(place: int) -> None:
    entries = trail(5)
    del entries[place]
    with pytest.raises(TrailBroken, match=f"entry {place + 1}: it is missing"):
        verified(entries)


def test_two_fields_cannot_run_into_one_another() -> None:
    one = entered(replace(ACT, action="ab", object="c"), 1, MOMENT, GENESIS)
    other = entered(replace(ACT, action="a", object="bc"), 1, MOMENT, GENESIS)
    assert one.hash != other.hash
