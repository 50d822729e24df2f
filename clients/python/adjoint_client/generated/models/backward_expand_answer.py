from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar, cast

from attrs import define as _attrs_define
from attrs import field as _attrs_field

T = TypeVar("T", bound="BackwardExpandAnswer")


@_attrs_define
class BackwardExpandAnswer:
    """What was differentiated."""

    graph: str
    """ The graph, by id or name. """
    implicit_loss: bool
    """ Whether no loss was marked, and the only scalar output was taken. """
    losses: list[str]
    """ Losses by name, or the names of the losses. """
    n_leafs: int
    """ Number of leafs in the graph. """
    n_nodes: int
    """ Number of nodes in the graph. """
    seq: int | None
    """ The place that the step took; null for one that only reads. """
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        graph = self.graph

        implicit_loss = self.implicit_loss

        losses = self.losses

        n_leafs = self.n_leafs

        n_nodes = self.n_nodes

        seq: int | None
        seq = self.seq

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update(
            {
                "graph": graph,
                "implicit_loss": implicit_loss,
                "losses": losses,
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

        implicit_loss = d.pop("implicit_loss")

        losses = cast(list[str], d.pop("losses"))

        n_leafs = d.pop("n_leafs")

        n_nodes = d.pop("n_nodes")

        def _parse_seq(data: object) -> int | None:
            if data is None:
                return data
            return cast(int | None, data)

        seq = _parse_seq(d.pop("seq"))

        backward_expand_answer = cls(
            graph=graph,
            implicit_loss=implicit_loss,
            losses=losses,
            n_leafs=n_leafs,
            n_nodes=n_nodes,
            seq=seq,
        )

        backward_expand_answer.additional_properties = d
        return backward_expand_answer

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
