from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar, cast

from attrs import define as _attrs_define

from ..models.normalize_choice_kind import NormalizeChoiceKind, check_normalize_choice_kind
from ..types import UNSET, Unset

T = TypeVar("T", bound="NormalizeChoice")


@_attrs_define
class NormalizeChoice:
    """How an input is shifted and scaled, by statistics of its training rows; predictions do the same."""

    kind: NormalizeChoiceKind
    """ Kind, one of the names in the catalogue. """
    center: bool | None | Unset = UNSET
    """ standard: whether the mean becomes 0; default true. """
    high: float | None | Unset = UNSET
    """ minmax: what the largest becomes, -1e6 to 1e6; default 1.0. """
    low: float | None | Unset = UNSET
    """ minmax: what the smallest becomes, -1e6 to 1e6; default 0.0. """
    lower: float | None | Unset = UNSET
    """ robust: the lower percentile, 0 to 100; default 25.0. """
    scale: bool | None | Unset = UNSET
    """ standard: whether the deviation becomes 1; default true. """
    upper: float | None | Unset = UNSET
    """ robust: the upper percentile, 0 to 100; default 75.0. """

    def to_dict(self) -> dict[str, Any]:
        kind: str = self.kind

        center: bool | None | Unset
        if isinstance(self.center, Unset):
            center = UNSET
        else:
            center = self.center

        high: float | None | Unset
        if isinstance(self.high, Unset):
            high = UNSET
        else:
            high = self.high

        low: float | None | Unset
        if isinstance(self.low, Unset):
            low = UNSET
        else:
            low = self.low

        lower: float | None | Unset
        if isinstance(self.lower, Unset):
            lower = UNSET
        else:
            lower = self.lower

        scale: bool | None | Unset
        if isinstance(self.scale, Unset):
            scale = UNSET
        else:
            scale = self.scale

        upper: float | None | Unset
        if isinstance(self.upper, Unset):
            upper = UNSET
        else:
            upper = self.upper

        field_dict: dict[str, Any] = {}

        field_dict.update(
            {
                "kind": kind,
            }
        )
        if center is not UNSET:
            field_dict["center"] = center
        if high is not UNSET:
            field_dict["high"] = high
        if low is not UNSET:
            field_dict["low"] = low
        if lower is not UNSET:
            field_dict["lower"] = lower
        if scale is not UNSET:
            field_dict["scale"] = scale
        if upper is not UNSET:
            field_dict["upper"] = upper

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        d = dict(src_dict)
        kind = check_normalize_choice_kind(d.pop("kind"))

        def _parse_center(data: object) -> bool | None | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(bool | None | Unset, data)

        center = _parse_center(d.pop("center", UNSET))

        def _parse_high(data: object) -> float | None | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(float | None | Unset, data)

        high = _parse_high(d.pop("high", UNSET))

        def _parse_low(data: object) -> float | None | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(float | None | Unset, data)

        low = _parse_low(d.pop("low", UNSET))

        def _parse_lower(data: object) -> float | None | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(float | None | Unset, data)

        lower = _parse_lower(d.pop("lower", UNSET))

        def _parse_scale(data: object) -> bool | None | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(bool | None | Unset, data)

        scale = _parse_scale(d.pop("scale", UNSET))

        def _parse_upper(data: object) -> float | None | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(float | None | Unset, data)

        upper = _parse_upper(d.pop("upper", UNSET))

        normalize_choice = cls(
            kind=kind,
            center=center,
            high=high,
            low=low,
            lower=lower,
            scale=scale,
            upper=upper,
        )

        return normalize_choice
