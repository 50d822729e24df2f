from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar, cast

from attrs import define as _attrs_define

from ..models.resources_choice_priority import ResourcesChoicePriority, check_resources_choice_priority
from ..types import UNSET, Unset

T = TypeVar("T", bound="ResourcesChoice")


@_attrs_define
class ResourcesChoice:
    """What the fit gets of the machine."""

    priority: ResourcesChoicePriority | Unset = "normal"
    replicas: int | None | Unset = UNSET
    """ Processes that share each batch, 1 to 16; default 1. """

    def to_dict(self) -> dict[str, Any]:
        priority: str | Unset = UNSET
        if not isinstance(self.priority, Unset):
            priority = self.priority

        replicas: int | None | Unset
        if isinstance(self.replicas, Unset):
            replicas = UNSET
        else:
            replicas = self.replicas

        field_dict: dict[str, Any] = {}

        field_dict.update({})
        if priority is not UNSET:
            field_dict["priority"] = priority
        if replicas is not UNSET:
            field_dict["replicas"] = replicas

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

        def _parse_replicas(data: object) -> int | None | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(int | None | Unset, data)

        replicas = _parse_replicas(d.pop("replicas", UNSET))

        resources_choice = cls(
            priority=priority,
            replicas=replicas,
        )

        return resources_choice
