from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar, cast

from attrs import define as _attrs_define

from ..types import UNSET, Unset

T = TypeVar("T", bound="HessianSpec")


@_attrs_define
class HessianSpec:
    """Of which scalar by which parameter or input."""

    by: str
    """ Names of the parameters or inputs to differentiate with respect to. """
    of: None | str | Unset = UNSET
    """ A value of one element; by default the sum of the losses. """

    def to_dict(self) -> dict[str, Any]:
        by = self.by

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
        d = dict(src_dict)
        by = d.pop("by")

        def _parse_of(data: object) -> None | str | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(None | str | Unset, data)

        of = _parse_of(d.pop("of", UNSET))

        hessian_spec = cls(
            by=by,
            of=of,
        )

        return hessian_spec
