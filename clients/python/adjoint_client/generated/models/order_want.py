from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeVar

from attrs import define as _attrs_define

if TYPE_CHECKING:
    from ..models.derivative_spec import DerivativeSpec


T = TypeVar("T", bound="OrderWant")


@_attrs_define
class OrderWant:
    """All derivatives of an order, of the shape [of..., by..., by..., ...]."""

    derivative: DerivativeSpec
    """ Of which value, by one parameter or input after the other. """

    def to_dict(self) -> dict[str, Any]:
        derivative = self.derivative.to_dict()

        field_dict: dict[str, Any] = {}

        field_dict.update(
            {
                "derivative": derivative,
            }
        )

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        from ..models.derivative_spec import DerivativeSpec  # noqa: PLC0415

        d = dict(src_dict)
        derivative = DerivativeSpec.from_dict(d.pop("derivative"))

        order_want = cls(
            derivative=derivative,
        )

        return order_want
