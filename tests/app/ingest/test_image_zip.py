"""Zip files of images: pixels as Pillow reads them, labels, and hostile files."""

import io
import zipfile

import numpy as np
import pytest

from app.ingest.images import load_pillow
from app.ingest.limits import IngestLimits
from tests.security.corpus.images import REFUSED, archive, picture, zip_of

pytest.importorskip("PIL")
from PIL import Image

OF_ONE_FILE = {"bad_image", "too_many_pixels", "unsupported_image", "unequal_images"}


@pytest.mark.parametrize("name", REFUSED)
def test_a_hostile_file_is_refused_with_its_code(name, refusal):
    data, code = REFUSED[name]
    error = refusal(data, "zip")
    assert error.code == code, error.detail
    if error.code in OF_ONE_FILE:
        member = zipfile.ZipFile(io.BytesIO(data)).infolist()[int(error.pointer.removeprefix("/members/"))]
        assert error.detail.startswith(f"{member.filename!r}: ")


def encoded(pixels, format="PNG", mode=None, **options):
    file = io.BytesIO()
    Image.fromarray(pixels, mode).save(file, format, **options)
    return file.getvalue()


@pytest.fixture
def colours():
    """Images [height, width, channels]."""
    return np.random.default_rng(0).integers(0, 256, (4, 5, 7, 3), dtype=np.uint8)


def test_folders_are_classes(arrays, read, colours):
    names = ("set/red/1.png", "set/blue/1.png", "set/red/2.png", "set/blue/2.PNG")
    data = zip_of(("set/", b""), *((name, encoded(image)) for name, image in zip(names, colours, strict=True)))
    found = arrays(data, "zip")
    np.testing.assert_array_equal(found["image"], colours.transpose(0, 3, 1, 2))
    np.testing.assert_array_equal(found["label"], [1, 0, 1, 0])
    columns = {column.name: column for column in read(data, "zip").columns}
    assert list(columns) == ["image", "label"]
    assert columns["label"].classes == ("blue", "red")
    assert (columns["image"].dtype, columns["image"].shape) == ("uint8", (3, 5, 7))


@pytest.mark.parametrize("folder", ["", "images/"])
def test_a_csv_file_names_images_and_orders_rows(folder, arrays, colours):
    images = [(f"{folder}all/{k}.png", encoded(image)) for k, image in enumerate(colours)]
    table = "file;price;kind\nall/2.png;1,5;b\nall/0.png;;a\nall/3.png;3;a\nall/1.png;4;b\n"
    found = arrays(archive(*images, (f"{folder}labels.csv", table.encode())), "zip", decimal="comma")
    np.testing.assert_array_equal(found["image"], colours[[2, 0, 3, 1]].transpose(0, 3, 1, 2))
    np.testing.assert_array_equal(found["price"], [1.5, np.nan, 3, 4])
    np.testing.assert_array_equal(found["kind"], [1, 0, 0, 1])


def test_more_images_than_classes_may_be_are_named_by_a_csv_file(arrays):
    limits = IngestLimits(max_classes=3)
    images = [(f"{k}.png", picture()) for k in range(8)]
    table = "f,y\n" + "".join(f"{k}.png,{k}\n" for k in range(8))
    found = arrays(archive(*images, ("y.csv", table.encode())), "zip", limits=limits)
    np.testing.assert_array_equal(found["y"], np.arange(8))


def test_one_folder_is_no_class_and_files_of_systems_are_left_out(read):
    junk = [("__MACOSX/a/._1.png", b"junk"), ("a/.DS_Store", b"junk"), ("a/Thumbs.db", b"junk")]
    result = read(archive(("a/1.png", picture()), ("a/2.png", picture()), *junk), "zip")
    assert (result.rows, [column.name for column in result.columns]) == (2, ["image"])


@pytest.mark.parametrize("mode", ["L", "RGB", "RGBA"])
@pytest.mark.parametrize("source", ["1", "L", "P", "RGB"])
def test_modes_are_converted_as_pillow_does(mode, source, arrays, colours):
    image = Image.fromarray(colours[0]).convert(source)
    file = io.BytesIO()
    image.save(file, "PNG")
    found = arrays(archive(("a.png", file.getvalue())), "zip", image_mode=mode)["image"][0]
    wanted = np.asarray(image.convert(mode))
    np.testing.assert_array_equal(found, wanted[None] if wanted.ndim == 2 else wanted.transpose(2, 0, 1))


