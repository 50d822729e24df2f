"""Laws of images: what is read is what Pillow decodes, and damage is refused by name, in bounded time and memory.

`LAW_SEED` of the test report repeats a draw.
"""

import io
import os
import random
import zipfile
from typing import Any

import numpy as np
import pytest

from app.ingest.limits import MIB, IngestError, IngestLimits
from tests.extent import FULL
from tests.security.corpus.image_tables import arrow_file, parquet_file
from tests.security.corpus.npz import archive

Image = pytest.importorskip("PIL.Image")
arrow = pytest.importorskip("pyarrow")

DRAWS = int(os.environ.get("LAW_DRAWS", "400" if FULL else "40"))
FORMATS = ("zip", "arrow", "parquet")
MODES = ("1", "L", "LA", "P", "RGB", "RGBA")
JPEG_MODES = ("L", "RGB")
OF_AN_IMAGE = {"bad_dtype", "bad_image", "too_many_pixels", "unsupported_image", "unequal_images", "missing_value"}


@pytest.fixture
def draw():
    return random.Random(int(os.environ["LAW_SEED"]))


def drawn_picture(draw: random.Random, size: tuple[int, int] | None = None) -> bytes:
    """A file of random pixels, smooth or not, of any mode that is written to PNG or JPEG; `size` is width, height."""
    width, height = size or (draw.randint(1, 40), draw.randint(1, 40))
    pixels = np.frombuffer(draw.randbytes(width * height * 3), np.uint8).reshape(height, width, 3)
    image = Image.fromarray(pixels)
    if draw.random() < 0.5:
        image = image.resize((max(1, width // 8), max(1, height // 8))).resize((width, height))
    if draw.random() < 0.3:
        image.putalpha(255 if draw.random() < 0.5 else draw.randint(0, 254))
    file = io.BytesIO()
    if draw.random() < 0.4:
        options = {"quality": draw.randint(1, 100), "progressive": draw.random() < 0.5, "optimize": draw.random() < 0.5}
        image.convert(draw.choice(JPEG_MODES)).save(file, "JPEG", **options)
    else:
        image.convert(draw.choice(MODES)).save(file, "PNG", compress_level=draw.randint(0, 9))
    return file.getvalue()


def decoded(data: bytes, mode: str, size: tuple[int, int] | None) -> Any:
    """Return [channels, height, width] by Pillow alone, None for an image with transparency in a mode without."""
    with Image.open(io.BytesIO(data)) as image:
        if mode != "RGBA" and image.has_transparency_data:
            image = image.convert("RGBA")
            if image.getchannel("A").getextrema() != (255, 255):
                return None
            image = image.convert("RGB")
        image = image.convert(mode)
        if size is not None and size != image.size:
            image = image.resize(size, Image.Resampling.BILINEAR)
        pixels = np.atleast_3d(np.asarray(image))
    return pixels.transpose(2, 0, 1)


def ending(data: bytes) -> str:
    return "png" if data.startswith(b"\x89PNG") else "jpg"


def file_of(format: str, pictures: list[bytes]) -> bytes:
    if format == "zip":
        members = ((f"{number}.{ending(data)}", data) for number, data in enumerate(pictures))
        return archive(*members, method=zipfile.ZIP_DEFLATED)
    return {"arrow": arrow_file, "parquet": parquet_file}[format](arrow.table({"image": pictures}))


@pytest.fixture
def outcome(read):
    """Like `read`, but returns the error with which a file is refused."""

    def read_or_refuse(*arguments, **options):
        try:
            return read(*arguments, **options)
        except IngestError as error:
            return error

    return read_or_refuse


def test_images_are_what_pillow_decodes(draw, outcome):
    for number in range(DRAWS):
        format, mode = FORMATS[number % len(FORMATS)], draw.choice(("L", "RGB", "RGBA"))
        size = (draw.randint(1, 30), draw.randint(1, 30))  # width, height
        scaled = draw.random() < 0.5
        pictures = [drawn_picture(draw, None if scaled else size) for _ in range(draw.randint(1, 5))]
        wanted = [decoded(data, mode, size if scaled else None) for data in pictures]
        options = {"image_mode": mode, "image_size": f"{size[1]}x{size[0]}" if scaled else None}
        options["image_dtype"] = draw.choice(("uint8", "float32"))
        found = outcome(file_of(format, pictures), format, **options)
        transparent = next((place for place, pixels in enumerate(wanted) if pixels is None), None)
        if transparent is None:
            divisor = np.float32(255) if options["image_dtype"] == "float32" else np.uint8(1)
            np.testing.assert_array_equal(np.load(found.columns[0].path), np.stack(wanted) / divisor)
            continue
        assert found.code == "unsupported_image"
        at = f"'{transparent}.png': " if format == "zip" else f"row {transparent + 1} of column 'image': "
        assert found.detail.startswith(at)


def damage(draw: random.Random, data: bytes) -> bytes:
    """Cut data off, flip some of its bits, or do both."""
    kind = draw.randrange(3)
    if kind != 1:
        data = data[: draw.randrange(len(data))]
    changed = bytearray(data)
    if kind != 0 and changed:
        for _ in range(draw.randint(1, 8)):
            changed[draw.randrange(len(changed))] ^= 1 << draw.randrange(8)
    return bytes(changed)


def places(format: str, number: int, pictures: list[bytes]) -> str:
    """How messages begin about an image."""
    name = f"{number}.{ending(pictures[number])}"
    return f"'{name}': " if format == "zip" else f"row {number + 1} of column 'image': "


@pytest.mark.parametrize("format", FORMATS)
def test_damaged_images_are_refused_by_name(format, draw, outcome):
    limits = IngestLimits(max_expanded_bytes=MIB)
    for _ in range(DRAWS):
        pictures = [drawn_picture(draw, (9, 7)) for _ in range(3)]
        place = draw.randrange(3)
        broken = damage(draw, pictures[place])
        # A zip file is refused by the name of what is not as its ending says; that is another law.
        pictures[place] = broken if ending(broken) == ending(pictures[place]) else pictures[place][:10]
        found = outcome(file_of(format, pictures), format, limits=limits, image_mode="RGBA")
        if isinstance(found, IngestError) and found.code != "expanded_too_large":
            # The next image has another size than a first one whose size is damaged.
            named = (place, 1) if (found.code, place) == ("unequal_images", 0) else (place,)
            assert found.code in OF_AN_IMAGE, found.code
            assert found.detail.startswith(tuple(places(format, each, pictures) for each in named)), found.detail


@pytest.mark.parametrize("format", FORMATS)
def test_damaged_files_are_refused_or_harmless(format, draw, outcome):
    limits = IngestLimits(max_expanded_bytes=MIB)
    for _ in range(DRAWS):
        data = file_of(format, [drawn_picture(draw, (9, 7)) for _ in range(3)])
        found = outcome(damage(draw, data), format, limits=limits, image_mode="RGBA")
        if isinstance(found, IngestError):
            if found.code in OF_AN_IMAGE:
                assert found.pointer.startswith(("/members/", "/columns/"))
                assert found.detail.startswith(("'", "row ", "column ")), found.detail
            continue
        for column in found.columns:
            assert np.load(column.path).shape == (found.rows, *column.shape)
