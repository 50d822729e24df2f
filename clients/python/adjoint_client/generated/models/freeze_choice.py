from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar, cast

from attrs import define as _attrs_define

from ..types import UNSET, Unset

T = TypeVar("T", bound="FreezeChoice")


@_attrs_define
class FreezeChoice:
    """Parameters that keep their values from one epoch to another, both included."""

    match: list[str] | str
    """ Patterns of parameter names, * for anything, ? for one character. """
    first_epoch: int | None | Unset = UNSET
    """ Counted from 1; default 1. """
    last_epoch: int | None | Unset = UNSET
    """ At least first_epoch; by default the last of the fit. """

    def to_dict(self) -> dict[str, Any]:
        match: list[str] | str
        if isinstance(self.match, list):
            match = self.match

        else:
            match = self.match

        first_epoch: int | None | Unset
        if isinstance(self.first_epoch, Unset):
            first_epoch = UNSET
        else:
            first_epoch = self.first_epoch

        last_epoch: int | None | Unset
        if isinstance(self.last_epoch, Unset):
            last_epoch = UNSET
        else:
            last_epoch = self.last_epoch

        field_dict: dict[str, Any] = {}

        field_dict.update(
            {
                "match": match,
            }
        )
        if first_epoch is not UNSET:
            field_dict["first_epoch"] = first_epoch
        if last_epoch is not UNSET:
            field_dict["last_epoch"] = last_epoch

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        d = dict(src_dict)

        def _parse_match(data: object) -> list[str] | str:
            try:
                if not isinstance(data, list):
                    raise TypeError()
                match_type_1 = cast(list[str], data)

                return match_type_1
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            return cast(list[str] | str, data)

        match = _parse_match(d.pop("match"))

        def _parse_first_epoch(data: object) -> int | None | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(int | None | Unset, data)

        first_epoch = _parse_first_epoch(d.pop("first_epoch", UNSET))

        def _parse_last_epoch(data: object) -> int | None | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(int | None | Unset, data)

        last_epoch = _parse_last_epoch(d.pop("last_epoch", UNSET))

        freeze_choice = cls(
            match=match,
            first_epoch=first_epoch,
            last_epoch=last_epoch,
        )

        return freeze_choice
