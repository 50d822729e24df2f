from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar

from attrs import define as _attrs_define
from attrs import field as _attrs_field

T = TypeVar("T", bound="LossOperand")


@_attrs_define
class LossOperand:
    """What a loss takes beside predictions."""

    name: str
    """ Name. """
    required: bool
    """ Whether it has to be given. """
    shape: str
    """ Its type and shape, in words. """
    takes: str
    """ Whether it is given by the name of an input, or in numbers too. """
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        name = self.name

        required = self.required

        shape = self.shape

        takes = self.takes

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update(
            {
                "name": name,
                "required": required,
                "shape": shape,
                "takes": takes,
            }
        )

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        d = dict(src_dict)
        name = d.pop("name")

        required = d.pop("required")

        shape = d.pop("shape")

        takes = d.pop("takes")

        loss_operand = cls(
            name=name,
            required=required,
            shape=shape,
            takes=takes,
        )

        loss_operand.additional_properties = d
        return loss_operand

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
