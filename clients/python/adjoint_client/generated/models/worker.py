from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar, cast

from attrs import define as _attrs_define
from attrs import field as _attrs_field

T = TypeVar("T", bound="Worker")


@_attrs_define
class Worker:
    """A worker process."""

    attempt: int
    """ Number of the attempt that the process works on. """
    fit: None | str
    """ Id of the fit. """
    pid: int
    """ Process id. """
    rss_bytes: int
    """ Resident memory of the process, in bytes. """
    session: None | str
    """ Id of the session; null if there is none. """
    state: str
    """ State of the process. """
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        attempt = self.attempt

        fit: None | str
        fit = self.fit

        pid = self.pid

        rss_bytes = self.rss_bytes

        session: None | str
        session = self.session

        state = self.state

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update(
            {
                "attempt": attempt,
                "fit": fit,
                "pid": pid,
                "rss_bytes": rss_bytes,
                "session": session,
                "state": state,
            }
        )

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        d = dict(src_dict)
        attempt = d.pop("attempt")

        def _parse_fit(data: object) -> None | str:
            if data is None:
                return data
            return cast(None | str, data)

        fit = _parse_fit(d.pop("fit"))

        pid = d.pop("pid")

        rss_bytes = d.pop("rss_bytes")

        def _parse_session(data: object) -> None | str:
            if data is None:
                return data
            return cast(None | str, data)

        session = _parse_session(d.pop("session"))

        state = d.pop("state")

        worker = cls(
            attempt=attempt,
            fit=fit,
            pid=pid,
            rss_bytes=rss_bytes,
            session=session,
            state=state,
        )

        worker.additional_properties = d
        return worker

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
