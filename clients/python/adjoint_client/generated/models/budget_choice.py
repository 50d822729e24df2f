from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar, cast

from attrs import define as _attrs_define

from ..types import UNSET, Unset

T = TypeVar("T", bound="BudgetChoice")


@_attrs_define
class BudgetChoice:
    """What a fit may take; it ends, with success, after the step that exceeds one of them."""

    seconds: float | None | Unset = UNSET
    """ Seconds of training over all attempts, greater than 0. """
    steps: int | None | Unset = UNSET
    """ Training steps, at least 1. """

    def to_dict(self) -> dict[str, Any]:
        seconds: float | None | Unset
        if isinstance(self.seconds, Unset):
            seconds = UNSET
        else:
            seconds = self.seconds

        steps: int | None | Unset
        if isinstance(self.steps, Unset):
            steps = UNSET
        else:
            steps = self.steps

        field_dict: dict[str, Any] = {}

        field_dict.update({})
        if seconds is not UNSET:
            field_dict["seconds"] = seconds
        if steps is not UNSET:
            field_dict["steps"] = steps

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        d = dict(src_dict)

        def _parse_seconds(data: object) -> float | None | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(float | None | Unset, data)

        seconds = _parse_seconds(d.pop("seconds", UNSET))

        def _parse_steps(data: object) -> int | None | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(int | None | Unset, data)

        steps = _parse_steps(d.pop("steps", UNSET))

        budget_choice = cls(
            seconds=seconds,
            steps=steps,
        )

        return budget_choice
