"""Predictions and evaluations of a checkpoint over the rows of datasets, or of a table that is not kept."""

import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import engine
from app.domain.column_labels import column_identifier, faults_by_label, quoted, with_identifiers
from app.domain.documents import escape, nearest
from app.domain.errors import Finding, NotFound, storage_faults
from app.domain.frames import to_json
from app.domain.records import CheckpointRecord, DatasetRecord
from app.domain.table_orders import RowFiles, TableEvaluation, TablePrediction
from app.ingest.ingest import WITH_IMAGES
from app.service.fits.inputs import resolve_datasets
from app.service.resources.checkpoints import Checkpoints
from app.service.resources.datasets import Ingestion, UploadOptions
from app.service.resources.engine_documents import engine_faults, invalid, read_definition
from app.service.resources.model_classes import class_faults, column_encodings, recoding_tables
from app.service.resources.model_images import model_image_options
from app.service.resources.storage import StorageContext
from app.service.resources.workers import ComputeRequest, ModelReference

FROM_FIT = ("feeds", "windows", "metrics", "batch_size", "micro_batch_size")
"""Fields of a fit request that determine how its model is fed and evaluated."""


@dataclass(frozen=True, slots=True)
class Rows:
    """Rows: `datasets` or one table, and the `files` of their columns.

    `pointer` points to the dataset in the request.
    """

    datasets: Sequence[DatasetRecord]
    files: Mapping[str, list[str]]
    pointer: str = "/dataset"

    @property
    def labels(self) -> dict[str, str]:
        """The labels of columns by their names, where they differ."""
        return {name: label for each in reversed(self.datasets) for name, label in each.labels.items()}

    @property
    def names(self) -> str | list[str]:
        """The ids of the datasets."""
        ids = [dataset.id for dataset in self.datasets]
        return ids[0] if len(ids) == 1 else ids


@dataclass(frozen=True, slots=True)
class RowChoice:
    """The selected rows, and the `feeds` of inputs in addition to those of the fit."""

    feeds: Mapping[str, str] = field(default_factory=dict)
    start: int = 0
    stop: int | None = None


@dataclass(frozen=True, slots=True)
class PredictionChoice:
    """The fields of a response for each row (see `TablePrediction`)."""

    id_column: str | None = None
    probabilities: bool = False
    top_k: int = 0
    raw: bool = False
    threshold: float = 0.5


@dataclass(frozen=True, slots=True)
class EvaluationChoice:
    """Options of an evaluation (see `TableEvaluation`); None stands for the value of the fit."""

    metrics: Sequence[Any] | None = None
    batch_size: int | None = None
    threshold: float = 0.5
    bins: int = 10
    points: int = 200


@dataclass(frozen=True, slots=True)
class _Model:
    """A checkpoint, its graph, how to load it, and the options of its fit for feeding and evaluating it."""

    checkpoint: CheckpointRecord
    definition: engine.Definition
    source: dict[str, Any]
    of_fit: Mapping[str, Any]


