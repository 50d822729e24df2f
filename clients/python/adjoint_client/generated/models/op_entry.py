from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeVar, cast

from attrs import define as _attrs_define
from attrs import field as _attrs_field

if TYPE_CHECKING:
    from ..models.catalogue_attribute import CatalogueAttribute
    from ..models.op_entry_inputs_item import OpEntryInputsItem


T = TypeVar("T", bound="OpEntry")


@_attrs_define
class OpEntry:
    """An op: what it takes, and what it is good for."""

    aliases: list[str]
    attrs: list[CatalogueAttribute]
    differentiable: bool
    doc: str
    family: str
    inputs: list[OpEntryInputsItem]
    name: str
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        aliases = self.aliases

        attrs = []
        for attrs_item_data in self.attrs:
            attrs_item = attrs_item_data.to_dict()
            attrs.append(attrs_item)

        differentiable = self.differentiable

        doc = self.doc

        family = self.family

        inputs = []
        for inputs_item_data in self.inputs:
            inputs_item = inputs_item_data.to_dict()
            inputs.append(inputs_item)

        name = self.name

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update(
            {
                "aliases": aliases,
                "attrs": attrs,
                "differentiable": differentiable,
                "doc": doc,
                "family": family,
                "inputs": inputs,
                "name": name,
            }
        )

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        from ..models.catalogue_attribute import CatalogueAttribute  # noqa: PLC0415
        from ..models.op_entry_inputs_item import OpEntryInputsItem  # noqa: PLC0415

        d = dict(src_dict)
        aliases = cast(list[str], d.pop("aliases"))

        attrs = []
        _attrs = d.pop("attrs")
        for attrs_item_data in _attrs:
            attrs_item = CatalogueAttribute.from_dict(attrs_item_data)

            attrs.append(attrs_item)

        differentiable = d.pop("differentiable")

        doc = d.pop("doc")

        family = d.pop("family")

        inputs = []
        _inputs = d.pop("inputs")
        for inputs_item_data in _inputs:
            inputs_item = OpEntryInputsItem.from_dict(inputs_item_data)

            inputs.append(inputs_item)

        name = d.pop("name")

        op_entry = cls(
            aliases=aliases,
            attrs=attrs,
            differentiable=differentiable,
            doc=doc,
            family=family,
            inputs=inputs,
            name=name,
        )

        op_entry.additional_properties = d
        return op_entry

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
