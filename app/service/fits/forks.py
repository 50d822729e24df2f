"""Forks: fits that start from a checkpoint of another fit and inherit omitted fields from its request."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, Literal

import engine
from app.domain.errors import Finding, NotFound
from app.domain.fit import FitRecord, Origin
from app.domain.ids import new_id
from app.domain.records import CheckpointRecord, DatasetRecord, GraphRecord
from app.service.fits.admission import recipe_of
from app.service.fits.inputs import FitInputs, resolve
from app.service.resources.engine_documents import engine_faults, invalid
from app.service.resources.model_classes import complete_classes
from app.store.unit_of_work import UnitOfWork

NOT_INHERITED = frozenset({"name", "labels", "start_paused", "from_checkpoint", "sweep"})
"""Fields of a request that forks do not inherit."""

Restore = Literal["all", "parameters"]
LENGTHS = ("epochs", "steps")
HINT = '; or start from its parameters only, restore: "parameters"'


@dataclass(frozen=True, slots=True)
class Fork:
    """The checkpoint that a fit begins from, how, and what is known of where it comes from.

    Attributes:
        checkpoint: the checkpoint.
        restore: whether everything goes on ("all") or only the values of parameters and buffers are taken over.
        before: the request of the fit that it belongs to; empty for one that was uploaded.
        runtime: what that fit ran with, if it did.
        graph: the graph that it is of, None if that was deleted.
        datasets: the rows that its fit trained on, None if some of them were deleted.
    """

    checkpoint: CheckpointRecord
    restore: Restore
    before: Mapping[str, Any]
    runtime: dict[str, Any] | None
    graph: GraphRecord | None
    datasets: Sequence[DatasetRecord] | None

    @property
    def step(self) -> int:
        """The step at which the fit starts."""
        return self.checkpoint.step if self.restore == "all" else 0

    def runtime_of(self, request: Mapping[str, Any]) -> dict[str, Any] | None:
        """Return the runtime that a fit of the request goes on from, so that its bits are those that the other fit
        would have come to; None if it asks for something else.
        """
        asked = (request.get("resources") or {}).get("executor")
        return self.runtime if self.restore == "all" and not asked else None

    def completed(self, request: Mapping[str, Any]) -> dict[str, Any]:
        """Return the request with the fields that it leaves out as the other fit's request has them."""
        taken = {name: value for name, value in self.before.items() if name not in NOT_INHERITED}
        if any(request.get(length) is not None for length in LENGTHS):
            taken = {name: value for name, value in taken.items() if name not in LENGTHS}
        if taken.get("resources") is not None:
            # A deadline was for the other fit.
            taken["resources"] = {name: value for name, value in taken["resources"].items() if name != "deadline"}
        began = {"checkpoint": self.checkpoint.id, "restore": self.restore}
        if request.get("classes") is not None:
            request = {**request, "classes": {**(taken.get("classes") or {}), **request["classes"]}}
        whole = {"graph": self.checkpoint.graph_id, **taken, **request, "from_checkpoint": began}
        if "dataset" not in whole:
            detail = "the field 'dataset' is required: the checkpoint belongs to no fit to take it from"
            raise invalid([Finding("", "missing_field", detail)])
        return whole

    def check(self, request: Mapping[str, Any], inputs: FitInputs, total_steps: int) -> None:
        """Raise Invalid, with every fault found, if a fit of the completed `request` cannot start here."""
        if self.restore == "parameters":
            faults = [*self._misfits(inputs.definition)]
        else:
            faults = [*self._breaks(request, inputs)]
            if not faults and total_steps <= self.step:
                pointer = "/epochs" if request.get("epochs") is not None else "/steps"
                detail = f"the checkpoint is of step {self.step}, and the fit has {total_steps} in all; give more"
                faults = [Finding(pointer, "out_of_range", detail + HINT)]
        if faults:
            raise invalid(faults)

    def begin(self, work: UnitOfWork, fit: FitRecord) -> FitRecord:
        """Store the fit, whose request was checked, with a checkpoint of its own to begin from.

        Invalid if the checkpoint has been deleted.
        """
        checkpoint = _require_checkpoint(work, self.checkpoint.id)
        everything = self.restore == "all"
        copy = replace(
            checkpoint,
            id=new_id("ckpt"),
            fit_id=fit.id,
            graph_id=fit.graph_id,
            step=self.step,
            epoch=checkpoint.epoch if everything else 0,
            metrics=checkpoint.metrics if everything else {},
            created_at=work.now,
            is_best=False,
            pinned=False,
        )
        origin = Origin(checkpoint.id, checkpoint.fit_id, self.step, checkpoint.digest, self.restore, copy.id)
        runtime = self.runtime_of(fit.request)
        begun = replace(fit, step=copy.step, epoch=copy.epoch, origin=asdict(origin), runtime=runtime)
        work.fits.add(begun)
        work.checkpoints.add(copy)
        return begun

    def _breaks(self, request: Mapping[str, Any], inputs: FitInputs) -> Iterator[Finding]:
        """Yield the findings that keep the fit from continuing exactly where the other one was."""
        if self.graph is None or inputs.definition.digest != self.graph.digest:
            yield Finding("/graph", "conflict", f"the graph is not the one that the checkpoint is of{HINT}")
        if self.datasets is None or _content_digests(self.datasets) != _content_digests(inputs.datasets):
            yield Finding("/dataset", "conflict", f"the rows are not those that the checkpoint's fit trained on{HINT}")
        try:
            engine.check_continuation(recipe_of(self.before), recipe_of(request), self.step)
        except engine.DocumentError as error:
            for fault in error.findings:
                advised = "restore:" in fault.detail
                yield Finding(fault.pointer, fault.code, fault.detail if advised else fault.detail + HINT)

    def _misfits(self, definition: engine.Definition) -> Iterator[Finding]:
        """Yield findings for parameters and buffers of another graph that the checkpoint has no values for."""
        if self.graph is None or self.graph.digest == definition.digest:
            return
        with engine_faults("/graph"):
            known = engine.parse_graph(self.graph.definition)
        has = {**known.buffers, **known.parameters}
        for name, spec in {**definition.buffers, **definition.parameters}.items():
            if name not in has or has[name].shape != spec.shape:
                detail = f"the checkpoint has no values of shape {list(spec.shape)} for {name[:64]!r}"
                yield Finding("/graph", "shape_mismatch", detail)


