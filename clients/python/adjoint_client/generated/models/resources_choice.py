from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar, BinaryIO, TextIO, TYPE_CHECKING, Generator

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..types import UNSET, Unset

from ..models.resources_choice_priority import check_resources_choice_priority
from ..models.resources_choice_priority import ResourcesChoicePriority
from ..types import UNSET, Unset
from typing import cast


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
