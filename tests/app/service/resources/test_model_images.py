"""How images became the inputs of a model: from datasets to its recipe, and from its checkpoint to further files."""

from datetime import UTC, datetime

import pytest

from app.domain.column_labels import column_identifier
from app.domain.errors import Invalid
from app.domain.records import Column, DatasetRecord
from app.ingest.limits import ImageOptions, IngestOptions
from app.service.resources.model_images import dataset_image_options, model_image_options, recipe_images

GREY = {"size": "4x6", "mode": "L", "dtype": "float32"}
COLOUR = {"size": None, "mode": "RGB", "dtype": "uint8"}


def column(name, images=None):
    return Column(name, "uint8", (1, 4, 6), "0" * 64, 0, 255, 1.0, 0, images=images)


def dataset(*columns):
    return DatasetRecord("ds_1", "d", "0" * 64, 1, 2, columns, "zip", datetime(2026, 2, 3, tzinfo=UTC))


def test_inputs_that_are_fed_from_images_are_in_the_recipe():
    rows = dataset(column("image", GREY), column("photo", COLOUR), column("y"))
    assert recipe_images({}, ["image", "y"], [rows]) == {"images": {"image": GREY}}
    fed = recipe_images({"feeds": {"x": "photo"}}, ["x", "image", "y"], [rows])
    assert fed == {"images": {"x": COLOUR, "image": GREY}}
    assert recipe_images({"columns": {"image": ["image"]}}, ["image"], [rows]) == {}
    assert recipe_images({}, ["y"], [rows]) == {}


def test_of_several_datasets_the_first_with_images_counts():
    datasets = [dataset(column("image")), dataset(column("image", GREY)), dataset(column("image", COLOUR))]
    assert recipe_images({}, ["image"], datasets) == {"images": {"image": GREY}}


def test_appended_rows_are_read_as_those_of_the_dataset():
    options = dataset_image_options(IngestOptions(image_mode="RGBA"), dataset(column("image", GREY), column("y")))
    assert options.images == {"image": ImageOptions("4x6", "L", "float32")}
    assert options.of_images("image") == ImageOptions("4x6", "RGBA", "float32")
    assert options.of_images("y") == ImageOptions(None, "RGBA", "uint8")


def test_files_are_read_for_the_columns_that_feed_a_model():
    meta = {"images": {"x": GREY, "z": COLOUR}}
    options = model_image_options(IngestOptions(), meta, {"x": "Foto 1"})
    assert options.images == {column_identifier("Foto 1"): ImageOptions(**GREY), "z": ImageOptions(**COLOUR)}
    assert model_image_options(IngestOptions(), {}, {}).images == {}
    with pytest.raises(Invalid, match="malformed images"):
        model_image_options(IngestOptions(), {"images": 3}, {})
