from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar, cast

from attrs import define as _attrs_define
from attrs import field as _attrs_field

T = TypeVar("T", bound="Limits")


@_attrs_define
class Limits:
    """What this server takes at most."""

    attempts_max: int
    """ Number of attempts after which a fit whose process keeps dying fails. """
    max_columns: int
    """ Maximum number of columns of a dataset. """
    max_expanded_bytes: int
    """ Maximum size of a dataset after decompression, in bytes. """
    max_json_bytes: int
    """ Maximum size of a JSON body, in bytes. """
    max_queue: int
    """ Maximum number of queued fits. """
    max_rows: int
    """ Maximum number of rows of a dataset. """
    max_sessions: int
    """ Maximum number of open sessions. """
    max_step_bytes: int
    """ Maximum size of the body of a session step, in bytes. """
    max_upload_bytes: int
    """ Maximum size of an upload, in bytes. """
    session_workers: int
    """ Maximum number of processes of sessions. """
    storage_quota_bytes: int | None
    """ Of datasets and checkpoints together; null: the disk's size. """
    workers: int
    """ Maximum number of fits that run at a time. """
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        attempts_max = self.attempts_max

        max_columns = self.max_columns

        max_expanded_bytes = self.max_expanded_bytes

        max_json_bytes = self.max_json_bytes

        max_queue = self.max_queue

        max_rows = self.max_rows

        max_sessions = self.max_sessions

        max_step_bytes = self.max_step_bytes

        max_upload_bytes = self.max_upload_bytes

        session_workers = self.session_workers

        storage_quota_bytes: int | None
        storage_quota_bytes = self.storage_quota_bytes

        workers = self.workers

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update(
            {
                "attempts_max": attempts_max,
                "max_columns": max_columns,
                "max_expanded_bytes": max_expanded_bytes,
                "max_json_bytes": max_json_bytes,
                "max_queue": max_queue,
                "max_rows": max_rows,
                "max_sessions": max_sessions,
                "max_step_bytes": max_step_bytes,
                "max_upload_bytes": max_upload_bytes,
                "session_workers": session_workers,
                "storage_quota_bytes": storage_quota_bytes,
                "workers": workers,
            }
        )

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        d = dict(src_dict)
        attempts_max = d.pop("attempts_max")

        max_columns = d.pop("max_columns")

        max_expanded_bytes = d.pop("max_expanded_bytes")

        max_json_bytes = d.pop("max_json_bytes")

        max_queue = d.pop("max_queue")

        max_rows = d.pop("max_rows")

        max_sessions = d.pop("max_sessions")

        max_step_bytes = d.pop("max_step_bytes")

        max_upload_bytes = d.pop("max_upload_bytes")

        session_workers = d.pop("session_workers")

        def _parse_storage_quota_bytes(data: object) -> int | None:
            if data is None:
                return data
            return cast(int | None, data)

        storage_quota_bytes = _parse_storage_quota_bytes(d.pop("storage_quota_bytes"))

        workers = d.pop("workers")

        limits = cls(
            attempts_max=attempts_max,
            max_columns=max_columns,
            max_expanded_bytes=max_expanded_bytes,
            max_json_bytes=max_json_bytes,
            max_queue=max_queue,
            max_rows=max_rows,
            max_sessions=max_sessions,
            max_step_bytes=max_step_bytes,
            max_upload_bytes=max_upload_bytes,
            session_workers=session_workers,
            storage_quota_bytes=storage_quota_bytes,
            workers=workers,
        )

        limits.additional_properties = d
        return limits

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
