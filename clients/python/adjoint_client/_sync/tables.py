# Made from _async/tables.py by clients/generate.py: change that file.
"""Predictions and evaluations of a checkpoint over stored datasets and tables."""

from __future__ import annotations

import io
from collections.abc import Iterator, Mapping, Sequence
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from adjoint_client._sync.transport import Transport
from adjoint_client.generated.records import Checkpoint, Evaluation
from adjoint_client.table_body import (
    BLOCK_BYTES,
    Delimiter,
    ImageDtype,
    ImageMode,
    csv_dialect,
    image_options,
    query_of,
    stored_ids,
    table_body,
)

if TYPE_CHECKING:
    from typing import TypeAlias

    from adjoint_client.frames import Frame
    from adjoint_client.generated.records import Dataset
    from numpy.typing import ArrayLike, NDArray

    TableLike: TypeAlias = str | Dataset | Sequence[str | Dataset] | Mapping[str, ArrayLike] | Frame | PathLike[str]
    """Rows: a stored dataset or several, arrays by column, a data frame, or the path of a file."""

FORMATS: Mapping[str, str] = {
    ".csv": "csv",
    ".json": "json",
    ".jsonl": "ndjson",
    ".ndjson": "ndjson",
    ".npz": "npz",
    ".parquet": "parquet",
}
"""The format of predictions by the ending of a file."""


def read_blocks(path: Path) -> Iterator[bytes]:
    """Yield the bytes of a file."""
    with path.open("rb") as file:
        while block := file.read(BLOCK_BYTES):
            yield block


