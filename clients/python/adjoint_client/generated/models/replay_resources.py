from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar, cast

from attrs import define as _attrs_define

from ..models.replay_resources_priority_type_0 import (
    ReplayResourcesPriorityType0,
    check_replay_resources_priority_type_0,
)
from ..types import UNSET, Unset

T = TypeVar("T", bound="ReplayResources")


@_attrs_define
class ReplayResources:
    """What a replay gets of the machine; executor and threads are those of the fit that it runs again."""

    priority: None | ReplayResourcesPriorityType0 | Unset = UNSET
    """ Default "normal". """

    def to_dict(self) -> dict[str, Any]:
        priority: None | str | Unset
        if isinstance(self.priority, Unset):
            priority = UNSET
        elif isinstance(self.priority, str):
            priority = self.priority
        else:
            priority = self.priority

        field_dict: dict[str, Any] = {}

        field_dict.update({})
        if priority is not UNSET:
            field_dict["priority"] = priority

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        d = dict(src_dict)

        def _parse_priority(data: object) -> None | ReplayResourcesPriorityType0 | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            try:
                if not isinstance(data, str):
                    raise TypeError()
                priority_type_0 = check_replay_resources_priority_type_0(data)

                return priority_type_0
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            return cast(None | ReplayResourcesPriorityType0 | Unset, data)

        priority = _parse_priority(d.pop("priority", UNSET))

        replay_resources = cls(
            priority=priority,
        )

        return replay_resources
