from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar, cast

from attrs import define as _attrs_define

from ..models.new_graph_request_order import NewGraphRequestOrder, check_new_graph_request_order
from ..types import UNSET, Unset

T = TypeVar("T", bound="NewGraphRequest")


@_attrs_define
class NewGraphRequest:
    """An empty graph (ggml_new_graph, ggml_new_graph_custom)."""

    name: str
    """ What it is called; the graph that was called so goes. """
    grads: bool | Unset = False
    """ Whether it can be differentiated. """
    order: NewGraphRequestOrder | Unset = "left_to_right"
    """ Which input of a node is visited first. """
    seq: int | None | Unset = UNSET
    """ The step's place in the order of steps, from 1 on; by default the next when its turn has come. """
    size: int | Unset = 2048
    """ Nodes, and leafs, that it holds at most. """

    def to_dict(self) -> dict[str, Any]:
        name = self.name

        grads = self.grads

        order: str | Unset = UNSET
        if not isinstance(self.order, Unset):
            order = self.order

        seq: int | None | Unset
        if isinstance(self.seq, Unset):
            seq = UNSET
        else:
            seq = self.seq

        size = self.size

        field_dict: dict[str, Any] = {}

        field_dict.update(
            {
                "name": name,
            }
        )
        if grads is not UNSET:
            field_dict["grads"] = grads
        if order is not UNSET:
            field_dict["order"] = order
        if seq is not UNSET:
            field_dict["seq"] = seq
        if size is not UNSET:
            field_dict["size"] = size

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        d = dict(src_dict)
        name = d.pop("name")

        grads = d.pop("grads", UNSET)

        _order = d.pop("order", UNSET)
        order: NewGraphRequestOrder | Unset
        if isinstance(_order, Unset):
            order = UNSET
        else:
            order = check_new_graph_request_order(_order)

        def _parse_seq(data: object) -> int | None | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(int | None | Unset, data)

        seq = _parse_seq(d.pop("seq", UNSET))

        size = d.pop("size", UNSET)

        new_graph_request = cls(
            name=name,
            grads=grads,
            order=order,
            seq=seq,
            size=size,
        )

        return new_graph_request
