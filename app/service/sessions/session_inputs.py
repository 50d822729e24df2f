"""What the steps of a session refer to: datasets that rows are taken of, and checkpoints that are loaded."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import engine
from app.domain.checkpoint import CheckpointRecord
from app.domain.errors import Finding
from app.domain.frames import Step
from app.service.fits.fit_inputs import referred
from app.service.resources.engine_faults import engine_faults, invalid
from app.service.resources.integrity import Integrity
from app.service.sessions.session_classes import add_checkpoint_classes, add_dataset_classes
from app.store.unit_of_work import Store


@dataclass(frozen=True, slots=True)
class References:
    """What a step refers to, each with the place in its options where it does."""

    datasets: Mapping[str, str]
    checkpoints: Mapping[str, str]


NOTHING = References({}, {})


def references(step: Step, known: frozenset[str]) -> References:
    """Return what a step refers to that has still to be looked up: datasets that are not `known`, and checkpoints."""
    if step.verb != "batch" and "rows" not in step.options and step.verb != "load":
        return NOTHING
    datasets: dict[str, str] = {}
    checkpoints: dict[str, str] = {}
    for place, verb, options in _parts(step):
        rows = options.get("rows")
        dataset = rows.get("dataset") if isinstance(rows, Mapping) else None
        if isinstance(dataset, str) and dataset not in known:
            datasets[f"{place}rows/dataset"] = dataset
        if verb == "load" and isinstance(options.get("checkpoint"), str):
            checkpoints[f"{place}checkpoint"] = options["checkpoint"]
    return References(datasets, checkpoints)


def saves(step: Step) -> bool:
    """Whether a step leaves files for the server to take over."""
    return any(verb == "save" for _, verb, _ in _parts(step))


def _parts(step: Step) -> Iterator[tuple[str, str, Mapping[str, Any]]]:
    """Go through the steps of a batch, or this one: where its options are, its verb, and these."""
    if step.verb != "batch":
        yield "", step.verb, step.options
        return
    for place, part in enumerate(step.options.get("steps") or ()):
        yield f"steps/{place}/", part.get("verb", ""), part


class SessionInputs:
    """Looks up what steps refer to."""

    def __init__(self, store: Store, integrity: Integrity) -> None:
        """Look in `store`; the files of checkpoints are opened by `integrity`."""
        self._store = store
        self._integrity = integrity

    def look_up(self, session_id: str, step: Step, refers: References) -> Step:
        """Return the step with the files of the checkpoints that it loads; datasets count as used from now on.

        Invalid, with pointers into the step, if there is no such thing; Corrupt if a checkpoint is damaged.
        """
        with self._store.begin() as work:
            for place, dataset_id in refers.datasets.items():
                dataset = referred(f"/{place}", "ds", dataset_id, work.datasets.get)
                add_dataset_classes(work, session_id, dataset)
                work.sessions.use(session_id, dataset_id)
            found = {
                place: referred(f"/{place}", "ckpt", checkpoint_id, work.checkpoints.get)
                for place, checkpoint_id in refers.checkpoints.items()
            }
        files = {place: self._file(place, checkpoint) for place, checkpoint in found.items()}
        self._add_classes(session_id, found, files)
        return replace(step, files=files) if files else step

    def _add_classes(
        self, session_id: str, checkpoints: Mapping[str, CheckpointRecord], files: Mapping[str, str]
    ) -> None:
        for place, checkpoint in checkpoints.items():
            with engine_faults(f"/{place}"):
                loaded = engine.Checkpoint.load(Path(files[place]))
            with self._store.begin() as work:
                add_checkpoint_classes(work, session_id, checkpoint, loaded, f"/{place}")

    def _file(self, place: str, checkpoint: CheckpointRecord) -> str:
        if checkpoint.deleted:
            raise invalid([Finding(f"/{place}", "gone", f"checkpoint {checkpoint.id} was deleted; load another one")])
        return str(self._integrity.checkpoint(checkpoint, f"/{place}"))
