from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar, cast

from attrs import define as _attrs_define

from ..models.build_forward_expand_request_order_type_0 import (
    BuildForwardExpandRequestOrderType0,
    check_build_forward_expand_request_order_type_0,
)
from ..types import UNSET, Unset

T = TypeVar("T", bound="BuildForwardExpandRequest")


@_attrs_define
class BuildForwardExpandRequest:
    """Values appended with all they depend on (ggml_build_forward_expand)."""

    outputs: list[str]
    """ Outputs by name, or the names of the outputs. """
    compute: bool | Unset = True
    """ false: they only get their places, and are computed if they are needed. """
    graph: str | Unset = "main"
    """ Which graph. """
    order: BuildForwardExpandRequestOrderType0 | None | Unset = UNSET
    """ Where it differs from the graph's. """
    seq: int | None | Unset = UNSET
    """ The step's place in the order of steps, from 1 on; by default the next when its turn has come. """

    def to_dict(self) -> dict[str, Any]:
        outputs = self.outputs

        compute = self.compute

        graph = self.graph

        order: None | str | Unset
        if isinstance(self.order, Unset):
            order = UNSET
        elif isinstance(self.order, str):
            order = self.order
        else:
            order = self.order

        seq: int | None | Unset
        if isinstance(self.seq, Unset):
            seq = UNSET
        else:
            seq = self.seq

        field_dict: dict[str, Any] = {}

        field_dict.update(
            {
                "outputs": outputs,
            }
        )
        if compute is not UNSET:
            field_dict["compute"] = compute
        if graph is not UNSET:
            field_dict["graph"] = graph
        if order is not UNSET:
            field_dict["order"] = order
        if seq is not UNSET:
            field_dict["seq"] = seq

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        d = dict(src_dict)
        outputs = cast(list[str], d.pop("outputs"))

        compute = d.pop("compute", UNSET)

        graph = d.pop("graph", UNSET)

        def _parse_order(data: object) -> BuildForwardExpandRequestOrderType0 | None | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            try:
                if not isinstance(data, str):
                    raise TypeError()
                order_type_0 = check_build_forward_expand_request_order_type_0(data)

                return order_type_0
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            return cast(BuildForwardExpandRequestOrderType0 | None | Unset, data)

        order = _parse_order(d.pop("order", UNSET))

        def _parse_seq(data: object) -> int | None | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(int | None | Unset, data)

        seq = _parse_seq(d.pop("seq", UNSET))

        build_forward_expand_request = cls(
            outputs=outputs,
            compute=compute,
            graph=graph,
            order=order,
            seq=seq,
        )

        return build_forward_expand_request
