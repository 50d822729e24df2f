from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..models.graph_finding_severity import GraphFindingSeverity, check_graph_finding_severity
from ..types import UNSET, Unset

T = TypeVar("T", bound="GraphFinding")


@_attrs_define
class GraphFinding:
    """Something about a graph that is allowed and probably not meant."""

    code: str
    """ Stable error code for programs. """
    detail: str
    """ What is wrong and what to change. """
    pointer: str
    """ JSON pointer to the fault. """
    severity: GraphFindingSeverity | Unset = "info"
    """ "warning": the result is probably not what was meant; a fit notes it as an event. """
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        code = self.code

        detail = self.detail

        pointer = self.pointer

        severity: str | Unset = UNSET
        if not isinstance(self.severity, Unset):
            severity = self.severity

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update(
            {
                "code": code,
                "detail": detail,
                "pointer": pointer,
            }
        )
        if severity is not UNSET:
            field_dict["severity"] = severity

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        d = dict(src_dict)
        code = d.pop("code")

        detail = d.pop("detail")

        pointer = d.pop("pointer")

        _severity = d.pop("severity", UNSET)
        severity: GraphFindingSeverity | Unset
        if isinstance(_severity, Unset):
            severity = UNSET
        else:
            severity = check_graph_finding_severity(_severity)

        graph_finding = cls(
            code=code,
            detail=detail,
            pointer=pointer,
            severity=severity,
        )

        graph_finding.additional_properties = d
        return graph_finding

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
