"""The class names of the model in a checkpoint: in its file, or in what is on record of the fit that wrote it."""

from collections.abc import Iterable
from dataclasses import replace

import engine
from app.domain.checkpoint import CheckpointRecord
from app.domain.errors import NotFound
from app.service.resources.engine_faults import engine_faults
from app.service.resources.model_classes import Encodings, model_classes
from app.store.unit_of_work import UnitOfWork


def checkpoint_classes(
    work: UnitOfWork, checkpoint: CheckpointRecord, loaded: engine.Checkpoint, inputs: Iterable[str]
) -> Encodings:
    """Return the class encodings of the model in a checkpoint, by input.

    A file from before classes were kept has those of its fit: as recorded, or of its training datasets as far as these
    are still there. Invalid if the entry in the file is malformed.
    """
    with engine_faults():
        found = engine.classes_of_checkpoint(loaded.meta)
    if found is not None or checkpoint.fit_id is None:
        return found or {}
    try:
        fit = work.fits.get(checkpoint.fit_id)
        datasets = [work.datasets.get(dataset_id) for dataset_id in fit.dataset_ids]
    except NotFound:
        return {}
    return model_classes(fit.request, inputs, datasets)


def with_recorded_classes(
    work: UnitOfWork, checkpoint: CheckpointRecord, loaded: engine.Checkpoint, inputs: Iterable[str]
) -> engine.Checkpoint:
    """Return a checkpoint whose meta holds the class encodings of its model."""
    classes = checkpoint_classes(work, checkpoint, loaded, inputs)
    return replace(loaded, meta=engine.meta_with_classes(loaded.meta, classes))
