from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeVar

from attrs import define as _attrs_define

if TYPE_CHECKING:
    from ..models.hessian_spec import HessianSpec


T = TypeVar("T", bound="HessianWant")


@_attrs_define
class HessianWant:
    """All second derivatives, of the shape [by..., by...]."""

    hessian: HessianSpec
    """ Of which scalar by which parameter or input. """

    def to_dict(self) -> dict[str, Any]:
        hessian = self.hessian.to_dict()

        field_dict: dict[str, Any] = {}

        field_dict.update(
            {
                "hessian": hessian,
            }
        )

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        from ..models.hessian_spec import HessianSpec  # noqa: PLC0415

        d = dict(src_dict)
        hessian = HessianSpec.from_dict(d.pop("hessian"))

        hessian_want = cls(
            hessian=hessian,
        )

        return hessian_want