class Predictions:
    """Builds compute requests for predictions and evaluations."""

    def __init__(self, storage: StorageContext, checkpoints: Checkpoints, ingestion: Ingestion) -> None:
        """Read models through `checkpoints`, and tables through `ingestion`."""
        self._store = storage.store
        self._integrity = storage.integrity
        self._scratch = storage.scratch
        self._checkpoints = checkpoints
        self._ingestion = ingestion

    def stored_rows(self, dataset: str | Sequence[str]) -> Rows:
        """Return the rows of datasets, joined in order; raise Invalid if one does not exist."""
        with self._store.read() as work:
            datasets = resolve_datasets("/dataset", dataset, work)
        files: dict[str, list[str]] = {}
        for each in datasets:
            for name, paths in self._integrity.columns(each).items():
                files.setdefault(name, []).extend(paths)
        return Rows(datasets, files)

    @contextmanager
    def upload_folder(self) -> Iterator[Path]:
        """Provide a folder for a table and its columns, deleted at the end of the block."""
        with storage_faults("the table"):
            folder = tempfile.TemporaryDirectory(dir=self._scratch, ignore_cleanup_errors=True)
        with folder as name:
            (Path(name) / "columns").mkdir()
            yield Path(name)

    def table_rows(
        self, folder: Path, file: Path, terms: UploadOptions, checkpoint_id: str, choice: RowChoice, pointer: str = ""
    ) -> Rows:
        """Return the rows of the `file` in an `upload_folder`, with images as the model of a checkpoint takes them.

        Raise Invalid if it is not a table.
        """
        if terms.format in WITH_IMAGES:
            model = self._model(checkpoint_id)
            feeds = {**(model.of_fit.get("feeds") or {}), **choice.feeds}
            terms = replace(terms, options=model_image_options(terms.options, model.source["meta"], feeds))
        record, files = self._ingestion.read_table(file, terms, folder / "columns")
        return Rows((record,), files, pointer)

    def prediction(
        self, checkpoint_id: str, rows: Rows, choice: RowChoice, wanted: PredictionChoice, media: str
    ) -> ComputeRequest:
        """Return the request to predict rows, with a table of the type `media` as response."""
        model = self._model(checkpoint_id)
        inputs = engine.prediction_inputs(model.definition)
        id_column = None if wanted.id_column is None else column_identifier(wanted.id_column)
        files, names = self._files(model, rows, choice, inputs, [] if id_column is None else [id_column])
        order = TablePrediction(
            files,
            head={"object": "predictions", "checkpoint": checkpoint_id, "dataset": rows.names},
            id_column=id_column,
            id_label=rows.labels.get(id_column or ""),
            id_names=names.get(id_column or ""),
            probabilities=wanted.probabilities,
            top_k=wanted.top_k,
            raw=wanted.raw,
            threshold=wanted.threshold,
        )
        reference = ModelReference(checkpoint_id, lambda: model.source)
        return ComputeRequest("predict_table", {}, to_json(order.to_json()), accept=media, model=reference)

    def evaluation(self, checkpoint_id: str, rows: Rows, choice: RowChoice, wanted: EvaluationChoice) -> ComputeRequest:
        """Return the request to compute loss, metrics and a report on rows."""
        model = self._model(checkpoint_id)
        files, _ = self._files(model, rows, choice, tuple(model.definition.inputs), (), optional=True)
        recipe = {name: model.of_fit[name] for name in FROM_FIT if name in model.of_fit and name not in _OF_FILES}
        if wanted.metrics is not None:
            recipe["metrics"] = list(wanted.metrics)
        if wanted.batch_size is not None:
            recipe = {**recipe, "batch_size": wanted.batch_size, "micro_batch_size": None}
        order = TableEvaluation(
            files,
            model.source,
            recipe={name: value for name, value in recipe.items() if value is not None},
            head={"object": "evaluation", "checkpoint": checkpoint_id, "dataset": rows.names},
            threshold=wanted.threshold,
            bins=wanted.bins,
            points=wanted.points,
        )
        return ComputeRequest("evaluate", {}, to_json(order.to_json()))

    def _model(self, checkpoint_id: str) -> _Model:
        checkpoint, path = self._checkpoints.file(checkpoint_id)
        source = self._checkpoints.model_source(checkpoint, path)
        definition = read_definition(source["definition"])
        return _Model(checkpoint, definition, source, self._of_fit(checkpoint))

    def _of_fit(self, checkpoint: CheckpointRecord) -> Mapping[str, Any]:
        if checkpoint.fit_id is None:
            return {}
        try:
            with self._store.read() as work:
                request = work.fits.get(checkpoint.fit_id).request
        except NotFound:
            return {}
        return {name: request[name] for name in FROM_FIT if request.get(name) is not None}

    def _files(
        self,
        model: _Model,
        rows: Rows,
        choice: RowChoice,
        inputs: Sequence[str],
        also: Sequence[str],
        *,
        optional: bool = False,
    ) -> tuple[RowFiles, dict[str, list[str]]]:
        """Return the files that feed inputs, and the class names of the columns `also`.

        Invalid if a column is missing, or has texts that the model has no class for. Inputs that are `optional` may
        have no column unless one is named for them: what needs them is decided where they are read.
        """
        with faults_by_label(rows.labels):
            return self._fed_files(model, rows, choice, inputs, also, optional=optional)

    def _fed_files(
        self,
        model: _Model,
        rows: Rows,
        choice: RowChoice,
        inputs: Sequence[str],
        also: Sequence[str],
        *,
        optional: bool,
    ) -> tuple[RowFiles, dict[str, list[str]]]:
        own, asked = model.of_fit.get("feeds") or {}, with_identifiers({"feeds": choice.feeds})["feeds"]
        feeds = {**{name: own[name] for name in inputs if name in own}, **asked}
        unknown = [name for name in choice.feeds if name not in model.definition.inputs]
        findings = [
            Finding(
                f"/feeds/{escape(name)}",
                "unknown_name",
                f"the graph has no input called {name[:64]!r}{nearest(name, model.definition.inputs)}",
            )
            for name in unknown
        ]
        raw, labels = _raw_columns(model, inputs, choice.feeds)
        inputs = [name for name in inputs if name not in raw]
        fed = [n for n in inputs if not optional or n in choice.feeds or feeds.get(n, n) in rows.files]
        needed = {column for columns in raw.values() for column in columns}
        findings += _raw_findings(rows, raw, labels)
        windows = model.of_fit.get("windows")
        findings += _column_findings(model.definition, rows, feeds, fed, windowed=windows is not None)
        findings += _id_findings(rows, also)
        if findings:
            raise invalid(findings)
        classes = engine.classes_of_checkpoint(model.source["meta"]) or {}
        encodings = column_encodings(classes, feeds, fed, rows.datasets)
        taken = {feeds.get(name, name) for name in fed} | set(also) | needed
        taken |= {windows["within"]} & rows.files.keys() if windows is not None and windows.get("within") else set()
        encodings = {name: encoding for name, encoding in encodings.items() if name in taken}
        faults = list(class_faults(rows.datasets, encodings, rows.pointer))
        if faults:
            raise invalid(faults)
        files = RowFiles(
            columns={name: list(paths) for name, paths in rows.files.items() if name in taken},
            recodings=recoding_tables(rows.datasets, encodings),
            texts={name: list(encodings[name].names) for name in sorted(needed & encodings.keys())},
            feeds={name: feeds.get(name, name) for name in fed},
            windows=windows,
            start=choice.start,
            stop=choice.stop,
        )
        texts = {name: list(encodings[name].names) for name in also if name in encodings}
        return files, texts


