from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar, cast

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..types import UNSET, Unset

T = TypeVar("T", bound="GroupChoice")


@_attrs_define
class GroupChoice:
    """Parameters that are stepped alike; options of the optimizer that differ from the common ones stand beside it.

    A parameter belongs to the first group that takes it.

    """

    frozen: bool | Unset = False
    """ Whether they keep their values; default false. """
    match: list[str] | str | Unset = "*"
    """ Patterns of parameter names, * for anything, ? for one character; default "*". """
    ndim: int | list[int] | None | Unset = UNSET
    """ The numbers of axes that they may have; by default any. """
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        frozen = self.frozen

        match: list[str] | str | Unset
        if isinstance(self.match, Unset):
            match = UNSET
        elif isinstance(self.match, list):
            match = self.match

        else:
            match = self.match

        ndim: int | list[int] | None | Unset
        if isinstance(self.ndim, Unset):
            ndim = UNSET
        elif isinstance(self.ndim, list):
            ndim = self.ndim

        else:
            ndim = self.ndim

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update({})
        if frozen is not UNSET:
            field_dict["frozen"] = frozen
        if match is not UNSET:
            field_dict["match"] = match
        if ndim is not UNSET:
            field_dict["ndim"] = ndim

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        d = dict(src_dict)
        frozen = d.pop("frozen", UNSET)

        def _parse_match(data: object) -> list[str] | str | Unset:
            if isinstance(data, Unset):
                return data
            try:
                if not isinstance(data, list):
                    raise TypeError()
                match_type_1 = cast(list[str], data)

                return match_type_1
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            return cast(list[str] | str | Unset, data)

        match = _parse_match(d.pop("match", UNSET))

        def _parse_ndim(data: object) -> int | list[int] | None | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            try:
                if not isinstance(data, list):
                    raise TypeError()
                ndim_type_1 = cast(list[int], data)

                return ndim_type_1
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            return cast(int | list[int] | None | Unset, data)

        ndim = _parse_ndim(d.pop("ndim", UNSET))

        group_choice = cls(
            frozen=frozen,
            match=match,
            ndim=ndim,
        )

        group_choice.additional_properties = d
        return group_choice

    @property
    def additional_keys(self) -> list[str]:
        return list(self.additional_properties.keys())

    def __getitem__(self, key: str) -> Any:
        return self.additional_properties[key]

    def __setitem__(self, key: str, value: Any) -> None:
        self.additional_properties[key] = value

    def __delitem__(self, key: str) -> None:
        del self.additional_properties[key]

    def __contains__(self, key: str) -> bool:
        return key in self.additional_properties
