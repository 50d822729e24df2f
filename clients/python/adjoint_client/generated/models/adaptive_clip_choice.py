from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar, cast

from attrs import define as _attrs_define

from ..models.adaptive_clip_choice_units_type_0 import (
    AdaptiveClipChoiceUnitsType0,
    check_adaptive_clip_choice_units_type_0,
)
from ..types import UNSET, Unset

T = TypeVar("T", bound="AdaptiveClipChoice")


@_attrs_define
class AdaptiveClipChoice:
    """Each unit's gradient limited in proportion to the unit's length (Brock et al. 2021)."""

    clipping: float | None | Unset = UNSET
    """ The proportion, greater than 0; default 0.01. """
    eps: float | None | Unset = UNSET
    """ Shorter units count as so long, greater than 0; default 0.001. """
    units: AdaptiveClipChoiceUnitsType0 | None | Unset = UNSET
    """ The axis that counts units; "first" for weights [out, in, ...]; default "last". """

    def to_dict(self) -> dict[str, Any]:
        clipping: float | None | Unset
        if isinstance(self.clipping, Unset):
            clipping = UNSET
        else:
            clipping = self.clipping

        eps: float | None | Unset
        if isinstance(self.eps, Unset):
            eps = UNSET
        else:
            eps = self.eps

        units: None | str | Unset
        if isinstance(self.units, Unset):
            units = UNSET
        elif isinstance(self.units, str):
            units = self.units
        else:
            units = self.units

        field_dict: dict[str, Any] = {}

        field_dict.update({})
        if clipping is not UNSET:
            field_dict["clipping"] = clipping
        if eps is not UNSET:
            field_dict["eps"] = eps
        if units is not UNSET:
            field_dict["units"] = units

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        d = dict(src_dict)

        def _parse_clipping(data: object) -> float | None | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(float | None | Unset, data)

        clipping = _parse_clipping(d.pop("clipping", UNSET))

        def _parse_eps(data: object) -> float | None | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(float | None | Unset, data)

        eps = _parse_eps(d.pop("eps", UNSET))

        def _parse_units(data: object) -> AdaptiveClipChoiceUnitsType0 | None | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            try:
                if not isinstance(data, str):
                    raise TypeError()
                units_type_0 = check_adaptive_clip_choice_units_type_0(data)

                return units_type_0
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            return cast(AdaptiveClipChoiceUnitsType0 | None | Unset, data)

        units = _parse_units(d.pop("units", UNSET))

        adaptive_clip_choice = cls(
            clipping=clipping,
            eps=eps,
            units=units,
        )

        return adaptive_clip_choice
