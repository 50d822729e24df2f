from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar

from attrs import define as _attrs_define

from ..models.resources_choice_priority import ResourcesChoicePriority, check_resources_choice_priority
from ..types import UNSET, Unset

T = TypeVar("T", bound="ResourcesChoice")


@_attrs_define
class ResourcesChoice:
    """What the fit gets of the machine."""

    priority: ResourcesChoicePriority | Unset = "normal"

    def to_dict(self) -> dict[str, Any]:
        priority: str | Unset = UNSET
        if not isinstance(self.priority, Unset):
            priority = self.priority

        field_dict: dict[str, Any] = {}

        field_dict.update({})
        if priority is not UNSET:
            field_dict["priority"] = priority

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        d = dict(src_dict)
        _priority = d.pop("priority", UNSET)
        priority: ResourcesChoicePriority | Unset
        if isinstance(_priority, Unset):
            priority = UNSET
        else:
            priority = check_resources_choice_priority(_priority)

        resources_choice = cls(
            priority=priority,
        )

        return resources_choice
