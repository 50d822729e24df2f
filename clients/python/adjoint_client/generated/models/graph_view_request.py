from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar, cast

from attrs import define as _attrs_define

from ..types import UNSET, Unset

T = TypeVar("T", bound="GraphViewRequest")


@_attrs_define
class GraphViewRequest:
    """Some nodes of a graph as a graph to look at and compute (ggml_graph_view)."""

    name: str
    """ What the view is called. """
    start: int
    """ Index of the first, from 0. """
    stop: int
    """ Index after the last. """
    graph: str | Unset = "main"
    """ Which graph. """
    seq: int | None | Unset = UNSET
    """ The step's place in the order of steps, from 1 on; by default the next when its turn has come. """

    def to_dict(self) -> dict[str, Any]:
        name = self.name

        start = self.start

        stop = self.stop

        graph = self.graph

        seq: int | None | Unset
        if isinstance(self.seq, Unset):
            seq = UNSET
        else:
            seq = self.seq

        field_dict: dict[str, Any] = {}

        field_dict.update(
            {
                "name": name,
                "start": start,
                "stop": stop,
            }
        )
        if graph is not UNSET:
            field_dict["graph"] = graph
        if seq is not UNSET:
            field_dict["seq"] = seq

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        d = dict(src_dict)
        name = d.pop("name")

        start = d.pop("start")

        stop = d.pop("stop")

        graph = d.pop("graph", UNSET)

        def _parse_seq(data: object) -> int | None | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(int | None | Unset, data)

        seq = _parse_seq(d.pop("seq", UNSET))

        graph_view_request = cls(
            name=name,
            start=start,
            stop=stop,
            graph=graph,
            seq=seq,
        )

        return graph_view_request
