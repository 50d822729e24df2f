from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeVar, cast

from attrs import define as _attrs_define

from ..models.compute_request_want_type_0_item_type_0 import (
    ComputeRequestWantType0ItemType0,
    check_compute_request_want_type_0_item_type_0,
)
from ..types import UNSET, Unset

if TYPE_CHECKING:
    from ..models.compute_request_buffers_type_0 import ComputeRequestBuffersType0
    from ..models.compute_request_inputs_type_0 import ComputeRequestInputsType0
    from ..models.compute_request_parameters_type_0 import ComputeRequestParametersType0
    from ..models.gradient_want import GradientWant
    from ..models.hessian_want import HessianWant
    from ..models.hvp_want import HvpWant
    from ..models.jacobian_want import JacobianWant
    from ..models.jvp_want import JvpWant
    from ..models.order_want import OrderWant
    from ..models.vhp_want import VhpWant


T = TypeVar("T", bound="ComputeRequest")


@_attrs_define
class ComputeRequest:
    """One evaluation: tensors for the inputs; parameters left out are initialised from the seed."""

    buffers: ComputeRequestBuffersType0 | None | Unset = UNSET
    """ Values of buffers by name. """
    inputs: ComputeRequestInputsType0 | None | Unset = UNSET
    """ Inputs by name or in order. """
    parameters: ComputeRequestParametersType0 | None | Unset = UNSET
    """ Parameters by name. """
    seed: int | None | Unset = UNSET
    """ Seed of the random numbers. """
    training: bool | None | Unset = UNSET
    """ Whether the graph is evaluated in training mode. """
    want: (
        list[
            ComputeRequestWantType0ItemType0
            | GradientWant
            | HessianWant
            | HvpWant
            | JacobianWant
            | JvpWant
            | OrderWant
            | VhpWant
        ]
        | None
        | Unset
    ) = UNSET
    """ outputs, gradients, by default both; and derivatives, each an object. """

    def to_dict(self) -> dict[str, Any]:
        from ..models.compute_request_buffers_type_0 import ComputeRequestBuffersType0  # noqa: PLC0415
        from ..models.compute_request_inputs_type_0 import ComputeRequestInputsType0  # noqa: PLC0415
        from ..models.compute_request_parameters_type_0 import ComputeRequestParametersType0  # noqa: PLC0415
        from ..models.gradient_want import GradientWant  # noqa: PLC0415
        from ..models.hessian_want import HessianWant  # noqa: PLC0415
        from ..models.hvp_want import HvpWant  # noqa: PLC0415
        from ..models.jacobian_want import JacobianWant  # noqa: PLC0415
        from ..models.order_want import OrderWant  # noqa: PLC0415
        from ..models.vhp_want import VhpWant  # noqa: PLC0415

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

        want: list[dict[str, Any] | str] | None | Unset
        if isinstance(self.want, Unset):
            want = UNSET
        elif isinstance(self.want, list):
            want = []
            for want_type_0_item_data in self.want:
                want_type_0_item: dict[str, Any] | str
                if isinstance(want_type_0_item_data, str):
                    want_type_0_item = want_type_0_item_data
                elif isinstance(want_type_0_item_data, GradientWant):
                    want_type_0_item = want_type_0_item_data.to_dict()
                elif isinstance(want_type_0_item_data, JacobianWant):
                    want_type_0_item = want_type_0_item_data.to_dict()
                elif isinstance(want_type_0_item_data, HessianWant):
                    want_type_0_item = want_type_0_item_data.to_dict()
                elif isinstance(want_type_0_item_data, OrderWant):
                    want_type_0_item = want_type_0_item_data.to_dict()
                elif isinstance(want_type_0_item_data, HvpWant):
                    want_type_0_item = want_type_0_item_data.to_dict()
                elif isinstance(want_type_0_item_data, VhpWant):
                    want_type_0_item = want_type_0_item_data.to_dict()
                else:
                    want_type_0_item = want_type_0_item_data.to_dict()

                want.append(want_type_0_item)

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
        from ..models.gradient_want import GradientWant  # noqa: PLC0415
        from ..models.hessian_want import HessianWant  # noqa: PLC0415
        from ..models.hvp_want import HvpWant  # noqa: PLC0415
        from ..models.jacobian_want import JacobianWant  # noqa: PLC0415
        from ..models.jvp_want import JvpWant  # noqa: PLC0415
        from ..models.order_want import OrderWant  # noqa: PLC0415
        from ..models.vhp_want import VhpWant  # noqa: PLC0415

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

        def _parse_want(
            data: object,
        ) -> (
            list[
                ComputeRequestWantType0ItemType0
                | GradientWant
                | HessianWant
                | HvpWant
                | JacobianWant
                | JvpWant
                | OrderWant
                | VhpWant
            ]
            | None
            | Unset
        ):
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            try:
                if not isinstance(data, list):
                    raise TypeError()
                want_type_0 = []
                _want_type_0 = data
                for want_type_0_item_data in _want_type_0:

                    def _parse_want_type_0_item(
                        data: object,
                    ) -> (
                        ComputeRequestWantType0ItemType0
                        | GradientWant
                        | HessianWant
                        | HvpWant
                        | JacobianWant
                        | JvpWant
                        | OrderWant
                        | VhpWant
                    ):
                        try:
                            if not isinstance(data, str):
                                raise TypeError()
                            want_type_0_item_type_0 = check_compute_request_want_type_0_item_type_0(data)

                            return want_type_0_item_type_0
                        except (TypeError, ValueError, AttributeError, KeyError):
                            pass
                        try:
                            if not isinstance(data, dict):
                                raise TypeError()
                            want_type_0_item_type_1 = GradientWant.from_dict(data)

                            return want_type_0_item_type_1
                        except (TypeError, ValueError, AttributeError, KeyError):
                            pass
                        try:
                            if not isinstance(data, dict):
                                raise TypeError()
                            want_type_0_item_type_2 = JacobianWant.from_dict(data)

                            return want_type_0_item_type_2
                        except (TypeError, ValueError, AttributeError, KeyError):
                            pass
                        try:
                            if not isinstance(data, dict):
                                raise TypeError()
                            want_type_0_item_type_3 = HessianWant.from_dict(data)

                            return want_type_0_item_type_3
                        except (TypeError, ValueError, AttributeError, KeyError):
                            pass
                        try:
                            if not isinstance(data, dict):
                                raise TypeError()
                            want_type_0_item_type_4 = OrderWant.from_dict(data)

                            return want_type_0_item_type_4
                        except (TypeError, ValueError, AttributeError, KeyError):
                            pass
                        try:
                            if not isinstance(data, dict):
                                raise TypeError()
                            want_type_0_item_type_5 = HvpWant.from_dict(data)

                            return want_type_0_item_type_5
                        except (TypeError, ValueError, AttributeError, KeyError):
                            pass
                        try:
                            if not isinstance(data, dict):
                                raise TypeError()
                            want_type_0_item_type_6 = VhpWant.from_dict(data)

                            return want_type_0_item_type_6
                        except (TypeError, ValueError, AttributeError, KeyError):
                            pass
                        if not isinstance(data, dict):
                            raise TypeError()
                        want_type_0_item_type_7 = JvpWant.from_dict(data)

                        return want_type_0_item_type_7

                    want_type_0_item = _parse_want_type_0_item(want_type_0_item_data)

                    want_type_0.append(want_type_0_item)

                return want_type_0
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            return cast(
                list[
                    ComputeRequestWantType0ItemType0
                    | GradientWant
                    | HessianWant
                    | HvpWant
                    | JacobianWant
                    | JvpWant
                    | OrderWant
                    | VhpWant
                ]
                | None
                | Unset,
                data,
            )

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
