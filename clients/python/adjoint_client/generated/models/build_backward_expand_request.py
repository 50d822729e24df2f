from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeVar, cast

from attrs import define as _attrs_define

from ..types import UNSET, Unset

if TYPE_CHECKING:
    from ..models.build_backward_expand_request_accumulators_type_0 import BuildBackwardExpandRequestAccumulatorsType0


T = TypeVar("T", bound="BuildBackwardExpandRequest")


@_attrs_define
class BuildBackwardExpandRequest:
    """Gradients of the losses appended (ggml_build_backward_expand)."""

    accumulate: bool | Unset = True
    """ Whether parameters without an accumulator get one. """
    accumulators: BuildBackwardExpandRequestAccumulatorsType0 | list[Any] | None | Unset = UNSET
    """ Tensors that gradients are added to: by name, or a list with one for each node or output; null: it is made.
    That of a loss is its seed. """
    graph: str | Unset = "main"
    """ Which graph. """
    seq: int | None | Unset = UNSET
    """ The step's place in the order of steps, from 1 on; by default the next when its turn has come. """

    def to_dict(self) -> dict[str, Any]:
        from ..models.build_backward_expand_request_accumulators_type_0 import (
            BuildBackwardExpandRequestAccumulatorsType0,  # noqa: PLC0415
        )

        accumulate = self.accumulate

        accumulators: dict[str, Any] | list[Any] | None | Unset
        if isinstance(self.accumulators, Unset):
            accumulators = UNSET
        elif isinstance(self.accumulators, BuildBackwardExpandRequestAccumulatorsType0):
            accumulators = self.accumulators.to_dict()
        elif isinstance(self.accumulators, list):
            accumulators = self.accumulators

        else:
            accumulators = self.accumulators

        graph = self.graph

        seq: int | None | Unset
        if isinstance(self.seq, Unset):
            seq = UNSET
        else:
            seq = self.seq

        field_dict: dict[str, Any] = {}

        field_dict.update({})
        if accumulate is not UNSET:
            field_dict["accumulate"] = accumulate
        if accumulators is not UNSET:
            field_dict["accumulators"] = accumulators
        if graph is not UNSET:
            field_dict["graph"] = graph
        if seq is not UNSET:
            field_dict["seq"] = seq

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        from ..models.build_backward_expand_request_accumulators_type_0 import (
            BuildBackwardExpandRequestAccumulatorsType0,  # noqa: PLC0415
        )

        d = dict(src_dict)
        accumulate = d.pop("accumulate", UNSET)

        def _parse_accumulators(data: object) -> BuildBackwardExpandRequestAccumulatorsType0 | list[Any] | None | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            try:
                if not isinstance(data, dict):
                    raise TypeError()
                accumulators_type_0 = BuildBackwardExpandRequestAccumulatorsType0.from_dict(data)

                return accumulators_type_0
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            try:
                if not isinstance(data, list):
                    raise TypeError()
                accumulators_type_1 = cast(list[Any], data)

                return accumulators_type_1
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            return cast(BuildBackwardExpandRequestAccumulatorsType0 | list[Any] | None | Unset, data)

        accumulators = _parse_accumulators(d.pop("accumulators", UNSET))

        graph = d.pop("graph", UNSET)

        def _parse_seq(data: object) -> int | None | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(int | None | Unset, data)

        seq = _parse_seq(d.pop("seq", UNSET))

        build_backward_expand_request = cls(
            accumulate=accumulate,
            accumulators=accumulators,
            graph=graph,
            seq=seq,
        )

        return build_backward_expand_request
