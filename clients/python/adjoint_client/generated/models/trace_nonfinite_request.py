from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeVar, cast

from attrs import define as _attrs_define

from ..types import UNSET, Unset

if TYPE_CHECKING:
    from ..models.trace_nonfinite_request_buffers_type_0 import TraceNonfiniteRequestBuffersType0
    from ..models.trace_nonfinite_request_inputs_type_0 import TraceNonfiniteRequestInputsType0
    from ..models.trace_nonfinite_request_parameters_type_0 import TraceNonfiniteRequestParametersType0


T = TypeVar("T", bound="TraceNonfiniteRequest")


@_attrs_define
class TraceNonfiniteRequest:
    """A step that is gone through in search of what is not finite."""

    buffers: None | TraceNonfiniteRequestBuffersType0 | Unset = UNSET
    """ Values of buffers by name. """
    inputs: None | TraceNonfiniteRequestInputsType0 | Unset = UNSET
    """ Inputs by name or in order. """
    parameters: None | TraceNonfiniteRequestParametersType0 | Unset = UNSET
    """ Parameters by name. """
    seed: int | None | Unset = UNSET
    """ Seed of the random numbers. """
    training: bool | None | Unset = UNSET
    """ The mode; by default that of training. """

    def to_dict(self) -> dict[str, Any]:
        from ..models.trace_nonfinite_request_buffers_type_0 import TraceNonfiniteRequestBuffersType0  # noqa: PLC0415
        from ..models.trace_nonfinite_request_inputs_type_0 import TraceNonfiniteRequestInputsType0  # noqa: PLC0415
        from ..models.trace_nonfinite_request_parameters_type_0 import TraceNonfiniteRequestParametersType0  # noqa: PLC0415

        buffers: dict[str, Any] | None | Unset
        if isinstance(self.buffers, Unset):
            buffers = UNSET
        elif isinstance(self.buffers, TraceNonfiniteRequestBuffersType0):
            buffers = self.buffers.to_dict()
        else:
            buffers = self.buffers

        inputs: dict[str, Any] | None | Unset
        if isinstance(self.inputs, Unset):
            inputs = UNSET
        elif isinstance(self.inputs, TraceNonfiniteRequestInputsType0):
            inputs = self.inputs.to_dict()
        else:
            inputs = self.inputs

        parameters: dict[str, Any] | None | Unset
        if isinstance(self.parameters, Unset):
            parameters = UNSET
        elif isinstance(self.parameters, TraceNonfiniteRequestParametersType0):
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

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        from ..models.trace_nonfinite_request_buffers_type_0 import TraceNonfiniteRequestBuffersType0  # noqa: PLC0415
        from ..models.trace_nonfinite_request_inputs_type_0 import TraceNonfiniteRequestInputsType0  # noqa: PLC0415
        from ..models.trace_nonfinite_request_parameters_type_0 import TraceNonfiniteRequestParametersType0  # noqa: PLC0415

        d = dict(src_dict)

        def _parse_buffers(data: object) -> None | TraceNonfiniteRequestBuffersType0 | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            try:
                if not isinstance(data, dict):
                    raise TypeError()
                buffers_type_0 = TraceNonfiniteRequestBuffersType0.from_dict(data)

                return buffers_type_0
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            return cast(None | TraceNonfiniteRequestBuffersType0 | Unset, data)

        buffers = _parse_buffers(d.pop("buffers", UNSET))

        def _parse_inputs(data: object) -> None | TraceNonfiniteRequestInputsType0 | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            try:
                if not isinstance(data, dict):
                    raise TypeError()
                inputs_type_0 = TraceNonfiniteRequestInputsType0.from_dict(data)

                return inputs_type_0
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            return cast(None | TraceNonfiniteRequestInputsType0 | Unset, data)

        inputs = _parse_inputs(d.pop("inputs", UNSET))

        def _parse_parameters(data: object) -> None | TraceNonfiniteRequestParametersType0 | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            try:
                if not isinstance(data, dict):
                    raise TypeError()
                parameters_type_0 = TraceNonfiniteRequestParametersType0.from_dict(data)

                return parameters_type_0
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            return cast(None | TraceNonfiniteRequestParametersType0 | Unset, data)

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

        trace_nonfinite_request = cls(
            buffers=buffers,
            inputs=inputs,
            parameters=parameters,
            seed=seed,
            training=training,
        )

        return trace_nonfinite_request
