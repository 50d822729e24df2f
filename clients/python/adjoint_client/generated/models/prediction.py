from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeVar

from attrs import define as _attrs_define
from attrs import field as _attrs_field

if TYPE_CHECKING:
    from ..models.prediction_classes import PredictionClasses
    from ..models.prediction_outputs import PredictionOutputs


T = TypeVar("T", bound="Prediction")


@_attrs_define
class Prediction:
    """The outputs by name."""

    classes: PredictionClasses
    """ Of each output that predicts a text target, the class names in the order of their numbers. """
    outputs: PredictionOutputs
    """ Outputs by name, or the names of the outputs. """
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        classes = self.classes.to_dict()

        outputs = self.outputs.to_dict()

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update(
            {
                "classes": classes,
                "outputs": outputs,
            }
        )

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        from ..models.prediction_classes import PredictionClasses  # noqa: PLC0415
        from ..models.prediction_outputs import PredictionOutputs  # noqa: PLC0415

        d = dict(src_dict)
        classes = PredictionClasses.from_dict(d.pop("classes"))

        outputs = PredictionOutputs.from_dict(d.pop("outputs"))

        prediction = cls(
            classes=classes,
            outputs=outputs,
        )

        prediction.additional_properties = d
        return prediction

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
