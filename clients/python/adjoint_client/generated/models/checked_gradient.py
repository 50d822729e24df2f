from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeVar, cast

from attrs import define as _attrs_define
from attrs import field as _attrs_field

if TYPE_CHECKING:
    from ..models.checked_gradient_nonfinite import CheckedGradientNonfinite
    from ..models.worst_element import WorstElement


T = TypeVar("T", bound="CheckedGradient")


@_attrs_define
class CheckedGradient:
    """The gradient by one parameter or input against central differences; a number that is not finite is null."""

    checked: int
    """ Number of elements looked at. """
    elements: list[int] | None
    """ Their row-major positions; null for all. """
    largest_absolute_error: float | None
    """ Largest absolute difference of a gradient and its central difference. """
    largest_relative_error: float | None
    """ Gradients and slopes below atol are left out. """
    nonfinite: CheckedGradientNonfinite
    """ `nan`, `inf` or `-inf` for each value that is null because JSON cannot represent it. """
    ok: bool
    """ Whether all gradients are within the tolerances. """
    shape: list[int]
    """ Extents of the axes. """
    worst: None | WorstElement
    """ The element with the largest error. """
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        from ..models.worst_element import WorstElement  # noqa: PLC0415

        checked = self.checked

        elements: list[int] | None
        if isinstance(self.elements, list):
            elements = self.elements

        else:
            elements = self.elements

        largest_absolute_error: float | None
        largest_absolute_error = self.largest_absolute_error

        largest_relative_error: float | None
        largest_relative_error = self.largest_relative_error

        nonfinite = self.nonfinite.to_dict()

        ok = self.ok

        shape = self.shape

        worst: dict[str, Any] | None
        if isinstance(self.worst, WorstElement):
            worst = self.worst.to_dict()
        else:
            worst = self.worst

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update(
            {
                "checked": checked,
                "elements": elements,
                "largest_absolute_error": largest_absolute_error,
                "largest_relative_error": largest_relative_error,
                "nonfinite": nonfinite,
                "ok": ok,
                "shape": shape,
                "worst": worst,
            }
        )

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        from ..models.checked_gradient_nonfinite import CheckedGradientNonfinite  # noqa: PLC0415
        from ..models.worst_element import WorstElement  # noqa: PLC0415

        d = dict(src_dict)
        checked = d.pop("checked")

        def _parse_elements(data: object) -> list[int] | None:
            if data is None:
                return data
            try:
                if not isinstance(data, list):
                    raise TypeError()
                elements_type_0 = cast(list[int], data)

                return elements_type_0
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            return cast(list[int] | None, data)

        elements = _parse_elements(d.pop("elements"))

        def _parse_largest_absolute_error(data: object) -> float | None:
            if data is None:
                return data
            return cast(float | None, data)

        largest_absolute_error = _parse_largest_absolute_error(d.pop("largest_absolute_error"))

        def _parse_largest_relative_error(data: object) -> float | None:
            if data is None:
                return data
            return cast(float | None, data)

        largest_relative_error = _parse_largest_relative_error(d.pop("largest_relative_error"))

        nonfinite = CheckedGradientNonfinite.from_dict(d.pop("nonfinite"))

        ok = d.pop("ok")

        shape = cast(list[int], d.pop("shape"))

        def _parse_worst(data: object) -> None | WorstElement:
            if data is None:
                return data
            try:
                if not isinstance(data, dict):
                    raise TypeError()
                worst_type_0 = WorstElement.from_dict(data)

                return worst_type_0
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            return cast(None | WorstElement, data)

        worst = _parse_worst(d.pop("worst"))

        checked_gradient = cls(
            checked=checked,
            elements=elements,
            largest_absolute_error=largest_absolute_error,
            largest_relative_error=largest_relative_error,
            nonfinite=nonfinite,
            ok=ok,
            shape=shape,
            worst=worst,
        )

        checked_gradient.additional_properties = d
        return checked_gradient

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
