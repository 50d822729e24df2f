from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Literal, TypeVar, cast

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..types import UNSET, Unset

if TYPE_CHECKING:
    from ..models.graph_node import GraphNode


T = TypeVar("T", bound="GraphNodeList")


@_attrs_define
class GraphNodeList:
    """Nodes in the order of execution, then leafs."""

    data: list[GraphNode]
    """ The entries. """
    n_leafs: int
    """ Number of leafs in the graph. """
    n_nodes: int
    """ Number of nodes in the graph. """
    seq: int | None
    """ The place that the step took; null for one that only reads. """
    object_: Literal["list"] | Unset = "list"
    """ Type of the object. """
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        data = []
        for data_item_data in self.data:
            data_item = data_item_data.to_dict()
            data.append(data_item)

        n_leafs = self.n_leafs

        n_nodes = self.n_nodes

        seq: int | None
        seq = self.seq

        object_ = self.object_

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update(
            {
                "data": data,
                "n_leafs": n_leafs,
                "n_nodes": n_nodes,
                "seq": seq,
            }
        )
        if object_ is not UNSET:
            field_dict["object"] = object_

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        from ..models.graph_node import GraphNode  # noqa: PLC0415

        d = dict(src_dict)
        data = []
        _data = d.pop("data")
        for data_item_data in _data:
            data_item = GraphNode.from_dict(data_item_data)

            data.append(data_item)

        n_leafs = d.pop("n_leafs")

        n_nodes = d.pop("n_nodes")

        def _parse_seq(data: object) -> int | None:
            if data is None:
                return data
            return cast(int | None, data)

        seq = _parse_seq(d.pop("seq"))

        object_ = cast(Literal["list"] | Unset, d.pop("object", UNSET))
        if object_ != "list" and not isinstance(object_, Unset):
            raise ValueError(f"object must match const 'list', got '{object_}'")

        graph_node_list = cls(
            data=data,
            n_leafs=n_leafs,
            n_nodes=n_nodes,
            seq=seq,
            object_=object_,
        )

        graph_node_list.additional_properties = d
        return graph_node_list

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
