from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeVar, cast

from attrs import define as _attrs_define

from ..types import UNSET, Unset

if TYPE_CHECKING:
    from ..models.hessian_product_spec_by import HessianProductSpecBy


T = TypeVar("T", bound="HessianProductSpec")


@_attrs_define
class HessianProductSpec:
    """Of which scalar, and the direction by parameter or input."""

    by: HessianProductSpecBy
    """ Names of the parameters or inputs to differentiate with respect to. """
    of: None | str | Unset = UNSET
    """ A value of one element; by default the sum of the losses. """

    def to_dict(self) -> dict[str, Any]:
        by = self.by.to_dict()

        of: None | str | Unset
        if isinstance(self.of, Unset):
            of = UNSET
        else:
            of = self.of

        field_dict: dict[str, Any] = {}

        field_dict.update(
            {
                "by": by,
            }
        )
        if of is not UNSET:
            field_dict["of"] = of

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        from ..models.hessian_product_spec_by import HessianProductSpecBy  # noqa: PLC0415

        d = dict(src_dict)
        by = HessianProductSpecBy.from_dict(d.pop("by"))

        def _parse_of(data: object) -> None | str | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(None | str | Unset, data)

        of = _parse_of(d.pop("of", UNSET))

        hessian_product_spec = cls(
            by=by,
            of=of,
        )

        return hessian_product_spec
