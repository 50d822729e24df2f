"""How files of images became the inputs of a model, and how further files are read for it in the same way."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import engine
from app.domain.column_labels import column_identifier
from app.domain.records import DatasetRecord
from app.ingest.limits import ImageOptions, IngestOptions
from app.service.resources.engine_documents import engine_faults
from app.service.resources.model_classes import plain_inputs

IMAGES = "images"


def recipe_images(
    request: Mapping[str, Any], inputs: Iterable[str], datasets: Sequence[DatasetRecord]
) -> dict[str, dict[str, Any]]:
    """Return the field of a recipe that says how images became arrays, for each input that is fed from such a column.

    There is none if no input is.
    """
    columns = {
        column.name: column.images
        for dataset in reversed(datasets)
        for column in dataset.columns
        if column.images is not None
    }
    feeds = request.get("feeds") or {}
    fed = {name: columns.get(feeds.get(name, name)) for name in plain_inputs(request, inputs)}
    found = {name: images for name, images in fed.items() if images is not None}
    return {IMAGES: found} if found else {}


def dataset_image_options(options: IngestOptions, dataset: DatasetRecord) -> IngestOptions:
    """Return the options with which a file is read whose rows are to follow those of a dataset."""
    images = {column.name: ImageOptions(**column.images) for column in dataset.columns if column.images is not None}
    return replace(options, images=images)


def model_image_options(options: IngestOptions, meta: Mapping[str, Any], feeds: Mapping[str, str]) -> IngestOptions:
    """Return the options with which a file is read for the model with the metadata `meta`, whose inputs take `feeds`.

    Invalid if the metadata is malformed.
    """
    with engine_faults():
        known = engine.images_of_checkpoint(meta)
    images = {column_identifier(feeds.get(name, name)): ImageOptions(**each.to_json()) for name, each in known.items()}
    return replace(options, images=images)
