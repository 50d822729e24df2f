from __future__ import annotations

import datetime
from collections.abc import Mapping
from typing import Any, Literal, TypeVar, cast

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..types import UNSET, Unset

T = TypeVar("T", bound="GraphSummary")


@_attrs_define
class GraphSummary:
    """A graph as lists show it."""

    created_at: datetime.datetime
    """ Time of creation, RFC 3339 in UTC. """
    digest: str
    """ SHA-256 of the content, in hexadecimal. """
    id: str
    """ Unique id. """
    name: str
    """ Name. """
    parameter_count: int
    """ Number of elements of all parameters. """
    object_: Literal["graph"] | Unset = "graph"
    """ Type of the object. """
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        created_at = self.created_at.isoformat()

        digest = self.digest

        id = self.id

        name = self.name

        parameter_count = self.parameter_count

        object_ = self.object_

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update(
            {
                "created_at": created_at,
                "digest": digest,
                "id": id,
                "name": name,
                "parameter_count": parameter_count,
            }
        )
        if object_ is not UNSET:
            field_dict["object"] = object_

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        d = dict(src_dict)
        created_at = datetime.datetime.fromisoformat(d.pop("created_at"))

        digest = d.pop("digest")

        id = d.pop("id")

        name = d.pop("name")

        parameter_count = d.pop("parameter_count")

        object_ = cast(Literal["graph"] | Unset, d.pop("object", UNSET))
        if object_ != "graph" and not isinstance(object_, Unset):
            raise ValueError(f"object must match const 'graph', got '{object_}'")

        graph_summary = cls(
            created_at=created_at,
            digest=digest,
            id=id,
            name=name,
            parameter_count=parameter_count,
            object_=object_,
        )

        graph_summary.additional_properties = d
        return graph_summary

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
