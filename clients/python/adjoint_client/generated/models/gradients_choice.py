from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar, cast

from attrs import define as _attrs_define

from ..types import UNSET, Unset

T = TypeVar("T", bound="GradientsChoice")


@_attrs_define
class GradientsChoice:
    """Which gradients of the loss are captured: as they are before clipping, noise and scaling."""

    every_steps: int | None | Unset = UNSET
    """ And at step 0 and after every so many steps, at least 1; give this, steps, or both. """
    parameters: list[str] | None | Unset = UNSET
    """ Patterns of names of trained parameters, such as "conv*"; default ["*"]. """
    steps: list[int] | None | Unset = UNSET
    """ After so many steps, each at least 0: 0 is the gradient at the first parameters. A fit captures them at
    10000 steps at most, those of every_steps included. """

    def to_dict(self) -> dict[str, Any]:
        every_steps: int | None | Unset
        if isinstance(self.every_steps, Unset):
            every_steps = UNSET
        else:
            every_steps = self.every_steps

        parameters: list[str] | None | Unset
        if isinstance(self.parameters, Unset):
            parameters = UNSET
        elif isinstance(self.parameters, list):
            parameters = self.parameters

        else:
            parameters = self.parameters

        steps: list[int] | None | Unset
        if isinstance(self.steps, Unset):
            steps = UNSET
        elif isinstance(self.steps, list):
            steps = self.steps

        else:
            steps = self.steps

        field_dict: dict[str, Any] = {}

        field_dict.update({})
        if every_steps is not UNSET:
            field_dict["every_steps"] = every_steps
        if parameters is not UNSET:
            field_dict["parameters"] = parameters
        if steps is not UNSET:
            field_dict["steps"] = steps

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        d = dict(src_dict)

        def _parse_every_steps(data: object) -> int | None | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(int | None | Unset, data)

        every_steps = _parse_every_steps(d.pop("every_steps", UNSET))

        def _parse_parameters(data: object) -> list[str] | None | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            try:
                if not isinstance(data, list):
                    raise TypeError()
                parameters_type_0 = cast(list[str], data)

                return parameters_type_0
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            return cast(list[str] | None | Unset, data)

        parameters = _parse_parameters(d.pop("parameters", UNSET))

        def _parse_steps(data: object) -> list[int] | None | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            try:
                if not isinstance(data, list):
                    raise TypeError()
                steps_type_0 = cast(list[int], data)

                return steps_type_0
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            return cast(list[int] | None | Unset, data)

        steps = _parse_steps(d.pop("steps", UNSET))

        gradients_choice = cls(
            every_steps=every_steps,
            parameters=parameters,
            steps=steps,
        )

        return gradients_choice
