from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeVar, cast

from attrs import define as _attrs_define

from ..types import UNSET, Unset

if TYPE_CHECKING:
    from ..models.compute_request_buffers_type_0 import ComputeRequestBuffersType0
    from ..models.compute_request_inputs_type_0 import ComputeRequestInputsType0
    from ..models.compute_request_parameters_type_0 import ComputeRequestParametersType0


T = TypeVar("T", bound="ComputeRequest")


@_attrs_define
class ComputeRequest:
    """One evaluation: tensors for the inputs; parameters left out are initialised from the seed."""

    buffers: ComputeRequestBuffersType0 | None | Unset = UNSET
    inputs: ComputeRequestInputsType0 | None | Unset = UNSET
    parameters: ComputeRequestParametersType0 | None | Unset = UNSET
    seed: int | None | Unset = UNSET
    training: bool | None | Unset = UNSET
    want: list[str] | None | Unset = UNSET
    """ outputs, gradients; by default both. """

    def to_dict(self) -> dict[str, Any]:
        from ..models.compute_request_buffers_type_0 import ComputeRequestBuffersType0  # noqa: PLC0415
        from ..models.compute_request_inputs_type_0 import ComputeRequestInputsType0  # noqa: PLC0415
        from ..models.compute_request_parameters_type_0 import ComputeRequestParametersType0  # noqa: PLC0415

        buffers: dict[str, Any] | None | Unset
        if isinstance(self.buffers, Unset):
            buffers = UNSET
        elif isinstance(self.buffers, ComputeRequestBuffersType0):
            buffers = self.buffers.to_dict()
        else:
            buffers = self.buffers

        inputs: dict[str, Any] | None | Unset
        if isinstance(self.inputs, Unset):
            inputs = UNSET
        elif isinstance(self.inputs, ComputeRequestInputsType0):
            inputs = self.inputs.to_dict()
        else:
            inputs = self.inputs

        parameters: dict[str, Any] | None | Unset
        if isinstance(self.parameters, Unset):
            parameters = UNSET
        elif isinstance(self.parameters, ComputeRequestParametersType0):
            parameters = self.parameters.to_dict()
        else:
            parameters = self.parameters

        seed: int | None | Unset
        if isinstance(self.seed, Unset):
            seed = UNSET
        else:
            seed = self.seed

        training: bool | None | Unset
        if isinstance(self.training, Unset):
            training = UNSET
        else:
            training = self.training

        want: list[str] | None | Unset
        if isinstance(self.want, Unset):
            want = UNSET
        elif isinstance(self.want, list):
            want = self.want

        else:
            want = self.want

        field_dict: dict[str, Any] = {}

        field_dict.update({})
        if buffers is not UNSET:
            field_dict["buffers"] = buffers
        if inputs is not UNSET:
            field_dict["inputs"] = inputs
        if parameters is not UNSET:
            field_dict["parameters"] = parameters
        if seed is not UNSET:
            field_dict["seed"] = seed
        if training is not UNSET:
            field_dict["training"] = training
        if want is not UNSET:
            field_dict["want"] = want

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        from ..models.compute_request_buffers_type_0 import ComputeRequestBuffersType0  # noqa: PLC0415
        from ..models.compute_request_inputs_type_0 import ComputeRequestInputsType0  # noqa: PLC0415
        from ..models.compute_request_parameters_type_0 import ComputeRequestParametersType0  # noqa: PLC0415

        d = dict(src_dict)

        def _parse_buffers(data: object) -> ComputeRequestBuffersType0 | None | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            try:
                if not isinstance(data, dict):
                    raise TypeError()
                buffers_type_0 = ComputeRequestBuffersType0.from_dict(data)

                return buffers_type_0
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            return cast(ComputeRequestBuffersType0 | None | Unset, data)

        buffers = _parse_buffers(d.pop("buffers", UNSET))

        def _parse_inputs(data: object) -> ComputeRequestInputsType0 | None | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            try:
                if not isinstance(data, dict):
                    raise TypeError()
                inputs_type_0 = ComputeRequestInputsType0.from_dict(data)

                return inputs_type_0
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            return cast(ComputeRequestInputsType0 | None | Unset, data)

        inputs = _parse_inputs(d.pop("inputs", UNSET))

        def _parse_parameters(data: object) -> ComputeRequestParametersType0 | None | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            try:
                if not isinstance(data, dict):
                    raise TypeError()
                parameters_type_0 = ComputeRequestParametersType0.from_dict(data)

                return parameters_type_0
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            return cast(ComputeRequestParametersType0 | None | Unset, data)

        parameters = _parse_parameters(d.pop("parameters", UNSET))

        def _parse_seed(data: object) -> int | None | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(int | None | Unset, data)

        seed = _parse_seed(d.pop("seed", UNSET))

        def _parse_training(data: object) -> bool | None | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(bool | None | Unset, data)

        training = _parse_training(d.pop("training", UNSET))

        def _parse_want(data: object) -> list[str] | None | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            try:
                if not isinstance(data, list):
                    raise TypeError()
                want_type_0 = cast(list[str], data)

                return want_type_0
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            return cast(list[str] | None | Unset, data)

        want = _parse_want(d.pop("want", UNSET))

        compute_request = cls(
            buffers=buffers,
            inputs=inputs,
            parameters=parameters,
            seed=seed,
            training=training,
            want=want,
        )

        return compute_request
