from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar, cast

from attrs import define as _attrs_define

from ..types import UNSET, Unset

T = TypeVar("T", bound="DerivativeSpec")


@_attrs_define
class DerivativeSpec:
    """Of which value, by one parameter or input after the other."""

    by: list[str]
    """ [x, x, y] is differentiated by x, by x again, and then by y. """
    of: None | str | Unset = UNSET
    """ By default the sum of the losses. """

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
        by = cast(list[str], d.pop("by"))

        def _parse_of(data: object) -> None | str | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(None | str | Unset, data)

        of = _parse_of(d.pop("of", UNSET))

        derivative_spec = cls(
            by=by,
            of=of,
        )

        return derivative_spec
