from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeVar

from attrs import define as _attrs_define

if TYPE_CHECKING:
    from ..models.hessian_product_spec import HessianProductSpec


T = TypeVar("T", bound="VhpWant")


@_attrs_define
class VhpWant:
    """A vector times the Hessian, without forming it."""

    vhp: HessianProductSpec
    """ Of which scalar, and the direction by parameter or input. """

    def to_dict(self) -> dict[str, Any]:
        vhp = self.vhp.to_dict()

        field_dict: dict[str, Any] = {}

        field_dict.update(
            {
                "vhp": vhp,
            }
        )

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        from ..models.hessian_product_spec import HessianProductSpec  # noqa: PLC0415

        d = dict(src_dict)
        vhp = HessianProductSpec.from_dict(d.pop("vhp"))

        vhp_want = cls(
            vhp=vhp,
        )

        return vhp_want
