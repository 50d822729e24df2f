from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar, cast

from attrs import define as _attrs_define

from ..models.validation_choice_order_type_0 import ValidationChoiceOrderType0, check_validation_choice_order_type_0
from ..types import UNSET, Unset

T = TypeVar("T", bound="ValidationChoice")


@_attrs_define
class ValidationChoice:
    """Rows to validate on: a share of the dataset, or another dataset."""

    dataset: list[str] | None | str | Unset = UNSET
    """ Id of a dataset; or a list of ids, whose rows are joined in their order. """
    every_epochs: int | None | Unset = UNSET
    """ Epochs between validations, at least 1; default 1; null: none by epoch. """
    every_steps: int | None | Unset = UNSET
    """ Steps between validations, at least 1. """
    group: None | str | Unset = UNSET
    """ A column whose equal values stay on one side. """
    order: None | Unset | ValidationChoiceOrderType0 = UNSET
    """ "last" holds out the end of the data, as for time series; default "random". """
    split: float | None | Unset = UNSET
    """ The share to hold out, at least 0 and less than 1; default 0.0. """
    stratify: None | str | Unset = UNSET
    """ A column of classes that keep their shares on both sides. """

    def to_dict(self) -> dict[str, Any]:
        dataset: list[str] | None | str | Unset
        if isinstance(self.dataset, Unset):
            dataset = UNSET
        elif isinstance(self.dataset, list):
            dataset = self.dataset

        else:
            dataset = self.dataset

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

        group: None | str | Unset
        if isinstance(self.group, Unset):
            group = UNSET
        else:
            group = self.group

        order: None | str | Unset
        if isinstance(self.order, Unset):
            order = UNSET
        elif isinstance(self.order, str):
            order = self.order
        else:
            order = self.order

        split: float | None | Unset
        if isinstance(self.split, Unset):
            split = UNSET
        else:
            split = self.split

        stratify: None | str | Unset
        if isinstance(self.stratify, Unset):
            stratify = UNSET
        else:
            stratify = self.stratify

        field_dict: dict[str, Any] = {}

        field_dict.update({})
        if dataset is not UNSET:
            field_dict["dataset"] = dataset
        if every_epochs is not UNSET:
            field_dict["every_epochs"] = every_epochs
        if every_steps is not UNSET:
            field_dict["every_steps"] = every_steps
        if group is not UNSET:
            field_dict["group"] = group
        if order is not UNSET:
            field_dict["order"] = order
        if split is not UNSET:
            field_dict["split"] = split
        if stratify is not UNSET:
            field_dict["stratify"] = stratify

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        d = dict(src_dict)

        def _parse_dataset(data: object) -> list[str] | None | str | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            try:
                if not isinstance(data, list):
                    raise TypeError()
                dataset_type_1 = cast(list[str], data)

                return dataset_type_1
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            return cast(list[str] | None | str | Unset, data)

        dataset = _parse_dataset(d.pop("dataset", UNSET))

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

        def _parse_group(data: object) -> None | str | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(None | str | Unset, data)

        group = _parse_group(d.pop("group", UNSET))

        def _parse_order(data: object) -> None | Unset | ValidationChoiceOrderType0:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            try:
                if not isinstance(data, str):
                    raise TypeError()
                order_type_0 = check_validation_choice_order_type_0(data)

                return order_type_0
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            return cast(None | Unset | ValidationChoiceOrderType0, data)

        order = _parse_order(d.pop("order", UNSET))

        def _parse_split(data: object) -> float | None | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(float | None | Unset, data)

        split = _parse_split(d.pop("split", UNSET))

        def _parse_stratify(data: object) -> None | str | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(None | str | Unset, data)

        stratify = _parse_stratify(d.pop("stratify", UNSET))

        validation_choice = cls(
            dataset=dataset,
            every_epochs=every_epochs,
            every_steps=every_steps,
            group=group,
            order=order,
            split=split,
            stratify=stratify,
        )

        return validation_choice