class TableCalls:
    """What a checkpoint does with tables."""

    _transport: Transport
    info: Checkpoint

    def predict_table(
        self,
        source: TableLike,
        path: str | PathLike[str] | None = None,
        *,
        id_column: str | None = None,
        probabilities: bool | None = None,
        top_k: int | None = None,
        raw: bool | None = None,
        threshold: float | None = None,
        start: int | None = None,
        stop: int | None = None,
        feeds: Mapping[str, str] | None = None,
        columns: str | None = None,
        header: bool | None = None,
        missing: Sequence[str] = (),
        delimiter: Delimiter = "auto",
        decimal: Literal["point", "comma"] = "point",
        encoding: Literal["utf-8", "latin-1", "windows-1252"] = "utf-8",
        image_size: str | None = None,
        image_mode: ImageMode | None = None,
        image_dtype: ImageDtype | None = None,
    ) -> dict[str, NDArray[Any]]:
        """Predict the rows of a stored dataset, or of a table: arrays by column, a data frame or a file.

        Returns arrays by column, in the order of the rows: `row` or the `id_column`; of an output that predicts classes
        its class and probability, and as asked for the `probabilities` of all classes, the `top_k` most probable
        classes and the `raw` values; other outputs in the units of the target. With a `path` the answer is written to
        that file, as csv, json, ndjson, npz or parquet by its ending, and nothing is returned in memory.

        Args:
            source: the rows: id of a dataset (`ds_...`), datasets, arrays by column, a data frame, or a path.
            path: the file to write.
            id_column: the column that identifies rows.
            probabilities: whether to include the probability of each class.
            top_k: how many of the most probable classes to include.
            raw: whether to include the values of outputs that predict classes.
            threshold: above which probability a binary prediction is class 1.
            start: the first row.
            stop: the row after the last one.
            feeds: the column of each input; by default as in the fit.
            columns: selects and groups columns of a CSV file or data frame, as for `upload`.
            header: whether line 1 of a CSV file names the columns.
            missing: cells of a CSV file that stand for missing values beside empty ones.
            delimiter: what separates the cells of a CSV file.
            decimal: what begins the fraction of a number in a CSV file.
            encoding: the encoding of a CSV file.
            image_size: the size of images ("32x32") in zip, Parquet and Arrow files; by default that of training.
            image_mode: their channels, likewise.
            image_dtype: their dtype, likewise.

        Raises:
            ServerError: the rows do not suit the model; `findings` say where.
            ValueError: the ending of `path` is no format.
        """
        options = {
            "id_column": id_column,
            "probabilities": probabilities,
            "top_k": top_k,
            "raw": raw,
            "threshold": threshold,
            "start": start,
            "stop": stop,
        }
        dialect = csv_dialect(missing, delimiter, decimal, encoding)
        dialect |= image_options(image_size, image_mode, image_dtype)
        kind = "npz" if path is None else FORMATS.get(Path(path).suffix.lower())
        if kind is None:
            raise ValueError(f"{path} has none of the endings {', '.join(FORMATS)}; rename it")
        request = self._table_request(source, options, feeds, columns, header, dialect)
        request["params"] = {**request.get("params", {}), "format": kind}
        if path is None:
            import numpy as np

            response = self._transport.send("POST", self._path("predict"), repeatable=True, **request)
            return dict(np.load(io.BytesIO(response.content), allow_pickle=False))
        partial = Path(path).with_name(f"{Path(path).name}.part")
        with partial.open("wb") as target:
            with self._transport.stream(self._path("predict"), method="POST", **request) as response:
                for block in response.iter_bytes():
                    target.write(block)
        partial.replace(path)
        return {}

    def evaluate(
        self,
        source: TableLike,
        *,
        metrics: Sequence[str | Mapping[str, Any]] | None = None,
        batch_size: int | None = None,
        bins: int | None = None,
        points: int | None = None,
        threshold: float | None = None,
        start: int | None = None,
        stop: int | None = None,
        feeds: Mapping[str, str] | None = None,
        columns: str | None = None,
        header: bool | None = None,
        missing: Sequence[str] = (),
        delimiter: Delimiter = "auto",
        decimal: Literal["point", "comma"] = "point",
        encoding: Literal["utf-8", "latin-1", "windows-1252"] = "utf-8",
        image_size: str | None = None,
        image_mode: ImageMode | None = None,
        image_dtype: ImageDtype | None = None,
    ) -> Evaluation:
        """Compute loss, metrics and a report on the rows of a stored dataset, or of a table (see `predict_table`).

        Args:
            source: the rows.
            metrics: kinds of metrics, or objects with options; by default those of the fit. For stored datasets.
            batch_size: rows computed at a time.
            bins: bins of the calibration.
            points: points of a ROC curve, at most.
            threshold: above which probability a binary prediction is class 1.
            start: the first row.
            stop: the row after the last one.
            feeds: the column of each input; by default as in the fit.
            columns: selects and groups columns of a CSV file or data frame, as for `upload`.
            header: whether line 1 of a CSV file names the columns.
            missing: cells of a CSV file that stand for missing values beside empty ones.
            delimiter: what separates the cells of a CSV file.
            decimal: what begins the fraction of a number in a CSV file.
            encoding: the encoding of a CSV file.
            image_size: the size of images ("32x32") in zip, Parquet and Arrow files; by default that of training.
            image_mode: their channels, likewise.
            image_dtype: their dtype, likewise.

        Raises:
            ServerError: the rows or metrics do not suit the model; `findings` say where.
            ValueError: metrics are given for a table.
        """
        options = {"batch_size": batch_size, "bins": bins, "points": points, "threshold": threshold}
        options |= {"start": start, "stop": stop}
        dialect = csv_dialect(missing, delimiter, decimal, encoding)
        dialect |= image_options(image_size, image_mode, image_dtype)
        request = self._table_request(source, options, feeds, columns, header, dialect)
        if metrics is not None:
            if "json" not in request:
                raise ValueError("metrics are for stored datasets; upload the table first")
            request["json"]["metrics"] = list(metrics)
        path = self._path("evaluate")
        return Evaluation((self._transport.send("POST", path, repeatable=True, **request)).json())

    def _table_request(
        self,
        source: TableLike,
        options: Mapping[str, Any],
        feeds: Mapping[str, str] | None,
        columns: str | None,
        header: bool | None,
        dialect: Mapping[str, str],
    ) -> dict[str, Any]:
        """Return the arguments of a request about stored rows, as JSON, or about a table, as its body."""
        stored = stored_ids(source)
        if stored is not None:
            given = {**options, "feeds": None if feeds is None else dict(feeds)}
            return {"json": {"dataset": stored, **{name: each for name, each in given.items() if each is not None}}}
        table = table_body(source, columns, header, read_blocks, dialect)
        headers = {"Content-Type": table.kind, "Content-Length": str(table.size)}
        return {"params": {**table.query, **query_of(options, feeds)}, "body": table.open, "headers": headers}

    def _path(self, verb: str) -> str:
        return f"/v1/checkpoints/{self.info.id}:{verb}"
