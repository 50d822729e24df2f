from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar, cast

from attrs import define as _attrs_define

from ..types import UNSET, Unset

T = TypeVar("T", bound="GraphResetRequest")


@_attrs_define
class GraphResetRequest:
    """A new window of accumulation (ggml_graph_reset)."""

    grads: bool | Unset = True
    """ Whether sums of gradients become 0, and seeds of losses 1. """
    graph: str | Unset = "main"
    """ Which graph. """
    momenta: bool | Unset = False
    """ Whether the moments of AdamW steps become 0. """
    seq: int | None | Unset = UNSET
    """ The step's place in the order of steps, from 1 on; by default the next when its turn has come. """

    def to_dict(self) -> dict[str, Any]:
        grads = self.grads

        graph = self.graph

        momenta = self.momenta

        seq: int | None | Unset
        if isinstance(self.seq, Unset):
            seq = UNSET
        else:
            seq = self.seq

        field_dict: dict[str, Any] = {}

        field_dict.update({})
        if grads is not UNSET:
            field_dict["grads"] = grads
        if graph is not UNSET:
            field_dict["graph"] = graph
        if momenta is not UNSET:
            field_dict["momenta"] = momenta
        if seq is not UNSET:
            field_dict["seq"] = seq

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        d = dict(src_dict)
        grads = d.pop("grads", UNSET)

        graph = d.pop("graph", UNSET)

        momenta = d.pop("momenta", UNSET)

        def _parse_seq(data: object) -> int | None | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(int | None | Unset, data)

        seq = _parse_seq(d.pop("seq", UNSET))

        graph_reset_request = cls(
            grads=grads,
            graph=graph,
            momenta=momenta,
            seq=seq,
        )

        return graph_reset_request
