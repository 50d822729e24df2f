"""Hostile images as bytes in Arrow and Parquet files by name: the bytes, and the code with which they are refused."""

import io
from collections.abc import Callable
from functools import partial
from importlib.util import find_spec
from typing import Any

from tests.security.corpus.entries import Entries
from tests.security.corpus.images import INSTALLED as PILLOW
from tests.security.corpus.images import animated, picture, png, resized, text

INSTALLED = PILLOW and find_spec("pyarrow") is not None


def arrow_file(rows: Any) -> bytes:
    """The rows of a table as an Arrow file."""
    import pyarrow as pa

    file = io.BytesIO()
    with pa.ipc.new_file(file, rows.schema) as writer:
        writer.write_table(rows)
    return file.getvalue()


def parquet_file(rows: Any, **options: Any) -> bytes:
    """The rows of a table as a Parquet file."""
    from pyarrow import parquet

    file = io.BytesIO()
    parquet.write_table(rows, file, **options)
    return file.getvalue()


WRITERS = {"arrow": arrow_file, "parquet": parquet_file}


def images() -> Entries[tuple[list[Any], str]]:
    """Values of a column, of which the last one is refused."""
    good, jpeg, pixels = picture(), picture("JPEG"), b"".join(b"\0" + bytes(9) for _ in range(2))
    columns: dict[str, tuple[list[Any], str] | Callable[[], tuple[list[Any], str]]] = {
        "no image": ([b"\0\1"], "bad_dtype"),
        "no image later": ([good, b"<script>alert(1)</script>"], "bad_image"),
        "nothing": ([good, b""], "bad_image"),
        "a missing image": ([good, None], "missing_value"),
        "GIF": ([good, picture("GIF", "L")], "bad_image"),
        "PNG cut off": ([good, good[:-20]], "bad_image"),
        "a header of PNG only": ([good, good[:8]], "bad_image"),
        "JPEG cut off": ([good, jpeg[: len(jpeg) // 2]], "bad_image"),
        "too few pixels": ([good, png(3, 2, data=pixels[:-5])], "bad_image"),
        "bytes behind the image": ([good, good + b"PK\3\4"], "bad_image"),
        "a bomb": ([good, png(60_000, 60_000, data=bytes(1000))], "too_many_pixels"),
        "a bomb of JPEG": ([good, resized(jpeg, 65_000, 65_000)], "too_many_pixels"),
        "a text that expands": lambda: ([good, png(3, 2, data=pixels, more=text(64 << 20))], "bad_image"),
        "16 bits a sample": ([good, png(3, 2, depth=16, data=pixels)], "unsupported_image"),
        "CMYK": ([good, picture("JPEG", "CMYK")], "unsupported_image"),
        "animated": ([good, animated()], "unsupported_image"),
        "transparent": ([good, picture(mode="RGBA")], "unsupported_image"),
        "images of two sizes": ([good, picture(size=(4, 4))], "unequal_images"),
        "a large image": lambda: ([good, good + bytes(33 << 20)], "expanded_too_large"),
    }
    return Entries(columns)


def refused() -> Entries[tuple[str, bytes, str]]:
    """Files by name, with their formats: each value as bytes and in a structure, in turns."""
    columns = images()

    def file(format: str, name: str, nested: bool) -> tuple[str, bytes, str]:
        import pyarrow as pa

        values, code = columns[name]
        if nested and None not in values:
            values = [{"bytes": value, "path": "a.png"} for value in values]
        rows = pa.table({"x": values, "y": range(len(values))})
        return format, WRITERS[format](rows), code

    return Entries(
        {
            f"{name} in {format.capitalize()}": partial(file, format, name, bool(number % 2))
            for number, name in enumerate(columns)
            for format in WRITERS
        }
    )


def good() -> dict[str, list[bytes]]:
    """Files that are taken, by format."""
    import pyarrow as pa

    plain = pa.table({"x": [picture(), picture("JPEG")], "y": [1, 2]})
    nested = pa.table({"x": [{"bytes": picture(mode="P"), "path": None}, {"bytes": picture(), "path": "b"}]})
    return {
        "arrow": [arrow_file(plain), arrow_file(nested)],
        "parquet": [parquet_file(plain), parquet_file(nested, compression="none")],
    }


REFUSED = refused() if INSTALLED else Entries[tuple[str, bytes, str]]({})
GOOD: dict[str, list[bytes]] = good() if INSTALLED else {"arrow": [], "parquet": []}
