from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeVar, cast

from attrs import define as _attrs_define

from ..types import UNSET, Unset

if TYPE_CHECKING:
    from ..models.gradient_want_cotangents_type_0 import GradientWantCotangentsType0


T = TypeVar("T", bound="GradientWant")


@_attrs_define
class GradientWant:
    """A vector-Jacobian product: cotangents of values pulled back to parameters and inputs."""

    gradient_of: list[str]
    """ Outputs, losses or nodes. """
    by: list[str] | None | Unset = UNSET
    """ Parameters and floating inputs; by default every parameter that is not frozen. """
    cotangents: GradientWantCotangentsType0 | None | Unset = UNSET
    """ Left out for a single element: 1. """

    def to_dict(self) -> dict[str, Any]:
        from ..models.gradient_want_cotangents_type_0 import GradientWantCotangentsType0  # noqa: PLC0415

        gradient_of = self.gradient_of

        by: list[str] | None | Unset
        if isinstance(self.by, Unset):
            by = UNSET
        elif isinstance(self.by, list):
            by = self.by

        else:
            by = self.by

        cotangents: dict[str, Any] | None | Unset
        if isinstance(self.cotangents, Unset):
            cotangents = UNSET
        elif isinstance(self.cotangents, GradientWantCotangentsType0):
            cotangents = self.cotangents.to_dict()
        else:
            cotangents = self.cotangents

        field_dict: dict[str, Any] = {}

        field_dict.update(
            {
                "gradient_of": gradient_of,
            }
        )
        if by is not UNSET:
            field_dict["by"] = by
        if cotangents is not UNSET:
            field_dict["cotangents"] = cotangents

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        from ..models.gradient_want_cotangents_type_0 import GradientWantCotangentsType0  # noqa: PLC0415

        d = dict(src_dict)
        gradient_of = cast(list[str], d.pop("gradient_of"))

        def _parse_by(data: object) -> list[str] | None | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            try:
                if not isinstance(data, list):
                    raise TypeError()
                by_type_0 = cast(list[str], data)

                return by_type_0
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            return cast(list[str] | None | Unset, data)

        by = _parse_by(d.pop("by", UNSET))

        def _parse_cotangents(data: object) -> GradientWantCotangentsType0 | None | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            try:
                if not isinstance(data, dict):
                    raise TypeError()
                cotangents_type_0 = GradientWantCotangentsType0.from_dict(data)

                return cotangents_type_0
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            return cast(GradientWantCotangentsType0 | None | Unset, data)

        cotangents = _parse_cotangents(d.pop("cotangents", UNSET))

        gradient_want = cls(
            gradient_of=gradient_of,
            by=by,
            cotangents=cotangents,
        )

        return gradient_want
