from __future__ import annotations

import datetime
from collections.abc import Mapping
from typing import Any, TypeVar, cast

from attrs import define as _attrs_define

from ..models.resource_changes_priority_type_0 import (
    ResourceChangesPriorityType0,
    check_resource_changes_priority_type_0,
)
from ..types import UNSET, Unset

T = TypeVar("T", bound="ResourceChanges")


@_attrs_define
class ResourceChanges:
    """What of its resources a fit can be given otherwise; null stands for the default."""

    deadline: datetime.datetime | None | Unset = UNSET
    """ When it fails with the code deadline_exceeded unless it has ended: RFC 3339, with the offset from UTC. """
    priority: None | ResourceChangesPriorityType0 | Unset = UNSET
    """ Whose turn is earlier. """
    threads: int | None | Unset = UNSET
    """ Threads that work inside a step, from its next process on; only while it is paused. """
    timeout_seconds: float | None | Unset = UNSET
    """ Seconds that it may run, over all attempts; then it fails with the code timeout, after a checkpoint. """

    def to_dict(self) -> dict[str, Any]:
        deadline: None | str | Unset
        if isinstance(self.deadline, Unset):
            deadline = UNSET
        elif isinstance(self.deadline, datetime.datetime):
            deadline = self.deadline.isoformat()
        else:
            deadline = self.deadline

        priority: None | str | Unset
        if isinstance(self.priority, Unset):
            priority = UNSET
        elif isinstance(self.priority, str):
            priority = self.priority
        else:
            priority = self.priority

        threads: int | None | Unset
        if isinstance(self.threads, Unset):
            threads = UNSET
        else:
            threads = self.threads

        timeout_seconds: float | None | Unset
        if isinstance(self.timeout_seconds, Unset):
            timeout_seconds = UNSET
        else:
            timeout_seconds = self.timeout_seconds

        field_dict: dict[str, Any] = {}

        field_dict.update({})
        if deadline is not UNSET:
            field_dict["deadline"] = deadline
        if priority is not UNSET:
            field_dict["priority"] = priority
        if threads is not UNSET:
            field_dict["threads"] = threads
        if timeout_seconds is not UNSET:
            field_dict["timeout_seconds"] = timeout_seconds

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        d = dict(src_dict)

        def _parse_deadline(data: object) -> datetime.datetime | None | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            try:
                if not isinstance(data, str):
                    raise TypeError()
                deadline_type_0 = datetime.datetime.fromisoformat(data)

                return deadline_type_0
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            return cast(datetime.datetime | None | Unset, data)

        deadline = _parse_deadline(d.pop("deadline", UNSET))

        def _parse_priority(data: object) -> None | ResourceChangesPriorityType0 | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            try:
                if not isinstance(data, str):
                    raise TypeError()
                priority_type_0 = check_resource_changes_priority_type_0(data)

                return priority_type_0
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            return cast(None | ResourceChangesPriorityType0 | Unset, data)

        priority = _parse_priority(d.pop("priority", UNSET))

        def _parse_threads(data: object) -> int | None | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(int | None | Unset, data)

        threads = _parse_threads(d.pop("threads", UNSET))

        def _parse_timeout_seconds(data: object) -> float | None | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(float | None | Unset, data)

        timeout_seconds = _parse_timeout_seconds(d.pop("timeout_seconds", UNSET))

        resource_changes = cls(
            deadline=deadline,
            priority=priority,
            threads=threads,
            timeout_seconds=timeout_seconds,
        )

        return resource_changes
