"""Datasets that are made of stored ones, and profiles."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal
from uuid import uuid4

from adjoint_client._async.download import download_written
from adjoint_client._async.resources import id_of
from adjoint_client._async.tables import read_blocks
from adjoint_client.generated.records import Dataset, DatasetProfile
from adjoint_client.table_body import table_body

if TYPE_CHECKING:
    from collections.abc import Sequence
    from os import PathLike

    from numpy.typing import ArrayLike

    from adjoint_client._async.transport import AsyncTransport
    from adjoint_client.frames import Frame


EXPORTS: Mapping[str, str] = {
    ".csv": "csv",
    ".parquet": "parquet",
    ".arrow": "arrow",
    ".feather": "arrow",
    ".npz": "npz",
}
"""The format of a dataset by the ending of a file."""


class AsyncDatasets:
    """Downloads datasets, and makes others of them, which stay as they are.

    A dataset is given as it was returned, or by its id.
    """

    _transport: AsyncTransport

    async def download(
        self,
        dataset: str | Dataset,
        path: str | PathLike[str],
        *,
        format: Literal["csv", "parquet", "arrow", "npz"] | None = None,
    ) -> None:
        """Write the rows of a dataset to a file that `upload` reads back to the same columns.

        `format` is by default that of the ending of `path`: csv, parquet, arrow or feather, or npz. A CSV file needs
        `columns=dataset.csv_columns` to be read with the same types.

        Raises:
            ServerError: the format does not have what the columns hold.
            ValueError: the ending of `path` is no format.
        """
        path = Path(path)
        kind = format or EXPORTS.get(path.suffix.lower())
        if kind is None:
            raise ValueError(f"{path} has none of the endings {', '.join(EXPORTS)}; rename it, or give a format")
        partial = path.with_name(f"{path.name}.part")
        try:
            with partial.open("w+b") as target:
                content = f"/v1/datasets/{id_of(dataset)}/content"
                await download_written(self._transport, content, {"format": kind}, target)
            partial.replace(path)
        finally:
            partial.unlink(missing_ok=True)

    async def append_rows(
        self,
        dataset: str | Dataset,
        rows: Mapping[str, ArrayLike] | Frame | str | PathLike[str],
        *,
        columns: str | None = None,
        header: bool | None = None,
    ) -> Dataset:
        """Return the next version of a dataset, with more rows: arrays by column, a data frame, or a file.

        `columns` and `header` are those of `upload`.

        Raises:
            ServerError: the rows have other columns than the dataset.
        """
        table = table_body(rows, columns, header, read_blocks)
        path = f"/v1/datasets/{id_of(dataset)}:append"
        headers = {"Content-Type": table.kind, "Content-Length": str(table.size), "Idempotency-Key": str(uuid4())}
        response = await self._transport.send("POST", path, params=table.query, body=table.open, headers=headers)
        return Dataset(response.json())

    async def select_rows(
        self,
        dataset: str | Dataset,
        *,
        rows: tuple[int, int | None] | None = None,
        where: Sequence[tuple[str, str, Any]] = (),
        sample: float | None = None,
        seed: int = 0,
        name: str | None = None,
    ) -> Dataset:
        """Return a dataset of chosen rows: of the range `rows` (from, to before), those that meet all conditions.

        A condition is a column, an operator (`==`, `!=`, `<`, `<=`, `>`, `>=`, `in`, `not_in`, `missing`, `present`)
        and a value, or a list of values. `sample` draws a share of these rows (below 1) or a number of them.
        """
        request: dict[str, Any] = {"where": [dict(zip(("column", "op", "value"), each, strict=True)) for each in where]}
        if rows is not None:
            request["rows"] = {"start": rows[0], "stop": rows[1]}
        if sample is not None:
            request["sample"] = {"fraction" if sample < 1 else "rows": sample, "seed": seed}
        return Dataset(await self._make(f"/{id_of(dataset)}:select", request, name))

    async def split_rows(
        self,
        dataset: str | Dataset,
        test: float,
        *,
        seed: int = 0,
        stratify: str | None = None,
        name: str | None = None,
    ) -> tuple[Dataset, Dataset]:
        """Return two datasets, to train on and to test on: `test` is the share of the rows to test on, or their number.

        With `stratify`, the values of that column have the same shares in both.
        """
        request = {"test": test, "seed": seed, "stratify": stratify}
        parts = await self._make(f"/{id_of(dataset)}:split", request, name)
        return Dataset(parts["train"]), Dataset(parts["test"])

    async def join_rows(self, datasets: Sequence[str | Dataset], *, name: str | None = None) -> Dataset:
        """Return a dataset of the rows of several, one after another; all have the same columns."""
        return Dataset(await self._make(":join", {"datasets": [id_of(each) for each in datasets]}, name))

    async def profile(self, dataset: str | Dataset, target: str | None = None) -> DatasetProfile:
        """Return histograms, quantiles, classes, duplicates and findings; with `target`, how columns go with it."""
        query = {} if target is None else {"target": target}
        return DatasetProfile(await self._transport.get(f"/v1/datasets/{id_of(dataset)}/profile", query))

    async def _make(self, path: str, request: Mapping[str, Any], name: str | None) -> Any:
        named = request if name is None else {**request, "name": name}
        return await self._transport.create(f"/v1/datasets{path}", named)
