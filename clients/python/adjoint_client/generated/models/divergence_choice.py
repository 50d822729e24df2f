from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar, cast

from attrs import define as _attrs_define

from ..models.divergence_choice_action_type_0 import DivergenceChoiceActionType0, check_divergence_choice_action_type_0
from ..types import UNSET, Unset

T = TypeVar("T", bound="DivergenceChoice")


@_attrs_define
class DivergenceChoice:
    """What happens when a loss or a gradient is not finite."""

    action: DivergenceChoiceActionType0 | None | Unset = UNSET
    """ Default "stop": the fit fails with numerics_nonfinite, the step and the first node that was not finite;
    "continue": go on; "skip": the step is left out; "roll_back": back to the last good epoch, and on at a lower
    rate. """
    factor: float | None | Unset = UNSET
    """ What the rate is multiplied by on going back, between 0 and 1; default 0.5. """
    limit: int | None | Unset = UNSET
    """ So often in a row, from 1 on, before the fit fails; default 10. """

    def to_dict(self) -> dict[str, Any]:
        action: None | str | Unset
        if isinstance(self.action, Unset):
            action = UNSET
        elif isinstance(self.action, str):
            action = self.action
        else:
            action = self.action

        factor: float | None | Unset
        if isinstance(self.factor, Unset):
            factor = UNSET
        else:
            factor = self.factor

        limit: int | None | Unset
        if isinstance(self.limit, Unset):
            limit = UNSET
        else:
            limit = self.limit

        field_dict: dict[str, Any] = {}

        field_dict.update({})
        if action is not UNSET:
            field_dict["action"] = action
        if factor is not UNSET:
            field_dict["factor"] = factor
        if limit is not UNSET:
            field_dict["limit"] = limit

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        d = dict(src_dict)

        def _parse_action(data: object) -> DivergenceChoiceActionType0 | None | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            try:
                if not isinstance(data, str):
                    raise TypeError()
                action_type_0 = check_divergence_choice_action_type_0(data)

                return action_type_0
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            return cast(DivergenceChoiceActionType0 | None | Unset, data)

        action = _parse_action(d.pop("action", UNSET))

        def _parse_factor(data: object) -> float | None | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(float | None | Unset, data)

        factor = _parse_factor(d.pop("factor", UNSET))

        def _parse_limit(data: object) -> int | None | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(int | None | Unset, data)

        limit = _parse_limit(d.pop("limit", UNSET))

        divergence_choice = cls(
            action=action,
            factor=factor,
            limit=limit,
        )

        return divergence_choice
