"""Images as bytes in a column of Arrow and Parquet files."""

import io
from typing import Any

import numpy as np
import pytest

from app.ingest.limits import ImageOptions, IngestLimits
from tests.security.corpus.image_tables import REFUSED, WRITERS, arrow_file, parquet_file
from tests.security.corpus.images import picture

Image = pytest.importorskip("PIL.Image")
arrow = pytest.importorskip("pyarrow")


def encoded(pixels: Any) -> bytes:
    file = io.BytesIO()
    Image.fromarray(pixels).save(file, "PNG")
    return file.getvalue()


@pytest.fixture
def colours():
    """Images [height, width, channels]."""
    return np.random.default_rng(0).integers(0, 256, (4, 5, 7, 3), dtype=np.uint8)


@pytest.fixture(params=WRITERS)
def format(request):
    return request.param


@pytest.mark.parametrize("name", REFUSED)
def test_a_hostile_image_is_refused_with_its_code_row_and_column(name, refusal):
    format, data, code = REFUSED[name]
    error = refusal(data, format)
    assert (error.code, error.pointer) == (code, "/columns/x"), error.detail
    assert error.detail.startswith(f"row {1 if code == 'bad_dtype' else 2} of column 'x': ")


TYPES = {
    "binary": lambda values: arrow.array(values, arrow.binary()),
    "large binary": lambda values: arrow.array(values, arrow.large_binary()),
    "a dictionary": lambda values: arrow.array(values, arrow.binary()).dictionary_encode(),
    "bytes and path": lambda values: arrow.array([{"bytes": value, "path": "a.png"} for value in values]),
    "path and bytes": lambda values: arrow.StructArray.from_arrays(
        [arrow.nulls(len(values), arrow.string()), arrow.array(values)], ["path", "bytes"]
    ),
    "bytes and no path": lambda values: arrow.array([{"bytes": value, "path": None} for value in values]),
}


@pytest.mark.parametrize("type", TYPES)
def test_bytes_are_images(type, format, arrays, read, colours):
    values = TYPES[type]([encoded(image) for image in colours])
    data = WRITERS[format](arrow.table({"id": [*"dcba"], "photo": values, "y": [1.5, None, 3, 4]}))
    found = arrays(data, format)
    np.testing.assert_array_equal(found["photo"], colours.transpose(0, 3, 1, 2))
    np.testing.assert_array_equal(found["id"], [3, 2, 1, 0])
    np.testing.assert_array_equal(found["y"], [1.5, np.nan, 3, 4])
    columns = {column.name: column for column in read(data, format).columns}
    assert list(columns) == ["id", "photo", "y"]
    assert columns["photo"].images == ImageOptions(None, "RGB", "uint8")
    assert (columns["id"].images, columns["y"].images) == (None, None)


def test_views_of_bytes_are_images(arrays, colours):
    values = arrow.array([encoded(image) for image in colours], arrow.binary_view())
    found = arrays(arrow_file(arrow.table({"photo": values})), "arrow")
    np.testing.assert_array_equal(found["photo"], colours.transpose(0, 3, 1, 2))


def test_options_apply_to_every_column_of_images(format, arrays, read, colours):
    values = [encoded(image) for image in colours]
    data = WRITERS[format](arrow.table({"left": values, "right": values[::-1]}))
    options = {"image_size": "4", "image_mode": "L", "image_dtype": "float32"}
    found = arrays(data, format, **options)
    grey = [Image.fromarray(image).convert("L").resize((4, 4), Image.Resampling.BILINEAR) for image in colours]
    wanted = np.stack([np.asarray(image) for image in grey])[:, None] / np.float32(255)
    np.testing.assert_array_equal(found["left"], wanted)
    np.testing.assert_array_equal(found["right"], wanted[::-1])
    assert {column.images for column in read(data, format, **options).columns} == {ImageOptions("4x4", "L", "float32")}


def test_usual_options_of_a_column_are_those_that_are_not_given(format, arrays, colours):
    data = WRITERS[format](arrow.table({"left": [encoded(colours[0])], "right": [encoded(colours[1])]}))
    usual = {"left": ImageOptions("2x3", "L", "float32")}
    found = arrays(data, format, images=usual)
    assert [(found[name].dtype.name, found[name].shape) for name in ("left", "right")] == [
        ("float32", (1, 1, 2, 3)),
        ("uint8", (1, 3, 5, 7)),
    ]
    found = arrays(data, format, images=usual, image_mode="RGBA")
    assert [found[name].shape for name in ("left", "right")] == [(1, 4, 2, 3), (1, 4, 5, 7)]


def test_many_images_are_read_batch_by_batch(format, arrays):
    shades = np.random.default_rng(1).integers(0, 256, 100, dtype=np.uint8)
    values = [encoded(np.full((2, 3), shade, np.uint8)) for shade in shades]
    data = WRITERS[format](arrow.table({"x": values, "y": range(100)}))
    found = arrays(data, format, image_mode="L")
    np.testing.assert_array_equal(found["x"], np.broadcast_to(shades[:, None, None, None], (100, 1, 2, 3)))
    np.testing.assert_array_equal(found["y"], np.arange(100))


def test_options_of_images_need_images(format, refusal):
    data = WRITERS[format](arrow.table({"x": [1, 2]}))
    for name, value in (("image_size", "4x4"), ("image_mode", "L"), ("image_dtype", "uint8")):
        error = refusal(data, format, **{name: value})
        assert (error.code, error.pointer) == ("conflict", f"/{name}")


def test_expanded_images_are_bounded(format, refusal):
    data = WRITERS[format](arrow.table({"x": [picture()] * 4}))
    error = refusal(data, format, limits=IngestLimits(max_expanded_bytes=1000), image_size="20")
    assert (error.code, error.pointer) == ("expanded_too_large", "/columns/x")


def test_a_large_page_is_refused_with_advice(refusal):
    values = [np.random.default_rng(2).bytes(1 << 20)] * 9
    values = [value + bytes([number]) for number, value in enumerate(values)]
    data = parquet_file(arrow.table({"x": values}), use_dictionary=False)
    error = refusal(data, "parquet", limits=IngestLimits(memory_bytes=32 << 20))
    assert (error.code, error.pointer) == ("page_too_large", "/columns/x")
    assert "write_batch_size" in error.detail


def test_other_structures_are_refused(format, refusal):
    for fields in ({"bytes": b"a"}, {"bytes": b"a", "name": "b"}, {"bytes": 1, "path": "b"}):
        error = refusal(WRITERS[format](arrow.table({"x": [fields]})), format)
        assert (error.code, error.pointer) == ("bad_dtype", "/columns/x"), fields


def test_without_the_extra_advice_is_given(format, refusal, monkeypatch):
    monkeypatch.setattr("app.ingest.images.load_pillow", lambda: None)
    error = refusal(WRITERS[format](arrow.table({"x": [picture()]})), format)
    assert error.code == "extra_missing"
    assert "adjoint-server[images]" in error.detail
