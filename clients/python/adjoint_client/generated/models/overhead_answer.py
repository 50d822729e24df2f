from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar, cast

from attrs import define as _attrs_define
from attrs import field as _attrs_field

T = TypeVar("T", bound="OverheadAnswer")


@_attrs_define
class OverheadAnswer:
    """What graphs and tensors are charged to a context."""

    grads: bool
    """ Whether the graph can be differentiated. """
    graph_overhead: int
    """ Bytes of a graph, without its tensors. """
    mem_size: int | None
    """ Bytes that it has; null: as many as are asked for. """
    no_alloc: bool
    """ Whether the context is not charged for the elements of tensors. """
    seq: int | None
    """ The place that the step took; null for one that only reads. """
    size: int
    """ Maximum number of nodes, and of leafs. """
    tensor_overhead: int
    """ Bytes of a tensor, without its elements. """
    used_mem: int
    """ Bytes that the session's context has been charged so far. """
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        grads = self.grads

        graph_overhead = self.graph_overhead

        mem_size: int | None
        mem_size = self.mem_size

        no_alloc = self.no_alloc

        seq: int | None
        seq = self.seq

        size = self.size

        tensor_overhead = self.tensor_overhead

        used_mem = self.used_mem

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update(
            {
                "grads": grads,
                "graph_overhead": graph_overhead,
                "mem_size": mem_size,
                "no_alloc": no_alloc,
                "seq": seq,
                "size": size,
                "tensor_overhead": tensor_overhead,
                "used_mem": used_mem,
            }
        )

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        d = dict(src_dict)
        grads = d.pop("grads")

        graph_overhead = d.pop("graph_overhead")

        def _parse_mem_size(data: object) -> int | None:
            if data is None:
                return data
            return cast(int | None, data)

        mem_size = _parse_mem_size(d.pop("mem_size"))

        no_alloc = d.pop("no_alloc")

        def _parse_seq(data: object) -> int | None:
            if data is None:
                return data
            return cast(int | None, data)

        seq = _parse_seq(d.pop("seq"))

        size = d.pop("size")

        tensor_overhead = d.pop("tensor_overhead")

        used_mem = d.pop("used_mem")

        overhead_answer = cls(
            grads=grads,
            graph_overhead=graph_overhead,
            mem_size=mem_size,
            no_alloc=no_alloc,
            seq=seq,
            size=size,
            tensor_overhead=tensor_overhead,
            used_mem=used_mem,
        )

        overhead_answer.additional_properties = d
        return overhead_answer

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
