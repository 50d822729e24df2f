from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar, cast

from attrs import define as _attrs_define

from ..types import UNSET, Unset

T = TypeVar("T", bound="RowsChoice")


@_attrs_define
class RowsChoice:
    """Rows of a dataset: those of `indices`, or from `start` on to `stop`, which is left out."""

    dataset: None | str | Unset = UNSET
    """ Id of a dataset; by default the session's. """
    indices: list[int] | None | Unset = UNSET
    """ Indices of the rows, from 0. """
    start: int | None | Unset = UNSET
    """ Index of the first, from 0. """
    stop: int | None | Unset = UNSET
    """ Index after the last. """

    def to_dict(self) -> dict[str, Any]:
        dataset: None | str | Unset
        if isinstance(self.dataset, Unset):
            dataset = UNSET
        else:
            dataset = self.dataset

        indices: list[int] | None | Unset
        if isinstance(self.indices, Unset):
            indices = UNSET
        elif isinstance(self.indices, list):
            indices = self.indices

        else:
            indices = self.indices

        start: int | None | Unset
        if isinstance(self.start, Unset):
            start = UNSET
        else:
            start = self.start

        stop: int | None | Unset
        if isinstance(self.stop, Unset):
            stop = UNSET
        else:
            stop = self.stop

        field_dict: dict[str, Any] = {}

        field_dict.update({})
        if dataset is not UNSET:
            field_dict["dataset"] = dataset
        if indices is not UNSET:
            field_dict["indices"] = indices
        if start is not UNSET:
            field_dict["start"] = start
        if stop is not UNSET:
            field_dict["stop"] = stop

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

        def _parse_indices(data: object) -> list[int] | None | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            try:
                if not isinstance(data, list):
                    raise TypeError()
                indices_type_0 = cast(list[int], data)

                return indices_type_0
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            return cast(list[int] | None | Unset, data)

        indices = _parse_indices(d.pop("indices", UNSET))

        def _parse_start(data: object) -> int | None | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(int | None | Unset, data)

        start = _parse_start(d.pop("start", UNSET))

        def _parse_stop(data: object) -> int | None | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(int | None | Unset, data)

        stop = _parse_stop(d.pop("stop", UNSET))

        rows_choice = cls(
            dataset=dataset,
            indices=indices,
            start=start,
            stop=stop,
        )

        return rows_choice
