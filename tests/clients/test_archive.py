"""Backups that are none, distinguished from whole ones."""

import hashlib
import io
import json
import tarfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from adjoint_client import BackupDamaged
from adjoint_client.archive import Nowhere, Write, read_archive

AUDIT_FILE = "000000000001-000000010000.ndjson"
SESSION_FILE = "sess_01m7xpv32a4ykd0nsmnkebvv3p/log-7"
BLOBS = {hashlib.sha256(content).hexdigest(): content for content in (b"rows", b"", b"x" * 100_000)}
DATABASE = b"a database " * 100
END = bytes(1024)


def entry(name: str, content: bytes, kind: bytes = tarfile.REGTYPE, link: str = "") -> bytes:
    header = tarfile.TarInfo(name)
    header.size, header.type, header.linkname = len(content), kind, link
    return header.tobuf(tarfile.GNU_FORMAT) + content + bytes(-len(content) % 512)


def document(**changes: Any) -> dict[str, Any]:
    manifest = {
        "format": "adjoint-backup/3",
        "version": "1",
        "revision": "0005",
        "made_at": "2026-01-01T00:00:00.000Z",
        "counts": {"fits": 1},
        "database": {"digest": hashlib.sha256(DATABASE).hexdigest(), "size_bytes": len(DATABASE)},
        "blobs": {digest: len(content) for digest, content in BLOBS.items()},
        "sessions": {SESSION_FILE: {"digest": hashlib.sha256(b"log").hexdigest(), "size_bytes": 3}},
        "audit": {AUDIT_FILE: {"digest": hashlib.sha256(b"trail").hexdigest(), "size_bytes": 5}},
    }
    return {**manifest, **changes}


def manifest(**changes: Any) -> bytes:
    return entry("manifest.json", json.dumps(document(**changes)).encode())


def archive(*extra: bytes, first: bytes = entry("adjoint.db", DATABASE), last: bytes | None = None) -> bytes:
    """Return a backup with more entries before its last one than there should be."""
    blobs = (entry(f"blobs/{digest}", content) for digest, content in BLOBS.items())
    files = entry(f"sessions/{SESSION_FILE}", b"log") + entry(f"audit/{AUDIT_FILE}", b"trail")
    return b"".join((first, *blobs, files, *extra, manifest() if last is None else last, END))


class Kept:
    """Keeps what it is given, as long as it turns out to be right."""

    def __init__(self) -> None:
        self.contents: list[bytes] = []
        self.paths: list[str] = []

    @contextmanager
    def database(self) -> Iterator[Write]:
        content = bytearray()
        yield content.extend
        self.contents.append(bytes(content))

    blob = database

    @contextmanager
    def session_file(self, path: str, /) -> Iterator[Write]:
        self.paths.append(path)
        with self.database() as write:
            yield write

    audit_file = session_file


