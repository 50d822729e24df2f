"""Predictions and evaluations over the rows of files: batch by batch, in memory that does not grow with the rows."""

from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import engine
from app.domain.documents import finite_part
from app.domain.errors import Conflict, Finding, Invalid
from app.domain.table_orders import RowFiles, TableEvaluation, TablePrediction
from app.ingest.table_files import Block, table_pieces
from app.service.resources.engine_documents import engine_faults
from app.worker.columns import MappedColumns, check_file
from app.worker.compute.memory import MemoryGrant, precision_of
from app.worker.compute.requests import Pieces

Array = NDArray[Any]
Admit = Callable[[engine.Cost], None]
RawColumn = list[Array] | engine.TextColumn

BLOCK_ROWS = 256
BLOCK_BYTES = 1 << 24
"""Bytes of the inputs of a block, at most; a block has one row at least."""


@contextmanager
def mapped_columns(files: RowFiles, grant: MemoryGrant, admit: Admit) -> Iterator[dict[str, RawColumn]]:
    """Map the files of rows as columns for the length of the block; text columns are recoded in memory."""
    recoded = sum(_size(path) for name in files.recodings for path in files.columns[name])
    if recoded:
        admit(engine.Cost({"recoded_bytes": 2 * recoded}))
    size = sum(_size(path) for paths in files.columns.values() for path in paths)
    with grant.allow_mapping(size):
        yield dict(MappedColumns(files.columns, _check, files.recodings, files.texts))


def _check(paths: Sequence[str]) -> None:
    for path in paths:
        check_file(path)


def _size(path: str) -> int:
    try:
        return Path(path).stat().st_size
    except OSError as error:
        detail = "the rows were deleted before they were read; choose another dataset"
        raise Conflict(detail, code="deleted", findings=[Finding("/dataset", "deleted", detail)]) from error


def predict_table(
    order: TablePrediction, media: str, predictor: engine.Predictor, grant: MemoryGrant, admit: Admit, folder: Path
) -> Pieces:
    """Return the predictions for the rows of files, in their order, as a table of type `media`."""
    return Pieces(media, _prediction_pieces(order, media, predictor, grant, admit, folder))


def _prediction_pieces(
    order: TablePrediction, media: str, predictor: engine.Predictor, grant: MemoryGrant, admit: Admit, folder: Path
) -> Generator[bytes]:
    with mapped_columns(order.files, grant, admit) as columns:
        table = PredictionTable(order, predictor, columns, admit)
        head = {**order.head, "rows": len(table.examples), "classes": predictor.output_classes}
        yield from table_pieces(media, table.blocks(), table.labels, head, folder)


