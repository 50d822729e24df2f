from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeVar, cast

from attrs import define as _attrs_define

from ..types import UNSET, Unset

if TYPE_CHECKING:
    from ..models.gradcheck_request_buffers_type_0 import GradcheckRequestBuffersType0
    from ..models.gradcheck_request_inputs_type_0 import GradcheckRequestInputsType0
    from ..models.gradcheck_request_parameters_type_0 import GradcheckRequestParametersType0


T = TypeVar("T", bound="GradcheckRequest")


@_attrs_define
class GradcheckRequest:
    """What the gradient is checked at; parameters left out are initialised from the seed."""

    atol: float | None | Unset = UNSET
    """ Absolute tolerance; by default 1e-5. """
    buffers: GradcheckRequestBuffersType0 | None | Unset = UNSET
    """ Values of buffers by name. """
    by: list[str] | None | Unset = UNSET
    """ Parameters and floating inputs; by default every parameter that is not frozen. """
    elements: int | None | Unset = UNSET
    """ Most elements to check by each name; by default 100. Of more, a sample is drawn. """
    eps: float | None | Unset = UNSET
    """ Step, relative to elements above 1; by default 1e-6. """
    inputs: GradcheckRequestInputsType0 | None | Unset = UNSET
    """ Inputs by name or in order. """
    of: None | str | Unset = UNSET
    """ An output, loss or node; by default the sum of the losses. """
    parameters: GradcheckRequestParametersType0 | None | Unset = UNSET
    """ Parameters by name. """
    rtol: float | None | Unset = UNSET
    """ Tolerance relative to the slope; by default 1e-3. """
    seed: int | None | Unset = UNSET
    """ Seed of the random numbers. """
    training: bool | None | Unset = UNSET
    """ Whether the graph is evaluated in training mode. """

    def to_dict(self) -> dict[str, Any]:
        from ..models.gradcheck_request_buffers_type_0 import GradcheckRequestBuffersType0  # noqa: PLC0415
        from ..models.gradcheck_request_inputs_type_0 import GradcheckRequestInputsType0  # noqa: PLC0415
        from ..models.gradcheck_request_parameters_type_0 import GradcheckRequestParametersType0  # noqa: PLC0415

        atol: float | None | Unset
        if isinstance(self.atol, Unset):
            atol = UNSET
        else:
            atol = self.atol

        buffers: dict[str, Any] | None | Unset
        if isinstance(self.buffers, Unset):
            buffers = UNSET
        elif isinstance(self.buffers, GradcheckRequestBuffersType0):
            buffers = self.buffers.to_dict()
        else:
            buffers = self.buffers

        by: list[str] | None | Unset
        if isinstance(self.by, Unset):
            by = UNSET
        elif isinstance(self.by, list):
            by = self.by

        else:
            by = self.by

        elements: int | None | Unset
        if isinstance(self.elements, Unset):
            elements = UNSET
        else:
            elements = self.elements

        eps: float | None | Unset
        if isinstance(self.eps, Unset):
            eps = UNSET
        else:
            eps = self.eps

        inputs: dict[str, Any] | None | Unset
        if isinstance(self.inputs, Unset):
            inputs = UNSET
        elif isinstance(self.inputs, GradcheckRequestInputsType0):
            inputs = self.inputs.to_dict()
        else:
            inputs = self.inputs

        of: None | str | Unset
        if isinstance(self.of, Unset):
            of = UNSET
        else:
            of = self.of

        parameters: dict[str, Any] | None | Unset
        if isinstance(self.parameters, Unset):
            parameters = UNSET
        elif isinstance(self.parameters, GradcheckRequestParametersType0):
            parameters = self.parameters.to_dict()
        else:
            parameters = self.parameters

        rtol: float | None | Unset
        if isinstance(self.rtol, Unset):
            rtol = UNSET
        else:
            rtol = self.rtol

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
        if atol is not UNSET:
            field_dict["atol"] = atol
        if buffers is not UNSET:
            field_dict["buffers"] = buffers
        if by is not UNSET:
            field_dict["by"] = by
        if elements is not UNSET:
            field_dict["elements"] = elements
        if eps is not UNSET:
            field_dict["eps"] = eps
        if inputs is not UNSET:
            field_dict["inputs"] = inputs
        if of is not UNSET:
            field_dict["of"] = of
        if parameters is not UNSET:
            field_dict["parameters"] = parameters
        if rtol is not UNSET:
            field_dict["rtol"] = rtol
        if seed is not UNSET:
            field_dict["seed"] = seed
        if training is not UNSET:
            field_dict["training"] = training

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        from ..models.gradcheck_request_buffers_type_0 import GradcheckRequestBuffersType0  # noqa: PLC0415
        from ..models.gradcheck_request_inputs_type_0 import GradcheckRequestInputsType0  # noqa: PLC0415
        from ..models.gradcheck_request_parameters_type_0 import GradcheckRequestParametersType0  # noqa: PLC0415

        d = dict(src_dict)

        def _parse_atol(data: object) -> float | None | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(float | None | Unset, data)

        atol = _parse_atol(d.pop("atol", UNSET))

        def _parse_buffers(data: object) -> GradcheckRequestBuffersType0 | None | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            try:
                if not isinstance(data, dict):
                    raise TypeError()
                buffers_type_0 = GradcheckRequestBuffersType0.from_dict(data)

                return buffers_type_0
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            return cast(GradcheckRequestBuffersType0 | None | Unset, data)

        buffers = _parse_buffers(d.pop("buffers", UNSET))

        def _parse_by(data: object) -> list[str] | None | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            try:
                if not isinstance(data, list):
                    raise TypeError()
                by_type_0 = cast(list[str], data)

                return by_type_0
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            return cast(list[str] | None | Unset, data)

        by = _parse_by(d.pop("by", UNSET))

        def _parse_elements(data: object) -> int | None | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(int | None | Unset, data)

        elements = _parse_elements(d.pop("elements", UNSET))

        def _parse_eps(data: object) -> float | None | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(float | None | Unset, data)

        eps = _parse_eps(d.pop("eps", UNSET))

        def _parse_inputs(data: object) -> GradcheckRequestInputsType0 | None | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            try:
                if not isinstance(data, dict):
                    raise TypeError()
                inputs_type_0 = GradcheckRequestInputsType0.from_dict(data)

                return inputs_type_0
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            return cast(GradcheckRequestInputsType0 | None | Unset, data)

        inputs = _parse_inputs(d.pop("inputs", UNSET))

        def _parse_of(data: object) -> None | str | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(None | str | Unset, data)

        of = _parse_of(d.pop("of", UNSET))

        def _parse_parameters(data: object) -> GradcheckRequestParametersType0 | None | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            try:
                if not isinstance(data, dict):
                    raise TypeError()
                parameters_type_0 = GradcheckRequestParametersType0.from_dict(data)

                return parameters_type_0
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            return cast(GradcheckRequestParametersType0 | None | Unset, data)

        parameters = _parse_parameters(d.pop("parameters", UNSET))

        def _parse_rtol(data: object) -> float | None | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(float | None | Unset, data)

        rtol = _parse_rtol(d.pop("rtol", UNSET))

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

        gradcheck_request = cls(
            atol=atol,
            buffers=buffers,
            by=by,
            elements=elements,
            eps=eps,
            inputs=inputs,
            of=of,
            parameters=parameters,
            rtol=rtol,
            seed=seed,
            training=training,
        )

        return gradcheck_request
