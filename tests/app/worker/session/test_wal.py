"""The log's records: whole ones are read, a torn end is none, and damage to what was acknowledged is neither."""

from struct import pack
from zlib import crc32

import pytest

from app.worker.session.wal import DamagedLog, read_records, to_record

BODIES = [b"", b"a" * 100, b"\xabLOG" * 30, b"z"]


def written(synced: list[int] | None = None) -> bytes:
    log = b""
    for place, body in enumerate(BODIES):
        log += to_record({"place": place}, body, len(log) if synced is None else synced[place])
    return log


def test_records_read_back() -> None:
    log = written()
    records = read_records(log)
    assert [(record.head, record.body) for record in records] == [({"place": n}, body) for n, body in enumerate(BODIES)]
    assert records[0].start == 0
    assert records[-1].end == len(log)


def test_a_log_that_ends_anywhere_gives_the_records_before() -> None:
    log = written()
    ends = [record.end for record in read_records(log)]
    for size in range(len(log)):
        assert len(read_records(log[:size])) == sum(end <= size for end in ends), size


def test_damage_before_what_was_written_later_is_reported() -> None:
    log = written()
    last = read_records(log)[-1].start
    for place in range(last):
        broken = bytearray(log)
        broken[place] ^= 0x40
        with pytest.raises(DamagedLog, match="byte"):
            read_records(bytes(broken))


def test_damage_to_the_last_record_is_as_if_it_had_not_been_written() -> None:
    log = written()
    last = read_records(log)[-1].start
    for place in range(last, len(log)):
        broken = bytearray(log)
        broken[place] ^= 0x40
        assert len(read_records(bytes(broken))) == len(BODIES) - 1


def test_records_of_one_write_may_be_torn_in_any_order() -> None:
    first = len(to_record({"place": 0}, b"", 0))
    log = bytearray(written([0, first, first, first]))
    log[first + 3] ^= 1
    assert [record.head for record in read_records(bytes(log))] == [{"place": 0}]


def forged(count: int, place: int) -> bytes:
    """Encode beginnings of records that all claim to last to the end, and to have followed a sync beyond `place`."""
    size = len(to_record({}, b"", 0)) - len(b"{}")
    marks = [b"\xabLOG" + pack("!IIQQ", 0, 0, (count - number - 1) * size, place + 1) for number in range(count)]
    return b"".join(marks)


@pytest.mark.parametrize("count", [100, 3000])
def test_forged_marks_behind_a_torn_end_are_looked_at_in_linear_work(
    count: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = to_record({"place": 0}, b"", 0)
    log = whole + to_record({"place": 1}, forged(count, len(whole)) + b"torn", len(whole))[:-1]
    summed = []

    def counting(data: bytes, value: int = 0) -> int:
        summed.append(len(data))
        return crc32(data, value)

    monkeypatch.setattr("app.worker.session.wal.crc32", counting)
    with pytest.raises(DamagedLog):
        read_records(log)
    assert sum(summed) <= 6 * len(log)


def test_what_only_looks_like_a_record_behind_a_torn_end_is_none() -> None:
    whole = to_record({"place": 0}, b"", 0)
    log = whole + to_record({"place": 1}, forged(2, len(whole)) + b"torn", len(whole))[:-1]
    assert [record.head for record in read_records(log)] == [{"place": 0}]
