from __future__ import annotations

import datetime
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Literal, TypeVar, cast

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..types import UNSET, Unset

if TYPE_CHECKING:
    from ..models.graph_canonical_definition import GraphCanonicalDefinition
    from ..models.graph_finding import GraphFinding
    from ..models.graph_memory import GraphMemory
    from ..models.graph_node_counts import GraphNodeCounts
    from ..models.graph_shapes import GraphShapes


T = TypeVar("T", bound="Graph")


@_attrs_define
class Graph:
    """A stored graph."""

    created_at: datetime.datetime
    """ Time of creation, RFC 3339 in UTC. """
    definition: GraphCanonicalDefinition
    """ The graph as nodes, in whichever form it was sent. """
    digest: str
    """ Equal digests mean equal graphs. """
    findings: list[GraphFinding]
    """ Remarks on the definition: errors, warnings and information. """
    id: str
    """ Unique id. """
    implicit_loss: bool
    """ Whether the only scalar output was taken as the loss, since none was named. """
    memory: GraphMemory
    """ Estimated memory in bytes. """
    name: str
    """ Name. """
    node_counts: GraphNodeCounts
    """ Number of nodes by op. """
    parameter_count: int
    """ Number of elements of all parameters. """
    shapes: GraphShapes
    """ Inferred shapes by name. """
    object_: Literal["graph"] | Unset = "graph"
    """ Type of the object. """
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        created_at = self.created_at.isoformat()

        definition = self.definition.to_dict()

        digest = self.digest

        findings = []
        for findings_item_data in self.findings:
            findings_item = findings_item_data.to_dict()
            findings.append(findings_item)

        id = self.id

        implicit_loss = self.implicit_loss

        memory = self.memory.to_dict()

        name = self.name

        node_counts = self.node_counts.to_dict()

        parameter_count = self.parameter_count

        shapes = self.shapes.to_dict()

        object_ = self.object_

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update(
            {
                "created_at": created_at,
                "definition": definition,
                "digest": digest,
                "findings": findings,
                "id": id,
                "implicit_loss": implicit_loss,
                "memory": memory,
                "name": name,
                "node_counts": node_counts,
                "parameter_count": parameter_count,
                "shapes": shapes,
            }
        )
        if object_ is not UNSET:
            field_dict["object"] = object_

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        from ..models.graph_canonical_definition import GraphCanonicalDefinition  # noqa: PLC0415
        from ..models.graph_finding import GraphFinding  # noqa: PLC0415
        from ..models.graph_memory import GraphMemory  # noqa: PLC0415
        from ..models.graph_node_counts import GraphNodeCounts  # noqa: PLC0415
        from ..models.graph_shapes import GraphShapes  # noqa: PLC0415

        d = dict(src_dict)
        created_at = datetime.datetime.fromisoformat(d.pop("created_at"))

        definition = GraphCanonicalDefinition.from_dict(d.pop("definition"))

        digest = d.pop("digest")

        findings = []
        _findings = d.pop("findings")
        for findings_item_data in _findings:
            findings_item = GraphFinding.from_dict(findings_item_data)

            findings.append(findings_item)

        id = d.pop("id")

        implicit_loss = d.pop("implicit_loss")

        memory = GraphMemory.from_dict(d.pop("memory"))

        name = d.pop("name")

        node_counts = GraphNodeCounts.from_dict(d.pop("node_counts"))

        parameter_count = d.pop("parameter_count")

        shapes = GraphShapes.from_dict(d.pop("shapes"))

        object_ = cast(Literal["graph"] | Unset, d.pop("object", UNSET))
        if object_ != "graph" and not isinstance(object_, Unset):
            raise ValueError(f"object must match const 'graph', got '{object_}'")

        graph = cls(
            created_at=created_at,
            definition=definition,
            digest=digest,
            findings=findings,
            id=id,
            implicit_loss=implicit_loss,
            memory=memory,
            name=name,
            node_counts=node_counts,
            parameter_count=parameter_count,
            shapes=shapes,
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
