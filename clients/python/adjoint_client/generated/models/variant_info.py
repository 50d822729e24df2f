from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeVar

from attrs import define as _attrs_define
from attrs import field as _attrs_field

if TYPE_CHECKING:
    from ..models.variant_info_parameters import VariantInfoParameters


T = TypeVar("T", bound="VariantInfo")


@_attrs_define
class VariantInfo:
    """Which variant of a sweep a fit is."""

    index: int
    """ Position, from 0, or one index for each axis. """
    parameters: VariantInfoParameters
    """ Values that distinguish the variant, by their paths in the request. """
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        index = self.index

        parameters = self.parameters.to_dict()

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update(
            {
                "index": index,
                "parameters": parameters,
            }
        )

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        from ..models.variant_info_parameters import VariantInfoParameters  # noqa: PLC0415

        d = dict(src_dict)
        index = d.pop("index")

        parameters = VariantInfoParameters.from_dict(d.pop("parameters"))

        variant_info = cls(
            index=index,
            parameters=parameters,
        )

        variant_info.additional_properties = d
        return variant_info

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
