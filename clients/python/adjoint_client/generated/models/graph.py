from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar, BinaryIO, TextIO, TYPE_CHECKING, Generator

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..types import UNSET, Unset

from ..types import UNSET, Unset
from typing import cast
from typing import Literal, cast
import datetime

if TYPE_CHECKING:
    from ..models.graph_definition import GraphDefinition
    from ..models.graph_finding import GraphFinding
    from ..models.graph_memory import GraphMemory
    from ..models.graph_node_counts import GraphNodeCounts
    from ..models.graph_shapes import GraphShapes


T = TypeVar("T", bound="Graph")


@_attrs_define
class Graph:
    """A stored graph."""

    name: str
    digest: str
    """ Equal digests mean equal graphs. """
    definition: GraphDefinition
    """ The canonical spelling. """
    parameter_count: int
    node_counts: GraphNodeCounts
    shapes: GraphShapes
    implicit_loss: bool
    memory: GraphMemory
    findings: list[GraphFinding]
    id: str
    created_at: datetime.datetime
    object_: Literal["graph"] | Unset = "graph"
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        from ..models.graph_definition import GraphDefinition  # noqa: PLC0415
        from ..models.graph_finding import GraphFinding  # noqa: PLC0415
        from ..models.graph_memory import GraphMemory  # noqa: PLC0415
        from ..models.graph_node_counts import GraphNodeCounts  # noqa: PLC0415
        from ..models.graph_shapes import GraphShapes  # noqa: PLC0415

        name = self.name

        digest = self.digest

        definition = self.definition.to_dict()

        parameter_count = self.parameter_count

        node_counts = self.node_counts.to_dict()

        shapes = self.shapes.to_dict()

        implicit_loss = self.implicit_loss

        memory = self.memory.to_dict()

        findings = []
        for findings_item_data in self.findings:
            findings_item = findings_item_data.to_dict()
            findings.append(findings_item)

        id = self.id

        created_at = self.created_at.isoformat()

        object_ = self.object_

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update(
            {
                "name": name,
                "digest": digest,
                "definition": definition,
                "parameter_count": parameter_count,
                "node_counts": node_counts,
                "shapes": shapes,
                "implicit_loss": implicit_loss,
                "memory": memory,
                "findings": findings,
                "id": id,
                "created_at": created_at,
            }
        )
        if object_ is not UNSET:
            field_dict["object"] = object_

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        from ..models.graph_definition import GraphDefinition  # noqa: PLC0415
        from ..models.graph_finding import GraphFinding  # noqa: PLC0415
        from ..models.graph_memory import GraphMemory  # noqa: PLC0415
        from ..models.graph_node_counts import GraphNodeCounts  # noqa: PLC0415
        from ..models.graph_shapes import GraphShapes  # noqa: PLC0415

        d = dict(src_dict)
        name = d.pop("name")

        digest = d.pop("digest")

        definition = GraphDefinition.from_dict(d.pop("definition"))

        parameter_count = d.pop("parameter_count")

        node_counts = GraphNodeCounts.from_dict(d.pop("node_counts"))

        shapes = GraphShapes.from_dict(d.pop("shapes"))

        implicit_loss = d.pop("implicit_loss")

        memory = GraphMemory.from_dict(d.pop("memory"))

        findings = []
        _findings = d.pop("findings")
        for findings_item_data in _findings:
            findings_item = GraphFinding.from_dict(findings_item_data)

            findings.append(findings_item)

        id = d.pop("id")

        created_at = datetime.datetime.fromisoformat(d.pop("created_at"))

        object_ = cast(Literal["graph"] | Unset, d.pop("object", UNSET))
        if object_ != "graph" and not isinstance(object_, Unset):
            raise ValueError(f"object must match const 'graph', got '{object_}'")

        graph = cls(
            name=name,
            digest=digest,
            definition=definition,
            parameter_count=parameter_count,
            node_counts=node_counts,
            shapes=shapes,
            implicit_loss=implicit_loss,
            memory=memory,
            findings=findings,
            id=id,
            created_at=created_at,
            object_=object_,
        )

        graph.additional_properties = d
        return graph

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
