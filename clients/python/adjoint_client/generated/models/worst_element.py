from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeVar, cast

from attrs import define as _attrs_define
from attrs import field as _attrs_field

if TYPE_CHECKING:
    from ..models.worst_element_nonfinite import WorstElementNonfinite


T = TypeVar("T", bound="WorstElement")


@_attrs_define
class WorstElement:
    """The element at which gradient and slope differ most."""

    difference: float | None
    """ Central difference. """
    gradient: float | None
    """ The gradient, or its name. """
    index: list[int]
    """ Position, from 0, or one index for each axis. """
    nonfinite: WorstElementNonfinite
    """ `nan`, `inf` or `-inf` for each value that is null because JSON cannot represent it. """
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        difference: float | None
        difference = self.difference

        gradient: float | None
        gradient = self.gradient

        index = self.index

        nonfinite = self.nonfinite.to_dict()

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update(
            {
                "difference": difference,
                "gradient": gradient,
                "index": index,
                "nonfinite": nonfinite,
            }
        )

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        from ..models.worst_element_nonfinite import WorstElementNonfinite  # noqa: PLC0415

        d = dict(src_dict)

        def _parse_difference(data: object) -> float | None:
            if data is None:
                return data
            return cast(float | None, data)

        difference = _parse_difference(d.pop("difference"))

        def _parse_gradient(data: object) -> float | None:
            if data is None:
                return data
            return cast(float | None, data)

        gradient = _parse_gradient(d.pop("gradient"))

        index = cast(list[int], d.pop("index"))

        nonfinite = WorstElementNonfinite.from_dict(d.pop("nonfinite"))

        worst_element = cls(
            difference=difference,
            gradient=gradient,
            index=index,
            nonfinite=nonfinite,
        )

        worst_element.additional_properties = d
        return worst_element

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
