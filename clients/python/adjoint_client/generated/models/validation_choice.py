from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar, BinaryIO, TextIO, TYPE_CHECKING, Generator

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..types import UNSET, Unset

from ..types import UNSET, Unset
from typing import cast


T = TypeVar("T", bound="ValidationChoice")


@_attrs_define
class ValidationChoice:
    """Rows to validate on: a share of the dataset, or another dataset."""

    split: float | None | Unset = UNSET
    dataset: None | str | Unset = UNSET

    def to_dict(self) -> dict[str, Any]:
        split: float | None | Unset
        if isinstance(self.split, Unset):
            split = UNSET
        else:
            split = self.split

        dataset: None | str | Unset
        if isinstance(self.dataset, Unset):
            dataset = UNSET
        else:
            dataset = self.dataset

        field_dict: dict[str, Any] = {}

        field_dict.update({})
        if split is not UNSET:
            field_dict["split"] = split
        if dataset is not UNSET:
            field_dict["dataset"] = dataset

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        d = dict(src_dict)

        def _parse_split(data: object) -> float | None | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(float | None | Unset, data)

        split = _parse_split(d.pop("split", UNSET))

        def _parse_dataset(data: object) -> None | str | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(None | str | Unset, data)

        dataset = _parse_dataset(d.pop("dataset", UNSET))

        validation_choice = cls(
            split=split,
            dataset=dataset,
        )

        return validation_choice
