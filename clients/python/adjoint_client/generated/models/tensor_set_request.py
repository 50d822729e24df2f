from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeVar, cast

from attrs import define as _attrs_define

from ..types import UNSET, Unset

if TYPE_CHECKING:
    from ..models.element_choice import ElementChoice
    from ..models.tensor_set_request_accumulators_type_0 import TensorSetRequestAccumulatorsType0
    from ..models.tensor_set_request_tensors_type_0 import TensorSetRequestTensorsType0


T = TypeVar("T", bound="TensorSetRequest")


@_attrs_define
class TensorSetRequest:
    """Data for leaves, cast to their types (ggml_set_f32, ggml_set_i32, ggml_backend_tensor_set); all, or none."""

    accumulators: None | TensorSetRequestAccumulatorsType0 | Unset = UNSET
    """ By the name of what they are for: sums of gradients, or the seed of a loss. """
    elements: list[ElementChoice] | None | Unset = UNSET
    """ Single elements, written last (ggml_set_f32_1d, ggml_set_f32_nd). """
    graph: str | Unset = "main"
    """ Which graph. """
    seq: int | None | Unset = UNSET
    """ The step's place in the order of steps, from 1 on; by default the next when its turn has come. """
    tensors: None | TensorSetRequestTensorsType0 | Unset = UNSET
    """ By name, a tensor, or one number for every element. """

    def to_dict(self) -> dict[str, Any]:
        from ..models.tensor_set_request_accumulators_type_0 import TensorSetRequestAccumulatorsType0  # noqa: PLC0415
        from ..models.tensor_set_request_tensors_type_0 import TensorSetRequestTensorsType0  # noqa: PLC0415

        accumulators: dict[str, Any] | None | Unset
        if isinstance(self.accumulators, Unset):
            accumulators = UNSET
        elif isinstance(self.accumulators, TensorSetRequestAccumulatorsType0):
            accumulators = self.accumulators.to_dict()
        else:
            accumulators = self.accumulators

        elements: list[dict[str, Any]] | None | Unset
        if isinstance(self.elements, Unset):
            elements = UNSET
        elif isinstance(self.elements, list):
            elements = []
            for elements_type_0_item_data in self.elements:
                elements_type_0_item = elements_type_0_item_data.to_dict()
                elements.append(elements_type_0_item)

        else:
            elements = self.elements

        graph = self.graph

        seq: int | None | Unset
        if isinstance(self.seq, Unset):
            seq = UNSET
        else:
            seq = self.seq

        tensors: dict[str, Any] | None | Unset
        if isinstance(self.tensors, Unset):
            tensors = UNSET
        elif isinstance(self.tensors, TensorSetRequestTensorsType0):
            tensors = self.tensors.to_dict()
        else:
            tensors = self.tensors

        field_dict: dict[str, Any] = {}

        field_dict.update({})
        if accumulators is not UNSET:
            field_dict["accumulators"] = accumulators
        if elements is not UNSET:
            field_dict["elements"] = elements
        if graph is not UNSET:
            field_dict["graph"] = graph
        if seq is not UNSET:
            field_dict["seq"] = seq
        if tensors is not UNSET:
            field_dict["tensors"] = tensors

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        from ..models.element_choice import ElementChoice  # noqa: PLC0415
        from ..models.tensor_set_request_accumulators_type_0 import TensorSetRequestAccumulatorsType0  # noqa: PLC0415
        from ..models.tensor_set_request_tensors_type_0 import TensorSetRequestTensorsType0  # noqa: PLC0415

        d = dict(src_dict)

        def _parse_accumulators(data: object) -> None | TensorSetRequestAccumulatorsType0 | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            try:
                if not isinstance(data, dict):
                    raise TypeError()
                accumulators_type_0 = TensorSetRequestAccumulatorsType0.from_dict(data)

                return accumulators_type_0
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            return cast(None | TensorSetRequestAccumulatorsType0 | Unset, data)

        accumulators = _parse_accumulators(d.pop("accumulators", UNSET))

        def _parse_elements(data: object) -> list[ElementChoice] | None | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            try:
                if not isinstance(data, list):
                    raise TypeError()
                elements_type_0 = []
                _elements_type_0 = data
                for elements_type_0_item_data in _elements_type_0:
                    elements_type_0_item = ElementChoice.from_dict(elements_type_0_item_data)

                    elements_type_0.append(elements_type_0_item)

                return elements_type_0
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            return cast(list[ElementChoice] | None | Unset, data)

        elements = _parse_elements(d.pop("elements", UNSET))

        graph = d.pop("graph", UNSET)

        def _parse_seq(data: object) -> int | None | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(int | None | Unset, data)

        seq = _parse_seq(d.pop("seq", UNSET))

        def _parse_tensors(data: object) -> None | TensorSetRequestTensorsType0 | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            try:
                if not isinstance(data, dict):
                    raise TypeError()
                tensors_type_0 = TensorSetRequestTensorsType0.from_dict(data)

                return tensors_type_0
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            return cast(None | TensorSetRequestTensorsType0 | Unset, data)

        tensors = _parse_tensors(d.pop("tensors", UNSET))

        tensor_set_request = cls(
            accumulators=accumulators,
            elements=elements,
            graph=graph,
            seq=seq,
            tensors=tensors,
        )

        return tensor_set_request