def find_fork(work: UnitOfWork, request: Mapping[str, Any]) -> Fork:
    """Return the fork for a request with `from_checkpoint`; raise Invalid if that checkpoint cannot be forked."""
    named = request["from_checkpoint"]
    if request.get("sweep") is not None:
        raise invalid(
            [
                Finding(
                    "/sweep", "conflict", "a sweep does not start from a checkpoint; leave this or from_checkpoint out"
                )
            ]
        )
    choice: Mapping[str, Any] = {"checkpoint": named} if isinstance(named, str) else named
    checkpoint = _require_checkpoint(work, choice["checkpoint"])
    by_default: Restore = "parameters" if checkpoint.fit_id is None else "all"
    restore: Restore = choice.get("restore") or by_default
    if checkpoint.fit_id is None and restore == "all":
        detail = 'the checkpoint belongs to no fit that could go on; take its parameters: "restore": "parameters"'
        raise invalid([Finding("/from_checkpoint/restore", "conflict", detail)])
    fit = None if checkpoint.fit_id is None else work.fits.get(checkpoint.fit_id)
    before: Mapping[str, Any]
    before, runtime = ({}, None) if fit is None else (fit.request, fit.runtime)
    graph, datasets = _find_graph(work, checkpoint), _find_datasets(work, checkpoint)
    if not before.get("classes") and graph is not None and datasets:
        before = complete_classes(before, graph.definition["inputs"], datasets)
    return Fork(checkpoint, restore, before, runtime, graph, datasets)


def _require_checkpoint(work: UnitOfWork, checkpoint_id: str) -> CheckpointRecord:
    pointer = "/from_checkpoint"
    checkpoint = resolve(pointer, "ckpt", checkpoint_id, work.checkpoints.get)
    if checkpoint.deleted:
        detail = f"checkpoint {checkpoint_id} was deleted; list those that its fit keeps"
        raise invalid([Finding(pointer, "gone", detail)])
    return checkpoint


def _find_graph(work: UnitOfWork, checkpoint: CheckpointRecord) -> GraphRecord | None:
    try:
        return work.graphs.get(checkpoint.graph_id)
    except NotFound:
        return None


def _find_datasets(work: UnitOfWork, checkpoint: CheckpointRecord) -> Sequence[DatasetRecord] | None:
    if checkpoint.fit_id is None:
        return None
    try:
        return [work.datasets.get(dataset_id) for dataset_id in work.fits.get(checkpoint.fit_id).dataset_ids]
    except NotFound:
        return None


def _content_digests(datasets: Sequence[DatasetRecord]) -> list[dict[str, tuple[str, tuple[str, ...] | None]]]:
    """Return the content of the columns and the class names of text columns, independent of dataset names."""
    return [{column.name: (column.blob, column.classes) for column in dataset.columns} for dataset in datasets]
