from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeVar, cast

from attrs import define as _attrs_define

from ..types import UNSET, Unset

if TYPE_CHECKING:
    from ..models.row_losses_request_buffers_type_0 import RowLossesRequestBuffersType0
    from ..models.row_losses_request_inputs_type_0 import RowLossesRequestInputsType0
    from ..models.row_losses_request_parameters_type_0 import RowLossesRequestParametersType0


T = TypeVar("T", bound="RowLossesRequest")


@_attrs_define
class RowLossesRequest:
    """A batch whose rows are looked at one by one."""

    buffers: None | RowLossesRequestBuffersType0 | Unset = UNSET
    """ Values of buffers by name. """
    inputs: None | RowLossesRequestInputsType0 | Unset = UNSET
    """ Inputs by name or in order. """
    parameters: None | RowLossesRequestParametersType0 | Unset = UNSET
    """ Parameters by name. """
    seed: int | None | Unset = UNSET
    """ Seed of the random numbers. """
    top: int | None | Unset = UNSET
    """ How many of the rows that spike to name; by default 10. """

    def to_dict(self) -> dict[str, Any]:
        from ..models.row_losses_request_buffers_type_0 import RowLossesRequestBuffersType0  # noqa: PLC0415
        from ..models.row_losses_request_inputs_type_0 import RowLossesRequestInputsType0  # noqa: PLC0415
        from ..models.row_losses_request_parameters_type_0 import RowLossesRequestParametersType0  # noqa: PLC0415

        buffers: dict[str, Any] | None | Unset
        if isinstance(self.buffers, Unset):
            buffers = UNSET
        elif isinstance(self.buffers, RowLossesRequestBuffersType0):
            buffers = self.buffers.to_dict()
        else:
            buffers = self.buffers

        inputs: dict[str, Any] | None | Unset
        if isinstance(self.inputs, Unset):
            inputs = UNSET
        elif isinstance(self.inputs, RowLossesRequestInputsType0):
            inputs = self.inputs.to_dict()
        else:
            inputs = self.inputs

        parameters: dict[str, Any] | None | Unset
        if isinstance(self.parameters, Unset):
            parameters = UNSET
        elif isinstance(self.parameters, RowLossesRequestParametersType0):
            parameters = self.parameters.to_dict()
        else:
            parameters = self.parameters

        seed: int | None | Unset
        if isinstance(self.seed, Unset):
            seed = UNSET
        else:
            seed = self.seed

        top: int | None | Unset
        if isinstance(self.top, Unset):
            top = UNSET
        else:
            top = self.top

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
        if top is not UNSET:
            field_dict["top"] = top

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        from ..models.row_losses_request_buffers_type_0 import RowLossesRequestBuffersType0  # noqa: PLC0415
        from ..models.row_losses_request_inputs_type_0 import RowLossesRequestInputsType0  # noqa: PLC0415
        from ..models.row_losses_request_parameters_type_0 import RowLossesRequestParametersType0  # noqa: PLC0415

        d = dict(src_dict)

        def _parse_buffers(data: object) -> None | RowLossesRequestBuffersType0 | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            try:
                if not isinstance(data, dict):
                    raise TypeError()
                buffers_type_0 = RowLossesRequestBuffersType0.from_dict(data)

                return buffers_type_0
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            return cast(None | RowLossesRequestBuffersType0 | Unset, data)

        buffers = _parse_buffers(d.pop("buffers", UNSET))

        def _parse_inputs(data: object) -> None | RowLossesRequestInputsType0 | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            try:
                if not isinstance(data, dict):
                    raise TypeError()
                inputs_type_0 = RowLossesRequestInputsType0.from_dict(data)

                return inputs_type_0
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            return cast(None | RowLossesRequestInputsType0 | Unset, data)

        inputs = _parse_inputs(d.pop("inputs", UNSET))

        def _parse_parameters(data: object) -> None | RowLossesRequestParametersType0 | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            try:
                if not isinstance(data, dict):
                    raise TypeError()
                parameters_type_0 = RowLossesRequestParametersType0.from_dict(data)

                return parameters_type_0
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            return cast(None | RowLossesRequestParametersType0 | Unset, data)

        parameters = _parse_parameters(d.pop("parameters", UNSET))

        def _parse_seed(data: object) -> int | None | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(int | None | Unset, data)

        seed = _parse_seed(d.pop("seed", UNSET))

        def _parse_top(data: object) -> int | None | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(int | None | Unset, data)

        top = _parse_top(d.pop("top", UNSET))

        row_losses_request = cls(
            buffers=buffers,
            inputs=inputs,
            parameters=parameters,
            seed=seed,
            top=top,
        )

        return row_losses_request
