from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar, cast

from attrs import define as _attrs_define

from ..types import UNSET, Unset

T = TypeVar("T", bound="ValidationChoice")


@_attrs_define
class ValidationChoice:
    """Rows to validate on: a share of the dataset, or another dataset."""

    dataset: None | str | Unset = UNSET
    split: float | None | Unset = UNSET

    def to_dict(self) -> dict[str, Any]:
        dataset: None | str | Unset
        if isinstance(self.dataset, Unset):
            dataset = UNSET
        else:
            dataset = self.dataset

        split: float | None | Unset
        if isinstance(self.split, Unset):
            split = UNSET
        else:
            split = self.split

        field_dict: dict[str, Any] = {}

        field_dict.update({})
        if dataset is not UNSET:
            field_dict["dataset"] = dataset
        if split is not UNSET:
            field_dict["split"] = split

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        d = dict(src_dict)

        def _parse_dataset(data: object) -> None | str | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(None | str | Unset, data)

        dataset = _parse_dataset(d.pop("dataset", UNSET))

        def _parse_split(data: object) -> float | None | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(float | None | Unset, data)

        split = _parse_split(d.pop("split", UNSET))

        validation_choice = cls(
            dataset=dataset,
            split=split,
        )

        return validation_choice
