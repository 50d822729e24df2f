"""How the arrays of a session look in Python: a mapping without asyncio, calls to be awaited with it."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, MutableMapping
from typing import TYPE_CHECKING, Any, NoReturn, TypeAlias

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray


Array: TypeAlias = "NDArray[Any]"


class Assignable(MutableMapping[str, Any]):
    """Arrays by name; each is read, and written, when it is asked for."""

    @abstractmethod
    def names(self) -> list[str]:
        """Return the names."""

    @abstractmethod
    def set(self, name: str, value: ArrayLike | None) -> None:
        """Write an array."""

    def __setitem__(self, name: str, value: ArrayLike | None) -> None:
        self.set(name, value)

    def __delitem__(self, name: str) -> None:
        self.set(name, None)

    def __iter__(self) -> Iterator[str]:
        return iter(self.names())

    def __len__(self) -> int:
        return len(self.names())


class AsyncAssignable:
    """Arrays by name: `await arrays["w"]`, and `await arrays.set("w", array)`, for an assignment cannot be awaited."""

    def __setitem__(self, name: str, value: object) -> NoReturn:
        raise TypeError(f"an assignment cannot be awaited; use `await ....set({name!r}, array)`")