OTHER = hashlib.sha256(b"other").hexdigest()
FORGED: dict[str, Callable[[], bytes]] = {
    "nothing": lambda: b"",
    "no archive": lambda: b"SQLite format 3\0" * 100,
    "compressed": lambda: b"\x1f\x8b" + bytes(1000),
    "zeros": lambda: bytes(10_240),
    "without its manifest": lambda: archive(last=b""),
    "without its database": lambda: archive(first=b""),
    "a path out": lambda: archive(entry("../../etc/passwd", b"x")),
    "an absolute path": lambda: archive(entry("/etc/passwd", b"x")),
    "a path out behind a digest": lambda: archive(entry(f"blobs/{OTHER}/../../x", b"other")),
    "an unknown name": lambda: archive(entry("adjoint.lock", b"")),
    "a name that is no text": lambda: archive(entry("blobs/\u00fc", b"")),
    "a session's path out": lambda: archive(entry("sessions/../../x/log-1", b"x")),
    "a session's lock": lambda: archive(entry("sessions/sess_01m7xpv32a4ykd0nsmnkebvv3p/lock", b"")),
    "a session's file twice": lambda: archive(entry(f"sessions/{SESSION_FILE}", b"log")),
    "a path out of the trail": lambda: archive(entry("audit/../000000000001-000000010000.ndjson", b"trail")),
    "a part of the trail twice": lambda: archive(entry(f"audit/{AUDIT_FILE}", b"trail")),
    "a part of the trail that is not listed": lambda: archive(entry(f"audit/{AUDIT_FILE.replace('1', '2')}", b"")),
    "a session's file that is not listed": lambda: archive(
        entry("sessions/sess_01m7xpv32a4ykd0nsmnkebvv3p/log-8", b"log")
    ),
    "a symbolic link": lambda: archive(entry(f"blobs/{OTHER}", b"", tarfile.SYMTYPE, "/etc/passwd")),
    "a hard link": lambda: archive(entry(f"blobs/{OTHER}", b"", tarfile.LNKTYPE, "adjoint.db")),
    "a link that looks like a file": lambda: archive(entry(f"blobs/{OTHER}", b"other", link="/etc/passwd")),
    "a folder": lambda: archive(entry("blobs/", b"", tarfile.DIRTYPE)),
    "a device": lambda: archive(entry(f"blobs/{OTHER}", b"", tarfile.CHRTYPE)),
    "extended headers": lambda: archive(entry("blobs/x", b"20 path=../evil.db\n\n", tarfile.XHDTYPE)),
    "a long name": lambda: archive(entry("././@LongLink", b"../" * 50, tarfile.GNUTYPE_LONGNAME)),
    "a sparse file": lambda: archive(entry(f"blobs/{OTHER}", b"other", tarfile.GNUTYPE_SPARSE)),
    "a blob twice": lambda: archive(entry(f"blobs/{next(iter(BLOBS))}", b"rows")),
    "a blob of other bytes": lambda: archive(entry(f"blobs/{OTHER}", b"another")),
    "a blob that is not listed": lambda: archive(entry(f"blobs/{OTHER}", b"other")),
    "a second database": lambda: archive(entry("adjoint.db", DATABASE)),
    "a database of other bytes": lambda: archive(first=entry("adjoint.db", DATABASE + b"!")),
    "a listed blob that is missing": lambda: archive(last=manifest(blobs={**document()["blobs"], OTHER: 5})),
    "another format": lambda: archive(last=manifest(format="adjoint-backup/4")),
    "no counts": lambda: archive(last=manifest(counts=[])),
    "a manifest that is no JSON": lambda: archive(last=entry("manifest.json", b"{")),
    "a manifest that is deep": lambda: archive(last=entry("manifest.json", b"[" * 60_000)),
    "a manifest that is no object": lambda: archive(last=entry("manifest.json", b"[]")),
    "a manifest that is large": lambda: archive(last=entry("manifest.json", b" " * 10_000_000)),
    "more behind its end": lambda: archive() + b"x",
    "something between entries": lambda: archive().replace(b"rows\0", b"rows!", 1),
    "an error": lambda: archive(last=entry("error.json", b'{"code": "blob_damaged", "detail": "blob 1 is missing"}')),
}


def test_a_whole_backup_is_read() -> None:
    kept = Kept()
    read = read_archive(io.BytesIO(archive()), kept)
    assert kept.contents == [DATABASE, *BLOBS.values(), b"log", b"trail"]
    assert (read.version, read.revision, read.counts) == ("1", "0005", {"fits": 1})
    assert read.blobs == document()["blobs"]
    assert read.sessions == {SESSION_FILE: 3}
    assert read.audit == {AUDIT_FILE: 5}
    assert read.database_bytes == len(DATABASE)


def test_a_backup_from_before_there_were_sessions_is_read() -> None:
    blobs = [entry(f"blobs/{digest}", content) for digest, content in BLOBS.items()]
    known = document(format="adjoint-backup/1").items()
    before = {name: value for name, value in known if name not in ("sessions", "audit")}
    last = entry("manifest.json", json.dumps(before).encode())
    read = read_archive(io.BytesIO(b"".join((entry("adjoint.db", DATABASE), *blobs, last, END))), Nowhere())
    assert (read.blobs, read.sessions, read.audit) == (document()["blobs"], {}, {})


@pytest.mark.parametrize("forgery", FORGED)
def test_anything_else_is_refused(forgery: str) -> None:
    kept = Kept()
    with pytest.raises(BackupDamaged):
        read_archive(io.BytesIO(FORGED[forgery]()), kept)
    assert not [path for path in kept.paths if ".." in path]  # it would have been written before it is refused


def test_a_torn_backup_is_noticed_wherever_it_is_torn() -> None:
    whole = archive()
    cuts = {*range(0, len(whole), 512), *range(len(whole) - 1100, len(whole)), 1, 511, 513}
    for cut in sorted(cuts):
        with pytest.raises(BackupDamaged):
            read_archive(io.BytesIO(whole[:cut]), Nowhere())


def test_wrong_bytes_are_not_kept() -> None:
    kept = Kept()
    with pytest.raises(BackupDamaged, match=OTHER):
        read_archive(io.BytesIO(archive(entry(f"blobs/{OTHER}", b"another"))), kept)
    assert kept.contents == [DATABASE, *BLOBS.values(), b"log", b"trail"]


def test_a_backup_that_the_server_gave_up_says_why() -> None:
    with pytest.raises(BackupDamaged, match="blob 1 is missing"):
        read_archive(io.BytesIO(FORGED["an error"]()), Nowhere())