def _raw_columns(
    model: _Model, inputs: Sequence[str], feeds: Mapping[str, str]
) -> tuple[dict[str, tuple[str, ...]], dict[str, str]]:
    """Return the raw columns of each input that the model preprocesses, unless another column is fed to it."""
    with engine_faults():
        preprocessing = engine.preprocessing_of_checkpoint(model.source["meta"])
    if preprocessing is None:
        return {}, {}
    made = preprocessing.inputs
    return {name: made[name].columns for name in inputs if name in made and name not in feeds}, preprocessing.labels


def _raw_findings(rows: Rows, raw: Mapping[str, Sequence[str]], labels: Mapping[str, str]) -> Iterator[Finding]:
    """Yield findings for missing raw columns."""
    for column in dict.fromkeys(column for columns in raw.values() for column in columns):
        for dataset in rows.datasets:
            known = [each.name for each in dataset.columns]
            if column not in known:
                label = labels.get(column)
                near = nearest(label or column, [each.label or each.name for each in dataset.columns])
                detail = f"{dataset.id} has no column {quoted(column, label)}, which the model preprocesses"
                yield Finding(rows.pointer, "unknown_column", f"{detail}{near}")
                break


_OF_FILES = frozenset({"feeds", "windows"})


def _column_findings(
    definition: engine.Definition, rows: Rows, feeds: Mapping[str, str], inputs: Sequence[str], *, windowed: bool
) -> Iterator[Finding]:
    """Yield findings for inputs without a column, or with a column of another shape."""
    for name in inputs:
        wanted, shape = feeds.get(name, name), definition.inputs[name].shape
        for dataset in rows.datasets:
            column = next((each for each in dataset.columns if each.name == wanted), None)
            if column is None:
                yield _missing(name, wanted, list(shape[1:]), dataset, rows.pointer)
                break
            agree = len(column.shape) == len(shape) - 1 and all(
                isinstance(extent, str) or extent == actual
                for extent, actual in zip(shape[1:], column.shape, strict=True)
            )
            if not windowed and not agree:
                detail = f"column {wanted[:64]!r} of {dataset.id} has rows of shape {list(column.shape)}, and input"
                advice = "say image_size and image_mode as for the training data, or " if column.images else ""
                detail = f"{detail} {name[:64]!r} takes {list(shape[1:])}; {advice}name another column for it in feeds"
                yield Finding(rows.pointer, "shape_mismatch", detail)
                break


def _missing(input: str, column: str, shape: list[Any], dataset: DatasetRecord, pointer: str) -> Finding:
    known = {each.name: each for each in dataset.columns}
    detail = f"{dataset.id} has no column {column[:64]!r} for input {input[:64]!r} of shape {shape}"
    single = [name for name, each in known.items() if not each.shape and each.classes is None]
    if dataset.format == "csv" and len(shape) == 1 and isinstance(shape[0], int) and len(single) >= shape[0]:
        group = f"{single[0]}..{single[shape[0] - 1]}" if shape[0] > 1 else single[0]
        advice = f"; group columns of the file into it: columns={column}:float32[{shape[0]}]={group}"
    else:
        advice = f"{nearest(column, known)}, or name its column in feeds"
    return Finding(pointer, "unknown_column", f"{detail}{advice}")


def _id_findings(rows: Rows, names: Sequence[str]) -> Iterator[Finding]:
    for name in names:
        for dataset in rows.datasets:
            column = next((each for each in dataset.columns if each.name == name), None)
            if column is None:
                hint = nearest(name, [each.name for each in dataset.columns])
                yield Finding("/id_column", "unknown_column", f"{dataset.id} has no column {name[:64]!r}{hint}")
                break
            if column.shape:
                detail = f"column {name[:64]!r} has rows of shape {list(column.shape)}; name one with a value a row"
                yield Finding("/id_column", "shape_mismatch", detail)
                break