def test_images_are_scaled(arrays, colours):
    data = archive(("a.png", encoded(colours[0])), ("b.png", picture(size=(9, 9))))
    found = arrays(data, "zip", image_size="4x6", image_dtype="float32")["image"]
    scaled = Image.fromarray(colours[0]).resize((6, 4), Image.Resampling.BILINEAR)
    np.testing.assert_array_equal(found[0], np.asarray(scaled).transpose(2, 0, 1) / np.float32(255))
    assert found.shape == (2, 3, 4, 6)
    assert arrays(data, "zip", image_size="8")["image"].shape == (2, 3, 8, 8)


@pytest.mark.parametrize("orientation", range(1, 9))
def test_images_are_upright(orientation, arrays, colours):
    exif = Image.Exif()
    exif[0x0112] = orientation
    for format, name in (("PNG", "a.png"), ("JPEG", "a.jpg")):
        data = encoded(colours[0], format, exif=exif)
        found = arrays(archive((name, data)), "zip")["image"][0]
        assert found.shape == ((3, 5, 7) if orientation < 5 else (3, 7, 5))
        turned = {1: lambda x: x, 3: lambda x: x[:, ::-1, ::-1], 6: lambda x: np.rot90(x, -1, (1, 2))}
        if orientation in turned:
            with Image.open(io.BytesIO(data)) as plain:
                pixels = np.asarray(plain).transpose(2, 0, 1)
            np.testing.assert_array_equal(found, turned[orientation](pixels))


def test_opaque_images_with_an_alpha_channel_are_taken(arrays, colours):
    opaque = np.dstack([colours[0], np.full((5, 7), 255, np.uint8)])
    found = arrays(archive(("a.png", encoded(opaque))), "zip")["image"][0]
    np.testing.assert_array_equal(found, colours[0].transpose(2, 0, 1))


@pytest.mark.parametrize("size", ["", "x", "0x5", "5x", "-3", "3x3x3", "1e3", "100000", "9999x9999"])
def test_a_size_is_checked(size, refusal):
    code = "too_many_pixels" if size == "9999x9999" else "bad_image_size"
    assert refusal(archive(("a.png", picture())), "zip", image_size=size).code == code


def test_options_of_images_are_for_zip_files(refusal):
    assert refusal(b"a\n1\n", "csv", image_mode="L").code == "conflict"
    assert refusal(archive(("a.png", picture())), "zip", header="true").code == "conflict"


def test_expanded_images_are_bounded(refusal):
    limits = IngestLimits(max_expanded_bytes=1000)
    data = archive(*((f"{k}.png", picture()) for k in range(4)))
    assert refusal(data, "zip", limits=limits, image_size="20").code == "expanded_too_large"


def test_without_the_extra_advice_is_given(refusal, monkeypatch):
    monkeypatch.setattr("app.ingest.images.load_pillow", lambda: None)
    error = refusal(archive(("a.png", picture())), "zip")
    assert error.code == "extra_missing"
    assert "adjoint-server[images]" in error.detail
    assert load_pillow() is not None


def test_names_of_images_are_a_column_in_place_of_labels(arrays, read, colours):
    names = ("b/red/1.png", "a.png", "b/blue/1.png", "b/red/0.png")
    data = archive(*((name, encoded(image)) for name, image in zip(names, colours, strict=True)))
    found = arrays(data, "zip", image_names=True)
    np.testing.assert_array_equal(found["image"], colours.transpose(0, 3, 1, 2))
    columns = {column.name: column for column in read(data, "zip", image_names=True).columns}
    assert list(columns) == ["image", "file"]
    assert [columns["file"].classes[code] for code in found["file"]] == list(names)


def test_names_of_images_stand_beside_the_columns_of_a_csv_file(arrays, read, colours):
    images = [(f"{k}.png", encoded(image)) for k, image in enumerate(colours)]
    table = b"n,price,kind\n2.png,1,b\n0.png,2,a\n3.png,3,a\n1.png,4,b\n"
    data = archive(*images, ("labels.csv", table))
    found = arrays(data, "zip", image_names=True)
    np.testing.assert_array_equal(found["image"], colours[[2, 0, 3, 1]].transpose(0, 3, 1, 2))
    np.testing.assert_array_equal(found["price"], [1, 2, 3, 4])
    np.testing.assert_array_equal(found["file"], [2, 0, 3, 1])
    columns = [column.name for column in read(data, "zip", image_names=True).columns]
    assert columns == ["image", "file", "price", "kind"]


def test_more_names_than_classes_may_be_are_taken(arrays):
    images = [(f"{k}.png", picture()) for k in range(8)]
    found = arrays(archive(*images), "zip", limits=IngestLimits(max_classes=3), image_names=True)
    assert sorted(found["file"]) == list(range(8))


def test_a_long_name_is_shown_from_its_end(refusal):
    error = refusal(archive((f"{'a' * 100}/{'b' * 60}.png", b"")), "zip")
    assert error.detail.startswith(f"'...{'b' * 60}.png': ")
