from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar, cast

from attrs import define as _attrs_define

from ..types import UNSET, Unset

T = TypeVar("T", bound="ClassNamesChoice")


@_attrs_define
class ClassNamesChoice:
    """The classes of an input that takes a text column; a class is fed to the graph as its index in `names`."""

    names: list[str] | None | Unset = UNSET
    """ The class names in the order of their numbers; by default the sorted texts. """
    unknown: None | str | Unset = UNSET
    """ The class of texts that are no class; null (the default): such a text is an error. """

    def to_dict(self) -> dict[str, Any]:
        names: list[str] | None | Unset
        if isinstance(self.names, Unset):
            names = UNSET
        elif isinstance(self.names, list):
            names = self.names

        else:
            names = self.names

        unknown: None | str | Unset
        if isinstance(self.unknown, Unset):
            unknown = UNSET
        else:
            unknown = self.unknown

        field_dict: dict[str, Any] = {}

        field_dict.update({})
        if names is not UNSET:
            field_dict["names"] = names
        if unknown is not UNSET:
            field_dict["unknown"] = unknown

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        d = dict(src_dict)

        def _parse_names(data: object) -> list[str] | None | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            try:
                if not isinstance(data, list):
                    raise TypeError()
                names_type_0 = cast(list[str], data)

                return names_type_0
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            return cast(list[str] | None | Unset, data)

        names = _parse_names(d.pop("names", UNSET))

        def _parse_unknown(data: object) -> None | str | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(None | str | Unset, data)

        unknown = _parse_unknown(d.pop("unknown", UNSET))

        class_names_choice = cls(
            names=names,
            unknown=unknown,
        )

        return class_names_choice
