from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeVar

from attrs import define as _attrs_define

if TYPE_CHECKING:
    from ..models.predict_request_inputs import PredictRequestInputs


T = TypeVar("T", bound="PredictRequest")


@_attrs_define
class PredictRequest:
    """A tensor for each input that the outputs depend on; text for one that took a text column in training."""

    inputs: PredictRequestInputs
    """ Inputs by name or in order. """

    def to_dict(self) -> dict[str, Any]:
        inputs = self.inputs.to_dict()

        field_dict: dict[str, Any] = {}

        field_dict.update(
            {
                "inputs": inputs,
            }
        )

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        from ..models.predict_request_inputs import PredictRequestInputs  # noqa: PLC0415

        d = dict(src_dict)
        inputs = PredictRequestInputs.from_dict(d.pop("inputs"))

        predict_request = cls(
            inputs=inputs,
        )

        return predict_request
