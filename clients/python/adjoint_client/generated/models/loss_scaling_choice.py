from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar, cast

from attrs import define as _attrs_define

from ..types import UNSET, Unset

T = TypeVar("T", bound="LossScalingChoice")


@_attrs_define
class LossScalingChoice:
    """The scale of the loss under mixed_float16; a step whose gradients overflow is skipped."""

    backoff_factor: float | None | Unset = UNSET
    """ What it shrinks by after an overflow, between 0 and 1; default 0.5. """
    growth_factor: float | None | Unset = UNSET
    """ What it grows by after good steps, greater than 1; default 2.0. """
    growth_interval: int | None | Unset = UNSET
    """ Good steps in a row before it grows, at least 1; default 2000. """
    initial: float | None | Unset = UNSET
    """ The first scale, greater than 0; default 65536.0. """

    def to_dict(self) -> dict[str, Any]:
        backoff_factor: float | None | Unset
        if isinstance(self.backoff_factor, Unset):
            backoff_factor = UNSET
        else:
            backoff_factor = self.backoff_factor

        growth_factor: float | None | Unset
        if isinstance(self.growth_factor, Unset):
            growth_factor = UNSET
        else:
            growth_factor = self.growth_factor

        growth_interval: int | None | Unset
        if isinstance(self.growth_interval, Unset):
            growth_interval = UNSET
        else:
            growth_interval = self.growth_interval

        initial: float | None | Unset
        if isinstance(self.initial, Unset):
            initial = UNSET
        else:
            initial = self.initial

        field_dict: dict[str, Any] = {}

        field_dict.update({})
        if backoff_factor is not UNSET:
            field_dict["backoff_factor"] = backoff_factor
        if growth_factor is not UNSET:
            field_dict["growth_factor"] = growth_factor
        if growth_interval is not UNSET:
            field_dict["growth_interval"] = growth_interval
        if initial is not UNSET:
            field_dict["initial"] = initial

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        d = dict(src_dict)

        def _parse_backoff_factor(data: object) -> float | None | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(float | None | Unset, data)

        backoff_factor = _parse_backoff_factor(d.pop("backoff_factor", UNSET))

        def _parse_growth_factor(data: object) -> float | None | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(float | None | Unset, data)

        growth_factor = _parse_growth_factor(d.pop("growth_factor", UNSET))

        def _parse_growth_interval(data: object) -> int | None | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(int | None | Unset, data)

        growth_interval = _parse_growth_interval(d.pop("growth_interval", UNSET))

        def _parse_initial(data: object) -> float | None | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(float | None | Unset, data)

        initial = _parse_initial(d.pop("initial", UNSET))

        loss_scaling_choice = cls(
            backoff_factor=backoff_factor,
            growth_factor=growth_factor,
            growth_interval=growth_interval,
            initial=initial,
        )

        return loss_scaling_choice
