from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar, cast

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..models.graph_node_kind import GraphNodeKind, check_graph_node_kind

T = TypeVar("T", bound="GraphNode")


@_attrs_define
class GraphNode:
    """A node or leaf of a graph."""

    accumulator: None | str
    """ The name of the leaf that its gradients add up in, or its seed is. """
    dtype: str
    """ Element type, such as float32. """
    gradient: None | str
    """ The name of its gradient; null: there is none. """
    index: int
    """ Position, from 0, or one index for each axis. """
    inputs: list[str]
    """ Inputs by name or in order. """
    kind: GraphNodeKind
    """ Kind, one of the names in the catalogue. """
    loss: bool
    """ Whether it is a loss. """
    name: str
    """ Name. """
    nbytes: int
    """ Size in bytes. """
    ne: list[int]
    """ The extents in ggml's order, the one that varies fastest first. """
    op: None | str
    """ Name of the op; null for a leaf. """
    parameter: bool
    """ Whether it is a parameter. """
    seq: int | None
    """ The place that the step took; null for one that only reads. """
    shape: list[int]
    """ Extents of the axes. """
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        accumulator: None | str
        accumulator = self.accumulator

        dtype = self.dtype

        gradient: None | str
        gradient = self.gradient

        index = self.index

        inputs = self.inputs

        kind: str = self.kind

        loss = self.loss

        name = self.name

        nbytes = self.nbytes

        ne = self.ne

        op: None | str
        op = self.op

        parameter = self.parameter

        seq: int | None
        seq = self.seq

        shape = self.shape

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update(
            {
                "accumulator": accumulator,
                "dtype": dtype,
                "gradient": gradient,
                "index": index,
                "inputs": inputs,
                "kind": kind,
                "loss": loss,
                "name": name,
                "nbytes": nbytes,
                "ne": ne,
                "op": op,
                "parameter": parameter,
                "seq": seq,
                "shape": shape,
            }
        )

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        d = dict(src_dict)

        def _parse_accumulator(data: object) -> None | str:
            if data is None:
                return data
            return cast(None | str, data)

        accumulator = _parse_accumulator(d.pop("accumulator"))

        dtype = d.pop("dtype")

        def _parse_gradient(data: object) -> None | str:
            if data is None:
                return data
            return cast(None | str, data)

        gradient = _parse_gradient(d.pop("gradient"))

        index = d.pop("index")

        inputs = cast(list[str], d.pop("inputs"))

        kind = check_graph_node_kind(d.pop("kind"))

        loss = d.pop("loss")

        name = d.pop("name")

        nbytes = d.pop("nbytes")

        ne = cast(list[int], d.pop("ne"))

        def _parse_op(data: object) -> None | str:
            if data is None:
                return data
            return cast(None | str, data)

        op = _parse_op(d.pop("op"))

        parameter = d.pop("parameter")

        def _parse_seq(data: object) -> int | None:
            if data is None:
                return data
            return cast(int | None, data)

        seq = _parse_seq(d.pop("seq"))

        shape = cast(list[int], d.pop("shape"))

        graph_node = cls(
            accumulator=accumulator,
            dtype=dtype,
            gradient=gradient,
            index=index,
            inputs=inputs,
            kind=kind,
            loss=loss,
            name=name,
            nbytes=nbytes,
            ne=ne,
            op=op,
            parameter=parameter,
            seq=seq,
            shape=shape,
        )

        graph_node.additional_properties = d
        return graph_node

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
