"""Columns whose files are mapped into memory, so that processes that read the same share it."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np


class MappedColumns(Mapping[str, list[np.ndarray[Any, Any]]]):
    """Columns by name, each as the arrays of its files, which are mapped when they are asked for.

    A column that is not used takes neither a file nor an address.
    """

    def __init__(self, paths: Mapping[str, Sequence[str]]) -> None:
        """Map the files at `paths`, those of each column in their order."""
        self._paths = paths

    def __getitem__(self, name: str) -> list[np.ndarray[Any, Any]]:
        """Map the files of one column."""
        return [np.load(path, mmap_mode="r", allow_pickle=False) for path in self._paths[name]]

    def __contains__(self, name: object) -> bool:
        """Tell whether there is such a column, without mapping it."""
        return name in self._paths

    def __iter__(self) -> Iterator[str]:
        """Go through the names of the columns."""
        return iter(self._paths)

    def __len__(self) -> int:
        """Count the columns."""
        return len(self._paths)
