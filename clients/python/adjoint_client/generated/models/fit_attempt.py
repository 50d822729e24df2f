from __future__ import annotations

import datetime
from collections.abc import Mapping
from typing import Any, TypeVar, cast

from attrs import define as _attrs_define
from attrs import field as _attrs_field

T = TypeVar("T", bound="FitAttempt")


@_attrs_define
class FitAttempt:
    """A process that worked on the fit."""

    ended_at: datetime.datetime | None
    """ Time at which it ended, RFC 3339 in UTC; null while it runs. """
    number: int
    """ Number, from 1. """
    outcome: None | str
    """ How its process ended; null while it works. succeeded, cancelled, drained: as it was asked to.
    killed_by_client. lost, stopped: with the server. killed, out_of_memory, blas_abort, stalled, error,
    not_started: a crash. Else the code of the error that the fit failed with. """
    started_at: datetime.datetime
    """ Time at which it started, RFC 3339 in UTC; null before that. """
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        ended_at: None | str
        if isinstance(self.ended_at, datetime.datetime):
            ended_at = self.ended_at.isoformat()
        else:
            ended_at = self.ended_at

        number = self.number

        outcome: None | str
        outcome = self.outcome

        started_at = self.started_at.isoformat()

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update(
            {
                "ended_at": ended_at,
                "number": number,
                "outcome": outcome,
                "started_at": started_at,
            }
        )

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        d = dict(src_dict)

        def _parse_ended_at(data: object) -> datetime.datetime | None:
            if data is None:
                return data
            try:
                if not isinstance(data, str):
                    raise TypeError()
                ended_at_type_0 = datetime.datetime.fromisoformat(data)

                return ended_at_type_0
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            return cast(datetime.datetime | None, data)

        ended_at = _parse_ended_at(d.pop("ended_at"))

        number = d.pop("number")

        def _parse_outcome(data: object) -> None | str:
            if data is None:
                return data
            return cast(None | str, data)

        outcome = _parse_outcome(d.pop("outcome"))

        started_at = datetime.datetime.fromisoformat(d.pop("started_at"))

        fit_attempt = cls(
            ended_at=ended_at,
            number=number,
            outcome=outcome,
            started_at=started_at,
        )

        fit_attempt.additional_properties = d
        return fit_attempt

    @property
    def additional_keys(self) -> list[str]:
        return list(self.additional_properties.keys())

    def __getitem__(self, key: str) -> Any:
        return self.additional_properties[key]

    def __setitem__(self, key: str, value: Any) -> None:
        self.additional_properties[key] = value

    def __delitem__(self, key: str) -> None:
        del self.additional_properties[key]

    def __contains__(self, key: str) -> bool:
        return key in self.additional_properties
