from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar, cast

from attrs import define as _attrs_define

from ..models.average_choice_kind_type_0 import AverageChoiceKindType0, check_average_choice_kind_type_0
from ..types import UNSET, Unset

T = TypeVar("T", bound="AverageChoice")


@_attrs_define
class AverageChoice:
    """An average of the weights along the fit, which validation and predictions use."""

    decay: float | None | Unset = UNSET
    """ ema: the share of the old average, 0 to 1; default 0.999. """
    every_epochs: int | None | Unset = UNSET
    """ Epochs between takings, at least 1. """
    every_steps: int | None | Unset = UNSET
    """ Steps between takings, at least 1. """
    first_epoch: int | None | Unset = UNSET
    """ The first epoch that counts, at least 1; default 1. """
    kind: AverageChoiceKindType0 | None | Unset = UNSET
    """ "ema" decays, "swa" is the plain mean; default "ema". """
    warm_up: bool | None | Unset = UNSET
    """ ema: whether the decay starts low; default false. """

    def to_dict(self) -> dict[str, Any]:
        decay: float | None | Unset
        if isinstance(self.decay, Unset):
            decay = UNSET
        else:
            decay = self.decay

        every_epochs: int | None | Unset
        if isinstance(self.every_epochs, Unset):
            every_epochs = UNSET
        else:
            every_epochs = self.every_epochs

        every_steps: int | None | Unset
        if isinstance(self.every_steps, Unset):
            every_steps = UNSET
        else:
            every_steps = self.every_steps

        first_epoch: int | None | Unset
        if isinstance(self.first_epoch, Unset):
            first_epoch = UNSET
        else:
            first_epoch = self.first_epoch

        kind: None | str | Unset
        if isinstance(self.kind, Unset):
            kind = UNSET
        elif isinstance(self.kind, str):
            kind = self.kind
        else:
            kind = self.kind

        warm_up: bool | None | Unset
        if isinstance(self.warm_up, Unset):
            warm_up = UNSET
        else:
            warm_up = self.warm_up

        field_dict: dict[str, Any] = {}

        field_dict.update({})
        if decay is not UNSET:
            field_dict["decay"] = decay
        if every_epochs is not UNSET:
            field_dict["every_epochs"] = every_epochs
        if every_steps is not UNSET:
            field_dict["every_steps"] = every_steps
        if first_epoch is not UNSET:
            field_dict["first_epoch"] = first_epoch
        if kind is not UNSET:
            field_dict["kind"] = kind
        if warm_up is not UNSET:
            field_dict["warm_up"] = warm_up

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        d = dict(src_dict)

        def _parse_decay(data: object) -> float | None | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(float | None | Unset, data)

        decay = _parse_decay(d.pop("decay", UNSET))

        def _parse_every_epochs(data: object) -> int | None | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(int | None | Unset, data)

        every_epochs = _parse_every_epochs(d.pop("every_epochs", UNSET))

        def _parse_every_steps(data: object) -> int | None | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(int | None | Unset, data)

        every_steps = _parse_every_steps(d.pop("every_steps", UNSET))

        def _parse_first_epoch(data: object) -> int | None | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(int | None | Unset, data)

        first_epoch = _parse_first_epoch(d.pop("first_epoch", UNSET))

        def _parse_kind(data: object) -> AverageChoiceKindType0 | None | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            try:
                if not isinstance(data, str):
                    raise TypeError()
                kind_type_0 = check_average_choice_kind_type_0(data)

                return kind_type_0
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            return cast(AverageChoiceKindType0 | None | Unset, data)

        kind = _parse_kind(d.pop("kind", UNSET))

        def _parse_warm_up(data: object) -> bool | None | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(bool | None | Unset, data)

        warm_up = _parse_warm_up(d.pop("warm_up", UNSET))

        average_choice = cls(
            decay=decay,
            every_epochs=every_epochs,
            every_steps=every_steps,
            first_epoch=first_epoch,
            kind=kind,
            warm_up=warm_up,
        )

        return average_choice
