from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeVar, cast

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..models.metric_entry_goal_type_0 import MetricEntryGoalType0, check_metric_entry_goal_type_0

if TYPE_CHECKING:
    from ..models.catalogue_attribute import CatalogueAttribute
    from ..models.metric_entry_predictions import MetricEntryPredictions


T = TypeVar("T", bound="MetricEntry")


@_attrs_define
class MetricEntry:
    """A metric: what it judges, and how."""

    attrs: list[CatalogueAttribute]
    """ Its options. """
    doc: str
    """ Documentation. """
    every_step: bool
    """ Whether rows of training steps hold it; else only validations and epochs. """
    goal: MetricEntryGoalType0 | None
    """ Whether more is better, or less; null: no question. """
    kind: str
    """ Kind, one of the names in the catalogue. """
    predictions: MetricEntryPredictions
    """ The forms of predictions that it takes, each in words. """
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        attrs = []
        for attrs_item_data in self.attrs:
            attrs_item = attrs_item_data.to_dict()
            attrs.append(attrs_item)

        doc = self.doc

        every_step = self.every_step

        goal: None | str
        if isinstance(self.goal, str):
            goal = self.goal
        else:
            goal = self.goal

        kind = self.kind

        predictions = self.predictions.to_dict()

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update(
            {
                "attrs": attrs,
                "doc": doc,
                "every_step": every_step,
                "goal": goal,
                "kind": kind,
                "predictions": predictions,
            }
        )

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        from ..models.catalogue_attribute import CatalogueAttribute  # noqa: PLC0415
        from ..models.metric_entry_predictions import MetricEntryPredictions  # noqa: PLC0415

        d = dict(src_dict)
        attrs = []
        _attrs = d.pop("attrs")
        for attrs_item_data in _attrs:
            attrs_item = CatalogueAttribute.from_dict(attrs_item_data)

            attrs.append(attrs_item)

        doc = d.pop("doc")

        every_step = d.pop("every_step")

        def _parse_goal(data: object) -> MetricEntryGoalType0 | None:
            if data is None:
                return data
            try:
                if not isinstance(data, str):
                    raise TypeError()
                goal_type_0 = check_metric_entry_goal_type_0(data)

                return goal_type_0
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            return cast(MetricEntryGoalType0 | None, data)

        goal = _parse_goal(d.pop("goal"))

        kind = d.pop("kind")

        predictions = MetricEntryPredictions.from_dict(d.pop("predictions"))

        metric_entry = cls(
            attrs=attrs,
            doc=doc,
            every_step=every_step,
            goal=goal,
            kind=kind,
            predictions=predictions,
        )

        metric_entry.additional_properties = d
        return metric_entry

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
