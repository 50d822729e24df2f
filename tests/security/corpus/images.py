"""Hostile zip files of images by name: the bytes, and the code with which they are refused."""

import io
import stat
import struct
import zipfile
import zlib
from collections.abc import Callable
from importlib.util import find_spec
from typing import Any

from tests.security.corpus.entries import Entries
from tests.security.corpus.npz import archive, member

Members = tuple[str | zipfile.ZipInfo, bytes]


def picture(format: str = "PNG", mode: str = "RGB", size: tuple[int, int] = (3, 2), **options: Any) -> bytes:
    """An image of one colour; `size` is width, height."""
    from PIL import Image

    file = io.BytesIO()
    Image.new(mode, size).save(file, format, **options)
    return file.getvalue()


def chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def png(width: int, height: int, depth: int = 8, colour: int = 2, data: bytes = b"", more: bytes = b"") -> bytes:
    """A PNG whose header says what it likes."""
    header = chunk(b"IHDR", struct.pack(">2I5B", width, height, depth, colour, 0, 0, 0))
    return b"\x89PNG\r\n\x1a\n" + header + more + chunk(b"IDAT", zlib.compress(data)) + chunk(b"IEND", b"")


def animated() -> bytes:
    from PIL import Image

    file = io.BytesIO()
    frames = [Image.new("L", (3, 2), shade) for shade in (0, 100, 200)]
    frames[0].save(file, "PNG", save_all=True, append_images=frames[1:])
    return file.getvalue()


def link(name: str) -> zipfile.ZipInfo:
    info = zipfile.ZipInfo(name)
    info.external_attr = (stat.S_IFLNK | 0o777) << 16
    return info


