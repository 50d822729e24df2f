from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeVar, cast

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..types import UNSET, Unset

if TYPE_CHECKING:
    from ..models.catalogue_entry import CatalogueEntry


T = TypeVar("T", bound="CatalogueAttribute")


@_attrs_define
class CatalogueAttribute:
    """An option of an entry."""

    name: str
    """ Name. """
    required: bool
    """ Whether it has to be given. """
    type_: str
    """ Type. """
    attrs: list[CatalogueAttribute] | None | Unset = UNSET
    """ The options of an object. """
    default: Any | Unset = UNSET
    """ Value that is used if the attribute is left out. """
    kinds: list[CatalogueEntry] | None | Unset = UNSET
    """ What a list of objects with a kind holds. """
    range_: None | str | Unset = UNSET
    """ Which numbers it takes, where that is less than its type. """
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        name = self.name

        required = self.required

        type_ = self.type_

        attrs: list[dict[str, Any]] | None | Unset
        if isinstance(self.attrs, Unset):
            attrs = UNSET
        elif isinstance(self.attrs, list):
            attrs = []
            for attrs_type_0_item_data in self.attrs:
                attrs_type_0_item = attrs_type_0_item_data.to_dict()
                attrs.append(attrs_type_0_item)

        else:
            attrs = self.attrs

        default = self.default

        kinds: list[dict[str, Any]] | None | Unset
        if isinstance(self.kinds, Unset):
            kinds = UNSET
        elif isinstance(self.kinds, list):
            kinds = []
            for kinds_type_0_item_data in self.kinds:
                kinds_type_0_item = kinds_type_0_item_data.to_dict()
                kinds.append(kinds_type_0_item)

        else:
            kinds = self.kinds

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
        if attrs is not UNSET:
            field_dict["attrs"] = attrs
        if default is not UNSET:
            field_dict["default"] = default
        if kinds is not UNSET:
            field_dict["kinds"] = kinds
        if range_ is not UNSET:
            field_dict["range"] = range_

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        from ..models.catalogue_entry import CatalogueEntry  # noqa: PLC0415

        d = dict(src_dict)
        name = d.pop("name")

        required = d.pop("required")

        type_ = d.pop("type")

        def _parse_attrs(data: object) -> list[CatalogueAttribute] | None | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            try:
                if not isinstance(data, list):
                    raise TypeError()
                attrs_type_0 = []
                _attrs_type_0 = data
                for attrs_type_0_item_data in _attrs_type_0:
                    attrs_type_0_item = CatalogueAttribute.from_dict(attrs_type_0_item_data)

                    attrs_type_0.append(attrs_type_0_item)

                return attrs_type_0
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            return cast(list[CatalogueAttribute] | None | Unset, data)

        attrs = _parse_attrs(d.pop("attrs", UNSET))

        default = d.pop("default", UNSET)

        def _parse_kinds(data: object) -> list[CatalogueEntry] | None | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            try:
                if not isinstance(data, list):
                    raise TypeError()
                kinds_type_0 = []
                _kinds_type_0 = data
                for kinds_type_0_item_data in _kinds_type_0:
                    kinds_type_0_item = CatalogueEntry.from_dict(kinds_type_0_item_data)

                    kinds_type_0.append(kinds_type_0_item)

                return kinds_type_0
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            return cast(list[CatalogueEntry] | None | Unset, data)

        kinds = _parse_kinds(d.pop("kinds", UNSET))

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
            attrs=attrs,
            default=default,
            kinds=kinds,
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
