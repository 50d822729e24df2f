from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar, cast

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..types import UNSET, Unset

T = TypeVar("T", bound="CatalogueAttribute")


@_attrs_define
class CatalogueAttribute:
    """An option of an entry."""

    name: str
    required: bool
    type_: str
    default: Any | Unset = UNSET
    range_: None | str | Unset = UNSET
    """ Which numbers it takes, where that is less than its type. """
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        name = self.name

        required = self.required

        type_ = self.type_

        default = self.default

        range_: None | str | Unset
        if isinstance(self.range_, Unset):
            range_ = UNSET
        else:
            range_ = self.range_

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update(
            {
                "name": name,
                "required": required,
                "type": type_,
            }
        )
        if default is not UNSET:
            field_dict["default"] = default
        if range_ is not UNSET:
            field_dict["range"] = range_

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        d = dict(src_dict)
        name = d.pop("name")

        required = d.pop("required")

        type_ = d.pop("type")

        default = d.pop("default", UNSET)

        def _parse_range_(data: object) -> None | str | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(None | str | Unset, data)

        range_ = _parse_range_(d.pop("range", UNSET))

        catalogue_attribute = cls(
            name=name,
            required=required,
            type_=type_,
            default=default,
            range_=range_,
        )

        catalogue_attribute.additional_properties = d
        return catalogue_attribute

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
