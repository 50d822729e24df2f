from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeVar

from attrs import define as _attrs_define
from attrs import field as _attrs_field

if TYPE_CHECKING:
    from ..models.graph_finding import GraphFinding
    from ..models.graph_report_canonical_definition import GraphReportCanonicalDefinition
    from ..models.graph_report_memory import GraphReportMemory
    from ..models.graph_report_node_counts import GraphReportNodeCounts
    from ..models.graph_report_shapes import GraphReportShapes


T = TypeVar("T", bound="GraphReport")


@_attrs_define
class GraphReport:
    """What the engine makes of a definition."""

    definition: GraphReportCanonicalDefinition
    """ The graph as nodes, in whichever form it was sent. """
    digest: str
    """ Equal digests mean equal graphs. """
    findings: list[GraphFinding]
    """ Remarks on the definition: errors, warnings and information. """
    implicit_loss: bool
    """ Whether the only scalar output was taken as the loss, since none was named. """
    memory: GraphReportMemory
    """ Estimated memory in bytes. """
    name: str
    """ Name. """
    node_counts: GraphReportNodeCounts
    """ Number of nodes by op. """
    parameter_count: int
    """ Number of elements of all parameters. """
    shapes: GraphReportShapes
    """ Inferred shapes by name. """
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        definition = self.definition.to_dict()

        digest = self.digest

        findings = []
        for findings_item_data in self.findings:
            findings_item = findings_item_data.to_dict()
            findings.append(findings_item)

        implicit_loss = self.implicit_loss

        memory = self.memory.to_dict()

        name = self.name

        node_counts = self.node_counts.to_dict()

        parameter_count = self.parameter_count

        shapes = self.shapes.to_dict()

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update(
            {
                "definition": definition,
                "digest": digest,
                "findings": findings,
                "implicit_loss": implicit_loss,
                "memory": memory,
                "name": name,
                "node_counts": node_counts,
                "parameter_count": parameter_count,
                "shapes": shapes,
            }
        )

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        from ..models.graph_finding import GraphFinding  # noqa: PLC0415
        from ..models.graph_report_canonical_definition import GraphReportCanonicalDefinition  # noqa: PLC0415
        from ..models.graph_report_memory import GraphReportMemory  # noqa: PLC0415
        from ..models.graph_report_node_counts import GraphReportNodeCounts  # noqa: PLC0415
        from ..models.graph_report_shapes import GraphReportShapes  # noqa: PLC0415

        d = dict(src_dict)
        definition = GraphReportCanonicalDefinition.from_dict(d.pop("definition"))

        digest = d.pop("digest")

        findings = []
        _findings = d.pop("findings")
        for findings_item_data in _findings:
            findings_item = GraphFinding.from_dict(findings_item_data)

            findings.append(findings_item)

        implicit_loss = d.pop("implicit_loss")

        memory = GraphReportMemory.from_dict(d.pop("memory"))

        name = d.pop("name")

        node_counts = GraphReportNodeCounts.from_dict(d.pop("node_counts"))

        parameter_count = d.pop("parameter_count")

        shapes = GraphReportShapes.from_dict(d.pop("shapes"))

        graph_report = cls(
            definition=definition,
            digest=digest,
            findings=findings,
            implicit_loss=implicit_loss,
            memory=memory,
            name=name,
            node_counts=node_counts,
            parameter_count=parameter_count,
            shapes=shapes,
        )

        graph_report.additional_properties = d
        return graph_report

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
