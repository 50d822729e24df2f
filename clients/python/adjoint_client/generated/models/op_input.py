from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar

from attrs import define as _attrs_define
from attrs import field as _attrs_field

T = TypeVar("T", bound="OpInput")


@_attrs_define
class OpInput:
    """An input of an op."""

    gradient: bool
    """ Whether a gradient flows to it. """
    name: str
    """ Name. """
    required: bool
    """ Whether it has to be given. """
    role: str
    """ What it holds: numbers, integers, truth values or a random key. """
    variadic: bool
    """ Whether it stands for any number of inputs. """
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        gradient = self.gradient

        name = self.name

        required = self.required

        role = self.role

        variadic = self.variadic

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update(
            {
                "gradient": gradient,
                "name": name,
                "required": required,
                "role": role,
                "variadic": variadic,
            }
        )

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        d = dict(src_dict)
        gradient = d.pop("gradient")

        name = d.pop("name")

        required = d.pop("required")

        role = d.pop("role")

        variadic = d.pop("variadic")

        op_input = cls(
            gradient=gradient,
            name=name,
            required=required,
            role=role,
            variadic=variadic,
        )

        op_input.additional_properties = d
        return op_input

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
