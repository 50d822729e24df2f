from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar, cast

from attrs import define as _attrs_define

from ..models.shuffle_choice_kind_type_0 import ShuffleChoiceKindType0, check_shuffle_choice_kind_type_0
from ..types import UNSET, Unset

T = TypeVar("T", bound="ShuffleChoice")


@_attrs_define
class ShuffleChoice:
    """The order of an epoch's examples: every one equally likely, in groups, within a window, or as they come."""

    kind: None | ShuffleChoiceKindType0 | Unset = UNSET
    """ Default "rows": every order equally likely; "shards": groups of `size` examples, in order inside; "window":
    no example moves by `size` places or more; "none": the order of the data. """
    size: int | None | Unset = UNSET
    """ Examples of a shard (by default those of a batch) or window, at least 1. """

    def to_dict(self) -> dict[str, Any]:
        kind: None | str | Unset
        if isinstance(self.kind, Unset):
            kind = UNSET
        elif isinstance(self.kind, str):
            kind = self.kind
        else:
            kind = self.kind

        size: int | None | Unset
        if isinstance(self.size, Unset):
            size = UNSET
        else:
            size = self.size

        field_dict: dict[str, Any] = {}

        field_dict.update({})
        if kind is not UNSET:
            field_dict["kind"] = kind
        if size is not UNSET:
            field_dict["size"] = size

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        d = dict(src_dict)

        def _parse_kind(data: object) -> None | ShuffleChoiceKindType0 | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            try:
                if not isinstance(data, str):
                    raise TypeError()
                kind_type_0 = check_shuffle_choice_kind_type_0(data)

                return kind_type_0
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            return cast(None | ShuffleChoiceKindType0 | Unset, data)

        kind = _parse_kind(d.pop("kind", UNSET))

        def _parse_size(data: object) -> int | None | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(int | None | Unset, data)

        size = _parse_size(d.pop("size", UNSET))

        shuffle_choice = cls(
            kind=kind,
            size=size,
        )

        return shuffle_choice
