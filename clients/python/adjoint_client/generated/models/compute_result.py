from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeVar, cast

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..types import UNSET, Unset

if TYPE_CHECKING:
    from ..models.compute_result_gradients_type_0 import ComputeResultGradientsType0
    from ..models.compute_result_losses import ComputeResultLosses
    from ..models.compute_result_nonfinite import ComputeResultNonfinite
    from ..models.compute_result_outputs_type_0 import ComputeResultOutputsType0
    from ..models.derivative import Derivative


T = TypeVar("T", bound="ComputeResult")


@_attrs_define
class ComputeResult:
    """What an evaluation gave; a loss that is not finite is null, and named under nonfinite."""

    losses: ComputeResultLosses
    """ Losses by name, or the names of the losses. """
    nonfinite: ComputeResultNonfinite
    """ `nan`, `inf` or `-inf` for each value that is null because JSON cannot represent it. """
    derivatives: list[Derivative] | None | Unset = UNSET
    """ In the order of the objects in want. """
    gradients: ComputeResultGradientsType0 | None | Unset = UNSET
    """ Gradients by name. """
    outputs: ComputeResultOutputsType0 | None | Unset = UNSET
    """ Outputs by name, or the names of the outputs. """
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        from ..models.compute_result_gradients_type_0 import ComputeResultGradientsType0  # noqa: PLC0415
        from ..models.compute_result_outputs_type_0 import ComputeResultOutputsType0  # noqa: PLC0415

        losses = self.losses.to_dict()

        nonfinite = self.nonfinite.to_dict()

        derivatives: list[dict[str, Any]] | None | Unset
        if isinstance(self.derivatives, Unset):
            derivatives = UNSET
        elif isinstance(self.derivatives, list):
            derivatives = []
            for derivatives_type_0_item_data in self.derivatives:
                derivatives_type_0_item = derivatives_type_0_item_data.to_dict()
                derivatives.append(derivatives_type_0_item)

        else:
            derivatives = self.derivatives

        gradients: dict[str, Any] | None | Unset
        if isinstance(self.gradients, Unset):
            gradients = UNSET
        elif isinstance(self.gradients, ComputeResultGradientsType0):
            gradients = self.gradients.to_dict()
        else:
            gradients = self.gradients

        outputs: dict[str, Any] | None | Unset
        if isinstance(self.outputs, Unset):
            outputs = UNSET
        elif isinstance(self.outputs, ComputeResultOutputsType0):
            outputs = self.outputs.to_dict()
        else:
            outputs = self.outputs

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update(
            {
                "losses": losses,
                "nonfinite": nonfinite,
            }
        )
        if derivatives is not UNSET:
            field_dict["derivatives"] = derivatives
        if gradients is not UNSET:
            field_dict["gradients"] = gradients
        if outputs is not UNSET:
            field_dict["outputs"] = outputs

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        from ..models.compute_result_gradients_type_0 import ComputeResultGradientsType0  # noqa: PLC0415
        from ..models.compute_result_losses import ComputeResultLosses  # noqa: PLC0415
        from ..models.compute_result_nonfinite import ComputeResultNonfinite  # noqa: PLC0415
        from ..models.compute_result_outputs_type_0 import ComputeResultOutputsType0  # noqa: PLC0415
        from ..models.derivative import Derivative  # noqa: PLC0415

        d = dict(src_dict)
        losses = ComputeResultLosses.from_dict(d.pop("losses"))

        nonfinite = ComputeResultNonfinite.from_dict(d.pop("nonfinite"))

        def _parse_derivatives(data: object) -> list[Derivative] | None | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            try:
                if not isinstance(data, list):
                    raise TypeError()
                derivatives_type_0 = []
                _derivatives_type_0 = data
                for derivatives_type_0_item_data in _derivatives_type_0:
                    derivatives_type_0_item = Derivative.from_dict(derivatives_type_0_item_data)

                    derivatives_type_0.append(derivatives_type_0_item)

                return derivatives_type_0
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            return cast(list[Derivative] | None | Unset, data)

        derivatives = _parse_derivatives(d.pop("derivatives", UNSET))

        def _parse_gradients(data: object) -> ComputeResultGradientsType0 | None | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            try:
                if not isinstance(data, dict):
                    raise TypeError()
                gradients_type_0 = ComputeResultGradientsType0.from_dict(data)

                return gradients_type_0
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            return cast(ComputeResultGradientsType0 | None | Unset, data)

        gradients = _parse_gradients(d.pop("gradients", UNSET))

        def _parse_outputs(data: object) -> ComputeResultOutputsType0 | None | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            try:
                if not isinstance(data, dict):
                    raise TypeError()
                outputs_type_0 = ComputeResultOutputsType0.from_dict(data)

                return outputs_type_0
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            return cast(ComputeResultOutputsType0 | None | Unset, data)

        outputs = _parse_outputs(d.pop("outputs", UNSET))

        compute_result = cls(
            losses=losses,
            nonfinite=nonfinite,
            derivatives=derivatives,
            gradients=gradients,
            outputs=outputs,
        )

        compute_result.additional_properties = d
        return compute_result

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
