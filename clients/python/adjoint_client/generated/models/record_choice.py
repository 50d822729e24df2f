from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeVar, cast

from attrs import define as _attrs_define

from ..types import UNSET, Unset

if TYPE_CHECKING:
    from ..models.gradients_choice import GradientsChoice


T = TypeVar("T", bound="RecordChoice")


@_attrs_define
class RecordChoice:
    """Which steps become metric rows, and what is in them."""

    epochs: bool | None | Unset = UNSET
    """ Whether each epoch makes a row too, with metrics over its rows and uncertainties; default false. """
    every_steps: int | None | Unset = UNSET
    """ Steps between rows, at least 1; by default so many that a fit makes at most about 10000 rows. """
    gradient_norms: bool | None | Unset = UNSET
    """ Whether rows hold norms; default true. """
    gradients: GradientsChoice | None | Unset = UNSET
    """ Steps and parameters whose gradients are captured. """

    def to_dict(self) -> dict[str, Any]:
        from ..models.gradients_choice import GradientsChoice  # noqa: PLC0415

        epochs: bool | None | Unset
        if isinstance(self.epochs, Unset):
            epochs = UNSET
        else:
            epochs = self.epochs

        every_steps: int | None | Unset
        if isinstance(self.every_steps, Unset):
            every_steps = UNSET
        else:
            every_steps = self.every_steps

        gradient_norms: bool | None | Unset
        if isinstance(self.gradient_norms, Unset):
            gradient_norms = UNSET
        else:
            gradient_norms = self.gradient_norms

        gradients: dict[str, Any] | None | Unset
        if isinstance(self.gradients, Unset):
            gradients = UNSET
        elif isinstance(self.gradients, GradientsChoice):
            gradients = self.gradients.to_dict()
        else:
            gradients = self.gradients

        field_dict: dict[str, Any] = {}

        field_dict.update({})
        if epochs is not UNSET:
            field_dict["epochs"] = epochs
        if every_steps is not UNSET:
            field_dict["every_steps"] = every_steps
        if gradient_norms is not UNSET:
            field_dict["gradient_norms"] = gradient_norms
        if gradients is not UNSET:
            field_dict["gradients"] = gradients

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        from ..models.gradients_choice import GradientsChoice  # noqa: PLC0415

        d = dict(src_dict)

        def _parse_epochs(data: object) -> bool | None | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(bool | None | Unset, data)

        epochs = _parse_epochs(d.pop("epochs", UNSET))

        def _parse_every_steps(data: object) -> int | None | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(int | None | Unset, data)

        every_steps = _parse_every_steps(d.pop("every_steps", UNSET))

        def _parse_gradient_norms(data: object) -> bool | None | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(bool | None | Unset, data)

        gradient_norms = _parse_gradient_norms(d.pop("gradient_norms", UNSET))

        def _parse_gradients(data: object) -> GradientsChoice | None | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            try:
                if not isinstance(data, dict):
                    raise TypeError()
                gradients_type_0 = GradientsChoice.from_dict(data)

                return gradients_type_0
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            return cast(GradientsChoice | None | Unset, data)

        gradients = _parse_gradients(d.pop("gradients", UNSET))

        record_choice = cls(
            epochs=epochs,
            every_steps=every_steps,
            gradient_norms=gradient_norms,
            gradients=gradients,
        )

        return record_choice
