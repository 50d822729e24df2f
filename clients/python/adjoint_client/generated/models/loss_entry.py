from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeVar, cast

from attrs import define as _attrs_define
from attrs import field as _attrs_field

if TYPE_CHECKING:
    from ..models.catalogue_attribute import CatalogueAttribute
    from ..models.loss_operand import LossOperand


T = TypeVar("T", bound="LossEntry")


@_attrs_define
class LossEntry:
    """A loss: what it compares."""

    aliases: list[str]
    """ Other names that are accepted. """
    attrs: list[CatalogueAttribute]
    """ Its options. """
    doc: str
    """ Documentation. """
    kind: str
    """ Kind, one of the names in the catalogue. """
    operands: list[LossOperand]
    """ Operands by name. """
    predictions: str
    """ What it takes for predictions. """
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        aliases = self.aliases

        attrs = []
        for attrs_item_data in self.attrs:
            attrs_item = attrs_item_data.to_dict()
            attrs.append(attrs_item)

        doc = self.doc

        kind = self.kind

        operands = []
        for operands_item_data in self.operands:
            operands_item = operands_item_data.to_dict()
            operands.append(operands_item)

        predictions = self.predictions

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update(
            {
                "aliases": aliases,
                "attrs": attrs,
                "doc": doc,
                "kind": kind,
                "operands": operands,
                "predictions": predictions,
            }
        )

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        from ..models.catalogue_attribute import CatalogueAttribute  # noqa: PLC0415
        from ..models.loss_operand import LossOperand  # noqa: PLC0415

        d = dict(src_dict)
        aliases = cast(list[str], d.pop("aliases"))

        attrs = []
        _attrs = d.pop("attrs")
        for attrs_item_data in _attrs:
            attrs_item = CatalogueAttribute.from_dict(attrs_item_data)

            attrs.append(attrs_item)

        doc = d.pop("doc")

        kind = d.pop("kind")

        operands = []
        _operands = d.pop("operands")
        for operands_item_data in _operands:
            operands_item = LossOperand.from_dict(operands_item_data)

            operands.append(operands_item)

        predictions = d.pop("predictions")

        loss_entry = cls(
            aliases=aliases,
            attrs=attrs,
            doc=doc,
            kind=kind,
            operands=operands,
            predictions=predictions,
        )

        loss_entry.additional_properties = d
        return loss_entry

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
