from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar, cast

from attrs import define as _attrs_define

from ..types import UNSET, Unset

T = TypeVar("T", bound="SetNameRequest")


@_attrs_define
class SetNameRequest:
    """Another name for a tensor (ggml_set_name)."""

    name: str
    """ Name. """
    tensor: str
    """ Name of the tensor. """
    graph: str | Unset = "main"
    """ Which graph. """
    seq: int | None | Unset = UNSET
    """ The step's place in the order of steps, from 1 on; by default the next when its turn has come. """

    def to_dict(self) -> dict[str, Any]:
        name = self.name

        tensor = self.tensor

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
                "tensor": tensor,
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

        tensor = d.pop("tensor")

        graph = d.pop("graph", UNSET)

        def _parse_seq(data: object) -> int | None | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(int | None | Unset, data)

        seq = _parse_seq(d.pop("seq", UNSET))

        set_name_request = cls(
            name=name,
            tensor=tensor,
            graph=graph,
            seq=seq,
        )

        return set_name_request
