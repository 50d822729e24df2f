from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeVar, cast

from attrs import define as _attrs_define

from ..types import UNSET, Unset

if TYPE_CHECKING:
    from ..models.jvp_spec_tangents import JvpSpecTangents


T = TypeVar("T", bound="JvpSpec")


@_attrs_define
class JvpSpec:
    """Of which values, and the tangent by parameter or input."""

    tangents: JvpSpecTangents
    """ Tangents by the name of the input or parameter. """
    of: list[str] | None | Unset = UNSET
    """ By default the floating outputs and losses. """

    def to_dict(self) -> dict[str, Any]:
        tangents = self.tangents.to_dict()

        of: list[str] | None | Unset
        if isinstance(self.of, Unset):
            of = UNSET
        elif isinstance(self.of, list):
            of = self.of

        else:
            of = self.of

        field_dict: dict[str, Any] = {}

        field_dict.update(
            {
                "tangents": tangents,
            }
        )
        if of is not UNSET:
            field_dict["of"] = of

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        from ..models.jvp_spec_tangents import JvpSpecTangents  # noqa: PLC0415

        d = dict(src_dict)
        tangents = JvpSpecTangents.from_dict(d.pop("tangents"))

        def _parse_of(data: object) -> list[str] | None | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            try:
                if not isinstance(data, list):
                    raise TypeError()
                of_type_0 = cast(list[str], data)

                return of_type_0
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            return cast(list[str] | None | Unset, data)

        of = _parse_of(d.pop("of", UNSET))

        jvp_spec = cls(
            tangents=tangents,
            of=of,
        )

        return jvp_spec
