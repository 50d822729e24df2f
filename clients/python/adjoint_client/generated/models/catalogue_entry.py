from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeVar

from attrs import define as _attrs_define
from attrs import field as _attrs_field

if TYPE_CHECKING:
    from ..models.catalogue_attribute import CatalogueAttribute


T = TypeVar("T", bound="CatalogueEntry")


@_attrs_define
class CatalogueEntry:
    """An optimizer, schedule, loss, layer, initializer or metric."""

    attrs: list[CatalogueAttribute]
    """ Its options. """
    doc: str
    """ Documentation. """
    kind: str
    """ Kind, one of the names in the catalogue. """
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        attrs = []
        for attrs_item_data in self.attrs:
            attrs_item = attrs_item_data.to_dict()
            attrs.append(attrs_item)

        doc = self.doc

        kind = self.kind

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update(
            {
                "attrs": attrs,
                "doc": doc,
                "kind": kind,
            }
        )

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        from ..models.catalogue_attribute import CatalogueAttribute  # noqa: PLC0415

        d = dict(src_dict)
        attrs = []
        _attrs = d.pop("attrs")
        for attrs_item_data in _attrs:
            attrs_item = CatalogueAttribute.from_dict(attrs_item_data)

            attrs.append(attrs_item)

        doc = d.pop("doc")

        kind = d.pop("kind")

        catalogue_entry = cls(
            attrs=attrs,
            doc=doc,
            kind=kind,
        )

        catalogue_entry.additional_properties = d
        return catalogue_entry

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
