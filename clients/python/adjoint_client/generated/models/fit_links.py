from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar, BinaryIO, TextIO, TYPE_CHECKING, Generator

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..types import UNSET, Unset


T = TypeVar("T", bound="FitLinks")


@_attrs_define
class FitLinks:
    """Where to go on from a fit."""

    self_: str
    metrics: str
    events: str
    checkpoints: str
    graph: str
    dataset: str
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        self_ = self.self_

        metrics = self.metrics

        events = self.events

        checkpoints = self.checkpoints

        graph = self.graph

        dataset = self.dataset

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update(
            {
                "self": self_,
                "metrics": metrics,
                "events": events,
                "checkpoints": checkpoints,
                "graph": graph,
                "dataset": dataset,
            }
        )

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        d = dict(src_dict)
        self_ = d.pop("self")

        metrics = d.pop("metrics")

        events = d.pop("events")

        checkpoints = d.pop("checkpoints")

        graph = d.pop("graph")

        dataset = d.pop("dataset")

        fit_links = cls(
            self_=self_,
            metrics=metrics,
            events=events,
            checkpoints=checkpoints,
            graph=graph,
            dataset=dataset,
        )

        fit_links.additional_properties = d
        return fit_links

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
