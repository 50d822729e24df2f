"""Hostile `.npz` archives by name: bytes, and the code with which they are refused."""

import io
import stat
import struct
import zipfile
import zlib

import numpy as np

from tests.security.corpus.entries import Entries


def npy(array: np.ndarray) -> bytes:
    file = io.BytesIO()
    np.save(file, array)
    return file.getvalue()


def savez(compressed: bool = False, **arrays_by_name: np.ndarray) -> bytes:
    file = io.BytesIO()
    (np.savez_compressed if compressed else np.savez)(file, **arrays_by_name)
    return file.getvalue()


def archive(*members: tuple[str | zipfile.ZipInfo, bytes], method: int = zipfile.ZIP_STORED) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", method) as zip_file:
        for name, data in members:
            zip_file.writestr(name, data)
    return file.getvalue()


def member(name: str = "x.npy", data: bytes = npy(np.arange(4.0)), **changes: int | bytes) -> bytes:
    """An archive of one stored member, with fields of its headers changed.

    `flags`, `method`, `crc`, `packed` and `size` change both headers; `local_*` and `central_*` only one of them.
    """
    fields = {"flags": 0, "method": 0, "crc": zlib.crc32(data), "packed": len(data), "size": len(data), "offset": 0}
    body = changes.pop("body", data)
    assert isinstance(body, bytes)

    def of(header: str, field: str) -> int:
        return changes.get(f"{header}_{field}", changes.get(field, fields.get(field, 0)))

    raw_name = name.encode("utf-8")
    local = struct.pack(
        "<4s5H3L2H", b"PK\3\4", 20, of("local", "flags"), of("local", "method"), 0, 33,
        of("local", "crc"), of("local", "packed"), of("local", "size"), len(raw_name), 0,
    ) + raw_name  # fmt: skip
    central = struct.pack(
        "<4s6H3L5H2L", b"PK\1\2", 20, 20, of("central", "flags"), of("central", "method"), 0, 33,
        of("central", "crc"), of("central", "packed"), of("central", "size"), len(raw_name), 0, 0,
        of("central", "disk"), 0, of("central", "attributes"), of("central", "offset"),
    ) + raw_name  # fmt: skip
    start = len(local) + len(body)
    end = struct.pack("<4s4H2LH", b"PK\5\6", 0, 0, 1, 1, len(central), start, 0)
    return local + body + central + end


def overlapping(count: int) -> bytes:
    """One member, listed `count` times in the directory."""
    data = npy(np.zeros(4))
    one = archive(("x0.npy", data))
    start = one.index(b"PK\1\2")
    end = one.index(b"PK\5\6")
    entries = b"".join(one[start:end].replace(b"x0.npy", f"x{k:d}.npy".encode()) for k in range(count))
    closing = struct.pack("<4s4H2LH", b"PK\5\6", 0, 0, count, count, len(entries), start, 0)
    return one[:start] + entries + closing


def deflated(data: bytes, declared: int | None = None, tail: bytes = b"") -> bytes:
    packer = zlib.compressobj(wbits=-15)
    packed = packer.compress(data) + packer.flush() + tail
    size = len(data) if declared is None else declared
    return member(data=data, body=packed, method=8, packed=len(packed), size=size)


def link(name: str) -> zipfile.ZipInfo:
    info = zipfile.ZipInfo(name)
    info.external_attr = (stat.S_IFLNK | 0o777) << 16
    return info


def twice() -> bytes:
    one = archive(("a.npy", npy(np.arange(3))), ("b.npy", npy(np.arange(3))))
    return one.replace(b"b.npy", b"a.npy")


GOOD = savez(x=np.arange(3), y=np.ones((3, 2)))
ONE = npy(np.arange(4.0))

