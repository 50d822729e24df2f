from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar, cast

from attrs import define as _attrs_define

from ..types import UNSET, Unset

T = TypeVar("T", bound="IntervalChoice")


@_attrs_define
class IntervalChoice:
    """Numbers from min to max, both included, any of which may be drawn."""

    max_: float
    """ Upper limit. """
    min_: float
    """ Lower limit. """
    integer: bool | None | Unset = UNSET
    """ Whether they are whole numbers; default false. """
    log: bool | None | Unset = UNSET
    """ Whether their logarithms are equally likely; default false. """

    def to_dict(self) -> dict[str, Any]:
        max_ = self.max_

        min_ = self.min_

        integer: bool | None | Unset
        if isinstance(self.integer, Unset):
            integer = UNSET
        else:
            integer = self.integer

        log: bool | None | Unset
        if isinstance(self.log, Unset):
            log = UNSET
        else:
            log = self.log

        field_dict: dict[str, Any] = {}

        field_dict.update(
            {
                "max": max_,
                "min": min_,
            }
        )
        if integer is not UNSET:
            field_dict["integer"] = integer
        if log is not UNSET:
            field_dict["log"] = log

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        d = dict(src_dict)
        max_ = d.pop("max")

        min_ = d.pop("min")

        def _parse_integer(data: object) -> bool | None | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(bool | None | Unset, data)

        integer = _parse_integer(d.pop("integer", UNSET))

        def _parse_log(data: object) -> bool | None | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(bool | None | Unset, data)

        log = _parse_log(d.pop("log", UNSET))

        interval_choice = cls(
            max_=max_,
            min_=min_,
            integer=integer,
            log=log,
        )

        return interval_choice
