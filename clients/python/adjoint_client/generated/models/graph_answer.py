from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar, cast

from attrs import define as _attrs_define
from attrs import field as _attrs_field

T = TypeVar("T", bound="GraphAnswer")


@_attrs_define
class GraphAnswer:
    """How much a graph holds now."""

    graph: str
    """ The graph, by id or name. """
    n_leafs: int
    """ Number of leafs in the graph. """
    n_nodes: int
    """ Number of nodes in the graph. """
    seq: int | None
    """ The place that the step took; null for one that only reads. """
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        graph = self.graph

        n_leafs = self.n_leafs

        n_nodes = self.n_nodes

        seq: int | None
        seq = self.seq

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update(
            {
                "graph": graph,
                "n_leafs": n_leafs,
                "n_nodes": n_nodes,
                "seq": seq,
            }
        )

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        d = dict(src_dict)
        graph = d.pop("graph")

        n_leafs = d.pop("n_leafs")

        n_nodes = d.pop("n_nodes")

        def _parse_seq(data: object) -> int | None:
            if data is None:
                return data
            return cast(int | None, data)

        seq = _parse_seq(d.pop("seq"))

        graph_answer = cls(
            graph=graph,
            n_leafs=n_leafs,
            n_nodes=n_nodes,
            seq=seq,
        )

        graph_answer.additional_properties = d
        return graph_answer

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