REFUSED = Entries[tuple[bytes, str]]({
    "empty file": (b"", "empty"),
    "a .npy": (ONE, "bad_zip"),
    "shorter than an end record": (b"PK\5\6", "bad_zip"),
    "no members": (archive(), "no_columns"),
    "archive comment": (GOOD[:-2] + b"\1\0!", "bad_zip"),
    "trailing bytes": (GOOD + b"!", "bad_zip"),
    "leading bytes": (b"#!/bin/sh\n" + GOOD, "bad_zip"),
    "cut": (GOOD[: len(GOOD) // 2], "bad_zip"),
    "several disks": (member(central_disk=1), "bad_zip"),
    "bomb by ratio": lambda: (
        archive(("x.npy", npy(np.zeros(4 << 20))), method=zipfile.ZIP_DEFLATED), "ratio_too_large"
    ),
    "sum of sizes beyond the limit": (member(size=0xFFFFFFF0, packed=0xFFFFFFF0), "overlap"),
    "huge declared size": (member(method=8, size=0xFFFFFFF0, packed=len(ONE)), "ratio_too_large"),
    "zip64 size": (member(size=0xFFFFFFFF), "bad_zip"),
    "declares less than it holds": (deflated(ONE, declared=len(ONE) - 8), "truncated"),
    "declares more than it holds": (deflated(ONE, declared=len(ONE) + 8), "trailing_bytes"),
    "holds more than it declares": (deflated(ONE + bytes(8), declared=len(ONE)), "bad_zip"),
    "bytes behind the deflate stream": (deflated(ONE, tail=b"!"), "bad_zip"),
    "deflate stream cut off": (member(body=zlib.compress(ONE, wbits=-15)[:-4], method=8,
                                      packed=len(zlib.compress(ONE, wbits=-15)) - 4), "bad_zip"),
    "no deflate stream": (member(method=8, body=b"\xff" * len(ONE)), "bad_zip"),
    "stored with two sizes": (member(size=len(ONE) + 1), "bad_zip"),
    "wrong checksum": (member(crc=1), "bad_zip"),
    "same name twice": (twice(), "duplicate_name"),
    "parent folder": (archive(("../x.npy", ONE)), "bad_name"),
    "absolute path": (archive(("/etc/x.npy", ONE)), "bad_name"),
    "folder": (archive(("a/x.npy", ONE)), "bad_name"),
    "backslash": (member("a\\x.npy"), "bad_name"),
    "drive": (member("c:x.npy"), "bad_name"),
    "directory entry": (archive(("a/", b""), ("x.npy", ONE)), "bad_name"),
    "NUL in the name": (member("x\0.npy"), "bad_name"),
    "newline in the name": (member("x\n.npy"), "bad_name"),
    "accent in an encoding that is not said": (member("é.npy"), "bad_name"),
    "name without end": (archive(("x", ONE)), "bad_name"),
    "name of another kind": (archive(("x.pkl", ONE)), "bad_name"),
    "name of dots": (archive(("...npy", ONE)), "bad_name"),
    "empty name": (archive((".npy", ONE)), "bad_name"),
    "long name": (archive(("x" * 300 + ".npy", ONE)), "bad_name"),
    "long column name": (archive(("x" * 201 + ".npy", ONE)), "bad_name"),
    "symbolic link": (archive((link("x.npy"), b"/etc/passwd")), "bad_name"),
    "encrypted": (member(flags=0x1), "encrypted"),
    "strongly encrypted": (member(flags=0x41), "encrypted"),
    "encrypted directory": (member(flags=0x2000), "encrypted"),
    "patched data": (member(flags=0x20), "bad_zip"),
    "bzip2": (archive(("x.npy", ONE), method=zipfile.ZIP_BZIP2), "bad_method"),
    "lzma": (archive(("x.npy", ONE), method=zipfile.ZIP_LZMA), "bad_method"),
    "deflate64": (member(method=9), "bad_method"),
    "unknown method": (member(method=99), "bad_method"),
    "overlapping members": (overlapping(5), "overlap"),
    "too many members": (overlapping(257), "too_many_members"),
    "60 000 members": lambda: (overlapping(60_000), "too_many_members"),
    "bytes between members": (member(body=ONE + b"hidden!"), "overlap"),
    "packed size beyond the member": (member(packed=len(ONE) + 1, size=len(ONE) + 1), "overlap"),
    "local header elsewhere": (member(central_offset=5), "overlap"),
    "two names for one member": (member().replace(b"x.npy", b"y.npy", 1), "bad_zip"),
    "two methods": (member(local_method=8), "bad_zip"),
    "two sizes": (member(local_size=1), "bad_zip"),
    "two checksums": (member(local_crc=1), "bad_zip"),
    "object array": (archive(("x.npy", npy(np.array([{}], dtype=object)))), "bad_dtype"),
    "pickle": (archive(("x.npy", b"\x80\4\x95abcdefg")), "bad_magic"),
    "empty member": (archive(("x.npy", b"")), "truncated"),
    "trailing bytes in a member": (archive(("x.npy", ONE + b"!")), "trailing_bytes"),
    "scalar": (savez(x=np.array(1.0)), "no_rows"),
    "unequal rows": (savez(x=np.zeros(3), y=np.zeros(4)), "unequal_rows"),
})  # fmt: skip