class PredictionTable:
    """The predictions of a model for rows of columns, as blocks of a table."""

    def __init__(
        self,
        order: TablePrediction,
        predictor: engine.Predictor,
        columns: Mapping[str, RawColumn],
        admit: Admit,
    ) -> None:
        """Invalid if the rows do not suit the model."""
        self._order = order
        self._predictor = predictor
        self._admit = admit
        missing = [name for name in predictor.inputs if name not in predictor.by_row]
        if missing:
            detail = (
                f"the outputs of this model are not computed row by row (input {missing[0][:64]!r} has no axis of rows "
                "of its own), so that rows of a dataset cannot be predicted in parts; send its inputs in `inputs`"
            )
            raise Invalid(detail, code="not_by_row", findings=[Finding("/dataset", "not_by_row", detail)])
        made = {} if predictor.preprocessing is None else predictor.preprocessing.inputs
        plain = [name for name in predictor.inputs if name not in made or name in order.files.feeds]
        inputs = {name: order.files.feeds.get(name, name) for name in plain}
        with engine_faults("/dataset"):
            windows = engine.read_recipe({"epochs": 1, "windows": order.files.windows}).windows
            if windows is not None:
                windows = replace(
                    windows, spans={n: span for n, span in windows.spans.items() if n in predictor.inputs}
                )
            dtypes = {name: predictor.input_dtypes[name] for name in predictor.inputs}
            self._source = engine.open_preprocessed(columns, inputs, windows, predictor.preprocessing, dtypes)
        self.examples = order.files.chosen(self._source.count)
        self._columns = columns
        self.labels: dict[str, list[str]] = {}

    def blocks(self) -> Iterator[Block]:
        """Yield blocks of rows in their order."""
        row_bytes = sum(
            int(np.prod(spec.shape)) * spec.dtype.itemsize for spec in map(self._source.spec, self._predictor.inputs)
        )
        size = max(1, min(BLOCK_ROWS, BLOCK_BYTES // max(1, row_bytes)))
        for start in range(self.examples.start, self.examples.stop, size):
            rows = np.arange(start, min(start + size, self.examples.stop))
            with engine_faults("/dataset"):
                outputs = self._predictor.predict(self._source.read(rows), size, admit=self._admit, encoded=True)
            yield self._block(rows, outputs)

    def _block(self, rows: Array, outputs: Mapping[str, Array]) -> Block:
        block = dict([self._identity(rows, outputs)])
        read = self._predictor.class_outputs
        for name, values in outputs.items():
            if name in read:
                block.update(self._classes(name, values, read[name]))
            if name not in read or self._order.raw:
                block[name] = values
        return block

    def _identity(self, rows: Array, outputs: Mapping[str, Array]) -> tuple[str, Array]:
        """Return the name and the values of the column that identifies rows."""
        name, names = self._order.id_column, self._order.id_names
        if name is None:
            return "row" if "row" not in outputs else "row_number", self._source.row_of(rows)
        with engine_faults("/id_column"):
            values = self._source.values(name, rows)
        # A missing text has the code -1.
        return self._order.id_label or name, values if names is None else np.asarray([*names, ""])[values]

    def _classes(self, output: str, values: Array, read: engine.ClassOutput) -> Iterator[tuple[str, Array]]:
        """Yield columns of an output that predicts classes: the class, and the requested probabilities."""
        scores = read.scores(values)
        names = np.asarray(read.class_names(scores.shape[-1]))
        predicted = read.predicted(scores, self._order.threshold)
        dtype = np.float64 if values.dtype == np.float64 else np.float32
        yield f"{output}.class", names[predicted]
        if not read.has_probabilities:
            return
        of_class = np.take_along_axis(scores, predicted[..., None], axis=-1)[..., 0]
        yield f"{output}.probability", of_class.astype(dtype)
        if self._order.probabilities:
            self.labels[f"{output}.probabilities"] = names.tolist()
            yield f"{output}.probabilities", scores.astype(dtype)
        if self._order.top_k:
            # Stable: of equal probabilities the first class is first.
            best = np.argsort(-scores, axis=-1, kind="stable")[..., : self._order.top_k]
            yield f"{output}.top_classes", names[best]
            yield f"{output}.top_probabilities", np.take_along_axis(scores, best, axis=-1).astype(dtype)


def evaluate_table(
    order: TableEvaluation,
    checkpoint: engine.Checkpoint,
    definition: engine.Definition,
    grant: MemoryGrant,
    admit: Admit,
) -> dict[str, Any]:
    """Return the loss, the metrics and a report of a model on the rows of files."""
    files = order.files
    with mapped_columns(files, grant, admit) as columns, engine_faults():
        options = engine.EvaluationOptions(
            recipe=engine.read_recipe({"epochs": 1, **order.recipe, "feeds": files.feeds, "windows": files.windows}),
            start=files.start,
            stop=files.stop,
            precision=precision_of(checkpoint),
            threshold=order.threshold,
            bins=order.bins,
            points=order.points,
        )
        found = engine.evaluate(definition, checkpoint, columns, options, admit=admit)
    metrics, nonfinite = finite_part(found["metrics"])
    return {**order.head, **found, "metrics": metrics, "nonfinite": nonfinite}
