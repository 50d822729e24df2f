from __future__ import annotations

import datetime
from collections.abc import Mapping
from typing import Any, TypeVar, cast

from attrs import define as _attrs_define

from ..models.resources_choice_executor_type_0 import (
    ResourcesChoiceExecutorType0,
    check_resources_choice_executor_type_0,
)
from ..models.resources_choice_priority import ResourcesChoicePriority, check_resources_choice_priority
from ..types import UNSET, Unset

T = TypeVar("T", bound="ResourcesChoice")


@_attrs_define
class ResourcesChoice:
    """What the fit gets of the machine."""

    affinity: list[int] | None | Unset = UNSET
    """ Numbers of the CPUs that its processes are bound to; by default those of the server. """
    deadline: datetime.datetime | None | Unset = UNSET
    """ When it fails with the code deadline_exceeded unless it has ended: RFC 3339, with the offset from UTC. By
    default never. """
    executor: None | ResourcesChoiceExecutorType0 | Unset = UNSET
    """ What computes; default "auto": native, compiled code, where the server has it, else numpy. A fit keeps the
    one that it was begun with. """
    priority: ResourcesChoicePriority | Unset = "normal"
    """ Whose turn is earlier, and who gets more of the cores where they are scarce. """
    replicas: int | None | Unset = UNSET
    """ Processes that share each batch, 1 to 16; default 1. """
    threads: int | None | Unset = UNSET
    """ Threads that work inside a step, 1 to 64, cut to the cores that there are; by default the cores divided by
    the workers of the server and the replicas. """
    timeout_seconds: float | None | Unset = UNSET
    """ Seconds that it may run, over all attempts; then it fails with the code timeout, after a checkpoint. By
    default unlimited. """

    def to_dict(self) -> dict[str, Any]:
        affinity: list[int] | None | Unset
        if isinstance(self.affinity, Unset):
            affinity = UNSET
        elif isinstance(self.affinity, list):
            affinity = self.affinity

        else:
            affinity = self.affinity

        deadline: None | str | Unset
        if isinstance(self.deadline, Unset):
            deadline = UNSET
        elif isinstance(self.deadline, datetime.datetime):
            deadline = self.deadline.isoformat()
        else:
            deadline = self.deadline

        executor: None | str | Unset
        if isinstance(self.executor, Unset):
            executor = UNSET
        elif isinstance(self.executor, str):
            executor = self.executor
        else:
            executor = self.executor

        priority: str | Unset = UNSET
        if not isinstance(self.priority, Unset):
            priority = self.priority

        replicas: int | None | Unset
        if isinstance(self.replicas, Unset):
            replicas = UNSET
        else:
            replicas = self.replicas

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
        if affinity is not UNSET:
            field_dict["affinity"] = affinity
        if deadline is not UNSET:
            field_dict["deadline"] = deadline
        if executor is not UNSET:
            field_dict["executor"] = executor
        if priority is not UNSET:
            field_dict["priority"] = priority
        if replicas is not UNSET:
            field_dict["replicas"] = replicas
        if threads is not UNSET:
            field_dict["threads"] = threads
        if timeout_seconds is not UNSET:
            field_dict["timeout_seconds"] = timeout_seconds

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        d = dict(src_dict)

        def _parse_affinity(data: object) -> list[int] | None | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            try:
                if not isinstance(data, list):
                    raise TypeError()
                affinity_type_0 = cast(list[int], data)

                return affinity_type_0
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            return cast(list[int] | None | Unset, data)

        affinity = _parse_affinity(d.pop("affinity", UNSET))

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

        def _parse_executor(data: object) -> None | ResourcesChoiceExecutorType0 | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            try:
                if not isinstance(data, str):
                    raise TypeError()
                executor_type_0 = check_resources_choice_executor_type_0(data)

                return executor_type_0
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            return cast(None | ResourcesChoiceExecutorType0 | Unset, data)

        executor = _parse_executor(d.pop("executor", UNSET))

        _priority = d.pop("priority", UNSET)
        priority: ResourcesChoicePriority | Unset
        if isinstance(_priority, Unset):
            priority = UNSET
        else:
            priority = check_resources_choice_priority(_priority)

        def _parse_replicas(data: object) -> int | None | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(int | None | Unset, data)

        replicas = _parse_replicas(d.pop("replicas", UNSET))

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

        resources_choice = cls(
            affinity=affinity,
            deadline=deadline,
            executor=executor,
            priority=priority,
            replicas=replicas,
            threads=threads,
            timeout_seconds=timeout_seconds,
        )

        return resources_choice
