"""JSON objects of the server, whose fields are attributes."""

from collections.abc import Mapping
from datetime import datetime
from typing import TYPE_CHECKING, Any, ClassVar, Self

_CLASSES: dict[str, type["Record"]] = {}


class Record:
    """A JSON object of the server: `info.state` and `info["state"]` are the same field.

    Fields that a newer server adds are there, too; a declared field that an older server does not send is None.
    """

    __slots__ = ("_document",)

    _records: ClassVar[Mapping[str, str]] = {}
    """The classes of fields that are objects, or lists of objects."""
    _moments: ClassVar[frozenset[str]] = frozenset()
    """The fields that are times."""

    def __init_subclass__(cls) -> None:
        _CLASSES[cls.__name__] = cls

    def __init__(self, document: Mapping[str, Any]) -> None:
        self._document = dict(document)

    @classmethod
    def from_dict(cls, document: Mapping[str, Any]) -> Self:
        """Return the record of a JSON object."""
        return cls(document)

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON object as it came."""
        return dict(self._document)

    def keys(self) -> list[str]:
        """Return the names of the fields."""
        return list(self._document)

    def __getitem__(self, name: str) -> Any:
        value = self._document[name]
        if value is None:
            return None
        if name in self._moments:
            return datetime.fromisoformat(value)
        return _wrap(value, _CLASSES[self._records[name]]) if name in self._records else value

    def __contains__(self, name: object) -> bool:
        return name in self._document

    if not TYPE_CHECKING:  # a type checker uses the declared fields, and refuses others

        def __getattr__(self, name: str) -> Any:
            if not name.startswith("_"):
                # As elsewhere, a name that shadows one of Python's may be written with an underscore: `format_`.
                for field in (name, name.removesuffix("_")):
                    if field in self._document:
                        return self[field]
                if name in type(self).__annotations__:
                    return None
            raise AttributeError(f"{type(self).__name__} has no field {name!r}; it has {', '.join(self._document)}")

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *self._document]

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and isinstance(other, Record) and other.to_dict() == self._document

    __hash__ = None  # type: ignore[assignment]  # it holds lists and objects

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(f'{name}={value!r}' for name, value in self._document.items())})"


def _wrap(value: Any, kind: type[Record]) -> Any:
    if isinstance(value, list):
        return [_wrap(item, kind) for item in value]
    return kind(value) if isinstance(value, Mapping) else value
