from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar, cast

from attrs import define as _attrs_define

T = TypeVar("T", bound="BundleAttempt")


@_attrs_define
class BundleAttempt:
    """A process that worked on the fit, and how it ended."""

    number: int
    """ Number, from 1. """
    outcome: None | str
    """ How it ended; null while it runs. """

    def to_dict(self) -> dict[str, Any]:
        number = self.number

        outcome: None | str
        outcome = self.outcome

        field_dict: dict[str, Any] = {}

        field_dict.update(
            {
                "number": number,
                "outcome": outcome,
            }
        )

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        d = dict(src_dict)
        number = d.pop("number")

        def _parse_outcome(data: object) -> None | str:
            if data is None:
                return data
            return cast(None | str, data)

        outcome = _parse_outcome(d.pop("outcome"))

        bundle_attempt = cls(
            number=number,
            outcome=outcome,
        )

        return bundle_attempt
