from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeVar, cast

from attrs import define as _attrs_define

from ..types import UNSET, Unset

if TYPE_CHECKING:
    from ..models.profile_request_buffers_type_0 import ProfileRequestBuffersType0
    from ..models.profile_request_inputs_type_0 import ProfileRequestInputsType0
    from ..models.profile_request_optimizer_type_1 import ProfileRequestOptimizerType1
    from ..models.profile_request_parameters_type_0 import ProfileRequestParametersType0


T = TypeVar("T", bound="ProfileRequest")


@_attrs_define
class ProfileRequest:
    """A training step to be measured."""

    buffers: None | ProfileRequestBuffersType0 | Unset = UNSET
    """ Values of buffers by name. """
    inputs: None | ProfileRequestInputsType0 | Unset = UNSET
    """ Inputs by name or in order. """
    optimizer: None | ProfileRequestOptimizerType1 | str | Unset = UNSET
    """ As in a fit. Left out, the update is not measured. """
    parameters: None | ProfileRequestParametersType0 | Unset = UNSET
    """ Parameters by name. """
    repeats: int | None | Unset = UNSET
    """ 1 to 100, by default 3, of which the median counts. """
    seed: int | None | Unset = UNSET
    """ Seed of the random numbers. """

    def to_dict(self) -> dict[str, Any]:
        from ..models.profile_request_buffers_type_0 import ProfileRequestBuffersType0  # noqa: PLC0415
        from ..models.profile_request_inputs_type_0 import ProfileRequestInputsType0  # noqa: PLC0415
        from ..models.profile_request_optimizer_type_1 import ProfileRequestOptimizerType1  # noqa: PLC0415
        from ..models.profile_request_parameters_type_0 import ProfileRequestParametersType0  # noqa: PLC0415

        buffers: dict[str, Any] | None | Unset
        if isinstance(self.buffers, Unset):
            buffers = UNSET
        elif isinstance(self.buffers, ProfileRequestBuffersType0):
            buffers = self.buffers.to_dict()
        else:
            buffers = self.buffers

        inputs: dict[str, Any] | None | Unset
        if isinstance(self.inputs, Unset):
            inputs = UNSET
        elif isinstance(self.inputs, ProfileRequestInputsType0):
            inputs = self.inputs.to_dict()
        else:
            inputs = self.inputs

        optimizer: dict[str, Any] | None | str | Unset
        if isinstance(self.optimizer, Unset):
            optimizer = UNSET
        elif isinstance(self.optimizer, ProfileRequestOptimizerType1):
            optimizer = self.optimizer.to_dict()
        else:
            optimizer = self.optimizer

        parameters: dict[str, Any] | None | Unset
        if isinstance(self.parameters, Unset):
            parameters = UNSET
        elif isinstance(self.parameters, ProfileRequestParametersType0):
            parameters = self.parameters.to_dict()
        else:
            parameters = self.parameters

        repeats: int | None | Unset
        if isinstance(self.repeats, Unset):
            repeats = UNSET
        else:
            repeats = self.repeats

        seed: int | None | Unset
        if isinstance(self.seed, Unset):
            seed = UNSET
        else:
            seed = self.seed

        field_dict: dict[str, Any] = {}

        field_dict.update({})
        if buffers is not UNSET:
            field_dict["buffers"] = buffers
        if inputs is not UNSET:
            field_dict["inputs"] = inputs
        if optimizer is not UNSET:
            field_dict["optimizer"] = optimizer
        if parameters is not UNSET:
            field_dict["parameters"] = parameters
        if repeats is not UNSET:
            field_dict["repeats"] = repeats
        if seed is not UNSET:
            field_dict["seed"] = seed

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        from ..models.profile_request_buffers_type_0 import ProfileRequestBuffersType0  # noqa: PLC0415
        from ..models.profile_request_inputs_type_0 import ProfileRequestInputsType0  # noqa: PLC0415
        from ..models.profile_request_optimizer_type_1 import ProfileRequestOptimizerType1  # noqa: PLC0415
        from ..models.profile_request_parameters_type_0 import ProfileRequestParametersType0  # noqa: PLC0415

        d = dict(src_dict)

        def _parse_buffers(data: object) -> None | ProfileRequestBuffersType0 | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            try:
                if not isinstance(data, dict):
                    raise TypeError()
                buffers_type_0 = ProfileRequestBuffersType0.from_dict(data)

                return buffers_type_0
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            return cast(None | ProfileRequestBuffersType0 | Unset, data)

        buffers = _parse_buffers(d.pop("buffers", UNSET))

        def _parse_inputs(data: object) -> None | ProfileRequestInputsType0 | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            try:
                if not isinstance(data, dict):
                    raise TypeError()
                inputs_type_0 = ProfileRequestInputsType0.from_dict(data)

                return inputs_type_0
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            return cast(None | ProfileRequestInputsType0 | Unset, data)

        inputs = _parse_inputs(d.pop("inputs", UNSET))

        def _parse_optimizer(data: object) -> None | ProfileRequestOptimizerType1 | str | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            try:
                if not isinstance(data, dict):
                    raise TypeError()
                optimizer_type_1 = ProfileRequestOptimizerType1.from_dict(data)

                return optimizer_type_1
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            return cast(None | ProfileRequestOptimizerType1 | str | Unset, data)

        optimizer = _parse_optimizer(d.pop("optimizer", UNSET))

        def _parse_parameters(data: object) -> None | ProfileRequestParametersType0 | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            try:
                if not isinstance(data, dict):
                    raise TypeError()
                parameters_type_0 = ProfileRequestParametersType0.from_dict(data)

                return parameters_type_0
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            return cast(None | ProfileRequestParametersType0 | Unset, data)

        parameters = _parse_parameters(d.pop("parameters", UNSET))

        def _parse_repeats(data: object) -> int | None | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(int | None | Unset, data)

        repeats = _parse_repeats(d.pop("repeats", UNSET))

        def _parse_seed(data: object) -> int | None | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(int | None | Unset, data)

        seed = _parse_seed(d.pop("seed", UNSET))

        profile_request = cls(
            buffers=buffers,
            inputs=inputs,
            optimizer=optimizer,
            parameters=parameters,
            repeats=repeats,
            seed=seed,
        )

        return profile_request