def refused() -> Entries[tuple[bytes, str]]:
    """The files, whose images Pillow makes."""
    good, jpeg = picture(), picture("JPEG")
    pixels = b"".join(b"\0" + bytes(9) for _ in range(2))
    files: dict[str, tuple[bytes, str] | Callable[[], tuple[bytes, str]]] = {
        "nothing in it": (archive(), "no_columns"),
        "no images": (archive(("a/", b"")), "no_rows"),
        "another file": (archive(("a.png", good), ("a.exe", b"MZ")), "bad_name"),
        "an animation of GIF": (archive(("a.gif", picture("GIF", "L"))), "bad_name"),
        "a path upwards": (archive(("../a.png", good)), "bad_name"),
        "a path upwards within": (archive(("a/../../b.png", good)), "bad_name"),
        "a path from the root": (archive(("/etc/a.png", good)), "bad_name"),
        "a path of Windows": (archive(("a\\b.png", good)), "bad_name"),
        "a drive": (archive(("C:a.png", good)), "bad_name"),
        "a control character": (archive(("a\nb.png", good)), "bad_name"),
        "a symbolic link": (archive((link("a.png"), b"/etc/passwd")), "bad_name"),
        "a link to a folder": (archive((link("a/"), b"")), "bad_name"),
        "the same name twice": (_twice("a.png", good), "duplicate_name"),
        "encrypted": (member("a.png", good, flags=1), "encrypted"),
        "bytes before the archive": (good + archive(("a.png", good)), "bad_zip"),
        "bytes behind the archive": (archive(("a.png", good)) + good, "bad_zip"),
        "a wrong checksum": (member("a.png", good, crc=1), "bad_zip"),
        "an archive that expands": lambda: (
            zip_of(("a.png", png(1000, 1000, data=bytes(1)) + bytes(30 << 20))),
            "ratio_too_large",
        ),
        "JPEG called PNG": (archive(("a.png", jpeg)), "bad_image"),
        "PNG called JPEG": (archive(("a.jpeg", good)), "bad_image"),
        "a page called PNG": (archive(("a.png", b"<script>alert(1)</script>")), "bad_image"),
        "an image that is a zip file too": (archive(("a.png", good + archive(("b", b"")))), "bad_image"),
        "empty": (archive(("a.png", b"")), "bad_image"),
        "a header of PNG only": (archive(("a.png", good[:8])), "bad_image"),
        "PNG cut off": (archive(("a.png", good[:-20])), "bad_image"),
        "JPEG cut off": (archive(("a.jpg", jpeg[: len(jpeg) // 2])), "bad_image"),
        "JPEG cut off in its header": (archive(("a.jpg", jpeg[:30])), "bad_image"),
        "too few pixels": (archive(("a.png", png(3, 2, data=pixels[:-5]))), "bad_image"),
        "no pixels": (archive(("a.png", png(0, 0))), "bad_image"),
        "a wrong checksum within": (archive(("a.png", png(3, 2, data=pixels).replace(b"IDAT", b"IDAU"))), "bad_image"),
        "a bomb": (archive(("a.png", png(60_000, 60_000, data=bytes(1000)))), "too_many_pixels"),
        "a bomb of JPEG": (archive(("a.jpg", resized(jpeg, 65_000, 65_000))), "too_many_pixels"),
        "a text that expands": lambda: (
            archive(("a.png", png(3, 2, data=pixels, more=text(64 << 20)))),
            "bad_image",
        ),
        "16 bits a sample": (archive(("a.png", png(3, 2, depth=16, data=pixels))), "unsupported_image"),
        "16 bits of grey": (archive(("a.png", picture(mode="I;16"))), "unsupported_image"),
        "CMYK": (archive(("a.jpg", picture("JPEG", "CMYK"))), "unsupported_image"),
        "animated": (archive(("a.png", animated())), "unsupported_image"),
        "transparent": (archive(("a.png", picture(mode="RGBA"))), "unsupported_image"),
        "images of two sizes": (archive(("a.png", good), ("b.png", picture(size=(4, 4)))), "unequal_images"),
        "images at two depths": (archive(("a.png", good), ("b/b.png", good)), "bad_labels"),
        "two CSV files": (archive(("a.png", good), ("a.csv", b"f,y\n"), ("b.csv", b"f,y\n")), "bad_labels"),
        "labels of another image": (archive(("a.png", good), ("a.csv", b"f,y\nb.png,1\n")), "bad_labels"),
        "labels of a file elsewhere": (archive(("a.png", good), ("a.csv", b"f,y\n/etc/passwd,1\n")), "bad_labels"),
        "an image labelled twice": (archive(("a.png", good), ("a.csv", b"f,y\na.png,1\na.png,2\n")), "bad_labels"),
        "an image without label": (
            archive(("a.png", good), ("b.png", good), ("a.csv", b"f,y\na.png,1\n")),
            "bad_labels",
        ),
        "a large member": lambda: (archive(("a.png", good + bytes(33 << 20))), "expanded_too_large"),
        "labels of one column": (archive(("a.png", good), ("a.csv", b"f\na.png\n")), "bad_labels"),
        "a label called image": (archive(("a.png", good), ("a.csv", b"f,image\na.png,1\n")), "duplicate_name"),
    }
    return Entries(files)


def zip_of(*members: Members) -> bytes:
    return archive(*members, method=zipfile.ZIP_DEFLATED)


def _twice(name: str, data: bytes) -> bytes:
    """An archive with the same name twice, as `zipfile` would write it with a warning."""
    return archive((name, data), (name.replace("a", "b"), data)).replace(b"b.png", b"a.png")


def text(size: int) -> bytes:
    return chunk(b"zTXt", b"Comment\0\0" + zlib.compress(bytes(size)))


def resized(jpeg: bytes, width: int, height: int) -> bytes:
    """A JPEG whose frame header says another size."""
    place = jpeg.index(b"\xff\xc0") + 5
    return jpeg[:place] + struct.pack(">2H", height, width) + jpeg[place + 4 :]


INSTALLED = find_spec("PIL") is not None
REFUSED = refused() if INSTALLED else Entries[tuple[bytes, str]]({})
GOOD = (
    [
        archive(("a/1.png", picture()), ("b/2.jpg", picture("JPEG"))),
        zip_of(("1.png", picture(mode="P")), ("y.csv", b"f,y\n1.png,2\n")),
    ]
    if INSTALLED
    else [archive(("a/", b""))]
)
