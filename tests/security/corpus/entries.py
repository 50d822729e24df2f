"""Tables of hostile files, of which large ones are made when they are asked for."""

from collections.abc import Callable, Iterator, Mapping
from typing import TypeVar

T = TypeVar("T")


class Entries(Mapping[str, T]):
    """Entries by name. One that is given as a function is what it returns, which is called at each access.

    Modules of tests need the names only, and each process imports them all: large entries would take it a second, and
    their memory to the end.
    """

    def __init__(self, entries: Mapping[str, T | Callable[[], T]]) -> None:
        """Take the entries, none of which may be callable itself."""
        self._entries = entries

    def __getitem__(self, name: str) -> T:
        """Return an entry, made if need be."""
        entry = self._entries[name]
        return entry() if callable(entry) else entry

    def __iter__(self) -> Iterator[str]:
        """Yield the names."""
        return iter(self._entries)

    def __len__(self) -> int:
        """Return the number of entries."""
        return len(self._entries)
