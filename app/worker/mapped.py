"""Columns whose files are mapped into memory, so that processes that read the same share it."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np


class MappedColumns(Mapping[str, list[np.ndarray[Any, Any]]]):
    """Columns by name, each as the arrays of its files, which are mapped when they are asked for.

    A column that is not used takes neither a file nor an address.
    """

    def __init__(
        self,
        paths: Mapping[str, Sequence[str]],
        check: Callable[[Sequence[str]], object],
        recodings: Mapping[str, Sequence[Sequence[int] | None]] | None = None,
    ) -> None:
        """Map the files at `paths`, those of each column in their order; `check` is called with those that are mapped.

        What it raises keeps them from being mapped. `recodings` has, for text columns, a table for each file: the
        model's number of each class, by the file's number. Such a column is copied into memory; None leaves a file as
        it is.
        """
        self._check = check
        self._paths = paths
        self._recodings = recodings or {}

    def __getitem__(self, name: str) -> list[np.ndarray[Any, Any]]:
        """Map the files of one column."""
        self._check(self._paths[name])
        files = [np.load(path, mmap_mode="r", allow_pickle=False) for path in self._paths[name]]
        tables = self._recodings.get(name, [None] * len(files))
        return [file if table is None else recode(file, table) for file, table in zip(files, tables, strict=True)]

    def __contains__(self, name: object) -> bool:
        """Tell whether there is such a column, without mapping it."""
        return name in self._paths

    def __iter__(self) -> Iterator[str]:
        """Go through the names of the columns."""
        return iter(self._paths)

    def __len__(self) -> int:
        """Count the columns."""
        return len(self._paths)


def recode(numbers: np.ndarray[Any, Any], table: Sequence[int]) -> np.ndarray[Any, Any]:
    """Return the model's class numbers for those of a dataset, in the same type."""
    recoded: np.ndarray[Any, Any] = np.asarray(table, numbers.dtype)[numbers]
    return recoded
