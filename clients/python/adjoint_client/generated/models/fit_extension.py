from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar, cast

from attrs import define as _attrs_define

from ..types import UNSET, Unset

T = TypeVar("T", bound="FitExtension")


@_attrs_define
class FitExtension:
    """How much more of a fit is wanted: one of epochs and steps."""

    epochs: int | None | Unset = UNSET
    """ Epochs beyond those that were made, or begun. """
    steps: int | None | Unset = UNSET
    """ Steps beyond those that were made. """

    def to_dict(self) -> dict[str, Any]:
        epochs: int | None | Unset
        if isinstance(self.epochs, Unset):
            epochs = UNSET
        else:
            epochs = self.epochs

        steps: int | None | Unset
        if isinstance(self.steps, Unset):
            steps = UNSET
        else:
            steps = self.steps

        field_dict: dict[str, Any] = {}

        field_dict.update({})
        if epochs is not UNSET:
            field_dict["epochs"] = epochs
        if steps is not UNSET:
            field_dict["steps"] = steps

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        d = dict(src_dict)

        def _parse_epochs(data: object) -> int | None | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(int | None | Unset, data)

        epochs = _parse_epochs(d.pop("epochs", UNSET))

        def _parse_steps(data: object) -> int | None | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(int | None | Unset, data)

        steps = _parse_steps(d.pop("steps", UNSET))

        fit_extension = cls(
            epochs=epochs,
            steps=steps,
        )

        return fit_extension
