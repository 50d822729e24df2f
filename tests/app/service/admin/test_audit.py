"""Old entries of the audit trail leave the table for files and, in the end, go; at every moment it is one chain."""

import json
import shutil
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from app.cli.audit import BROKEN
from app.cli.commands import run
from app.domain.audit import DELETED, Act, TrailBroken, examined
from app.domain.errors import StorageFailed
from app.service.admin.audit import AUDIT, PARTIAL, AuditFiles, AuditLimits, AuditRotation
from app.store.pages import PageRequest
from app.store.unit_of_work import Store
from app.system.durable import Durable

ACT = Act("key_1", "create_fit", "/v1/fits/fit_1", "202", "req_1", "127.0.0.1")
TERMS = AuditLimits(entries=4, files=2)
"""Two entries leave at a time."""


class PowerCutError(BaseException):
    """The machine is off."""


class Outage(Durable):
    """Durable operations up to a power cut, after which there are none."""

    def __init__(self, at: int | None) -> None:
        super().__init__()
        self._at = at

    def about_to(self, operation: str, *paths: Path) -> None:
        if self._at is not None and self.operations + 1 >= self._at:
            raise PowerCutError
        super().about_to(operation, *paths)


class Place:
    """A data directory with an audit trail, opened anew each time."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.files = AuditFiles(folder / AUDIT, Durable())

    def enter(self, *names: str) -> None:
        with Store.open(self.folder) as store, store.begin() as work:
            work.audit.append(replace(ACT, request_id=name) for name in names)

    def rotate(self, at: int | None = None, terms: AuditLimits = TERMS) -> int:
        """Rotate up to a power cut; return how many operations there were."""
        durable = Outage(None)
        with closing(Store.open(self.folder, durable=durable)) as store:
            before = durable.operations
            durable._at = None if at is None else before + at
            AuditRotation(store, AuditFiles(self.folder / AUDIT, durable), terms).rotate()
            return durable.operations - before

    def trail(self) -> list[str]:
        """Return the trail in short, after having checked it."""
        with Store.open(self.folder) as store:
            entries = [*AuditRotation(store, self.files, TERMS).entries()]
        assert examined(entries).accounted
        return [entry.action if entry.action == DELETED else entry.request_id for entry in entries]

    def table(self) -> list[int]:
        with Store.open(self.folder) as store, store.begin() as work:
            return [entry.seq for entry in work.audit.list(PageRequest(order="asc")).items]

    def names(self) -> list[str]:
        folder = self.folder / AUDIT
        return sorted(path.name for path in folder.iterdir()) if folder.is_dir() else []


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


def test_what_is_too_much_for_the_table_is_moved_and_what_comes_later_follows_it(place: Place) -> None:
    place.enter(*"abcd")
    place.rotate()
    assert (place.table(), place.names()) == ([1, 2, 3, 4], [])
    place.enter("e")
    place.rotate()
    assert (place.table(), place.names()) == ([3, 4, 5], ["000000000001-000000000002.ndjson"])
    place.enter("f")
    assert place.trail() == [*"abcdef"]
    lines = (place.folder / AUDIT / place.names()[0]).read_text("utf-8").splitlines()
    assert [json.loads(line)["request_id"] for line in lines] == ["a", "b"]
    place.rotate()
    assert place.table() == [3, 4, 5, 6]


def test_the_oldest_files_go_and_the_trail_says_so(place: Place) -> None:
    place.enter(*"abcdefghij")
    place.rotate()
    assert place.names() == ["000000000003-000000000004.ndjson", "000000000005-000000000006.ndjson"]
    assert place.trail() == [*"cdefghij", DELETED]
    place.enter(*"klmnop")
    place.rotate()
    assert place.trail() == [DELETED, *"klmnop", DELETED]
    assert len(place.names()) == TERMS.files


@pytest.mark.parametrize("terms", [AuditLimits(), AuditLimits(10, 0), AuditLimits(25, 3)])
def test_it_comes_to_rest(place: Place, terms: AuditLimits) -> None:
    place.enter(*("x" for _ in range(60)))
    place.rotate(terms=terms)
    place.rotate(terms=terms)
    before = place.trail(), place.names()
    assert place.rotate(terms=terms) == 0
    assert (place.trail(), place.names()) == before
    assert len(place.table()) <= terms.entries
    assert len(place.names()) <= terms.files


def test_a_power_cut_at_any_operation_loses_and_doubles_nothing(tmp_path: Path) -> None:
    """With three files to write and two to delete; the next server completes what was cut off."""
    begun = [*"abcdefghijk"]
    place = Place(tmp_path / "whole")
    place.enter(*begun)
    count = place.rotate()
    expected = place.trail()
    assert count > 20
    untouched = Place(tmp_path / "untouched")
    untouched.enter(*begun)
    for at in range(1, count + 1):
        cut = Place(tmp_path / str(at))
        shutil.copytree(untouched.folder, cut.folder)
        with pytest.raises(PowerCutError):
            cut.rotate(at)
        left = cut.trail()
        names = [name for name in left if name != DELETED]
        assert names == begun[-len(names) :]
        assert len(names) == len(begun) or left[-1] == DELETED
        assert left.count(DELETED) <= 1
        cut.rotate()
        assert cut.trail() == expected
        assert PARTIAL not in cut.names()


def change_a_line(place: Place) -> None:
    path = place.folder / AUDIT / place.names()[0]
    path.write_text(path.read_text("utf-8").replace("create_fit", "delete_fit", 1), encoding="utf-8")


def spoil_a_line(place: Place) -> None:
    path = place.folder / AUDIT / place.names()[0]
    path.write_bytes(b"[1]\n" + path.read_bytes().partition(b"\n")[2])


def shorten(place: Place) -> None:
    path = place.folder / AUDIT / place.names()[0]
    path.write_bytes(path.read_bytes().partition(b"\n")[0] + b"\n")


def remove_the_first(place: Place) -> None:
    (place.folder / AUDIT / place.names()[0]).unlink()


def remove_the_last(place: Place) -> None:
    (place.folder / AUDIT / place.names()[-1]).unlink()


def remove_all(place: Place) -> None:
    for name in place.names():
        (place.folder / AUDIT / name).unlink()


@pytest.mark.parametrize(
    "tamper", [change_a_line, spoil_a_line, shorten, remove_the_first, remove_the_last, remove_all]
)
def test_what_is_done_to_a_file_is_noticed(
    place: Place, tamper: Callable[[Place], None], capsys: pytest.CaptureFixture[str]
) -> None:
    place.enter(*"abcdefgh")
    place.rotate()
    verify = ["audit", "verify", "--data-dir", str(place.folder)]
    assert run(verify) == 0
    assert capsys.readouterr().out.startswith("8 entries, unbroken; ")
    tamper(place)
    assert run(verify) == BROKEN
    assert "tampered" in capsys.readouterr().err


def test_a_deletion_that_is_on_record_is_reported_and_is_no_tampering(
    place: Place, capsys: pytest.CaptureFixture[str]
) -> None:
    place.enter(*"abcdefghij")
    place.rotate()
    assert run(["audit", "verify", "--data-dir", str(place.folder)]) == 0
    printed = capsys.readouterr().out
    assert printed.startswith("9 entries, unbroken; ")
    assert "the first one is 3; those before it were deleted" in printed


FORGERIES: dict[str, dict[str, Any]] = {
    "a method that a client has chosen": {"action": DELETED, "object": "/v1/audit/1-9", "result": "405"},
    "another action": {"object": "/v1/audit/1-9", "result": "0" * 64},
    "too few": {"action": DELETED, "object": "/v1/audit/1-1", "result": "0" * 64},
    "another hash": {"action": DELETED, "object": "/v1/audit/1-2", "result": "0" * 64},
    "another path": {"action": DELETED, "object": "/v1/audit/1-99/", "result": "0" * 64},
}


@pytest.mark.parametrize("forgery", FORGERIES.values(), ids=FORGERIES)
def test_no_client_can_account_for_entries_that_are_gone(place: Place, forgery: dict[str, Any]) -> None:
    place.enter(*"abcde")
    with Store.open(place.folder) as store, store.begin() as work:
        work.audit.append([replace(ACT, **forgery)])
        work.audit.drop(2)
        found = examined(work.audit.list(PageRequest(order="asc")).items)
    assert (found.first, found.last, found.accounted) == (3, 6, False)


def test_nothing_is_moved_where_files_and_table_do_not_fit(place: Place) -> None:
    place.enter(*"abcdef")
    place.rotate()
    place.enter(*"ghij")
    remove_the_last(place)
    (place.folder / AUDIT / "000000000001-000000000001.ndjson").write_bytes(b"{}\n")
    with pytest.raises(TrailBroken):
        place.rotate()
    assert place.table()[-1] == 10


def test_a_disk_that_fails_is_reported_and_the_entries_stay(place: Place) -> None:
    place.enter(*"abcdef")
    with Store.open(place.folder) as store:
        failing = AuditFiles(place.folder / AUDIT, Durable(fail_at=3))
        with pytest.raises(StorageFailed):
            AuditRotation(store, failing, TERMS).rotate()
    assert place.table() == [1, 2, 3, 4, 5, 6]
    place.rotate()
    assert place.trail() == [*"abcdef"]
