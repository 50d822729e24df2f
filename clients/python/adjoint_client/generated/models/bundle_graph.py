from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeVar

from attrs import define as _attrs_define

if TYPE_CHECKING:
    from ..models.graph_definition import GraphDefinition


T = TypeVar("T", bound="BundleGraph")


@_attrs_define
class BundleGraph:
    """The graph, complete."""

    definition: GraphDefinition
    """ A graph in one of three forms: nodes, layers, or a program. The answer always holds the nodes. """
    digest: str
    """ SHA-256 in hexadecimal digits. """
    id: str
    """ Unique id. """
    name: str
    """ Name. """

    def to_dict(self) -> dict[str, Any]:
        definition = self.definition.to_dict()

        digest = self.digest

        id = self.id

        name = self.name

        field_dict: dict[str, Any] = {}

        field_dict.update(
            {
                "definition": definition,
                "digest": digest,
                "id": id,
                "name": name,
            }
        )

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        from ..models.graph_definition import GraphDefinition  # noqa: PLC0415

        d = dict(src_dict)
        definition = GraphDefinition.from_dict(d.pop("definition"))

        digest = d.pop("digest")

        id = d.pop("id")

        name = d.pop("name")

        bundle_graph = cls(
            definition=definition,
            digest=digest,
            id=id,
            name=name,
        )

        return bundle_graph
