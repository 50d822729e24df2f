from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar, cast

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..types import UNSET, Unset

T = TypeVar("T", bound="FitLinks")


@_attrs_define
class FitLinks:
    """Where to go on from a fit."""

    checkpoints: str
    """ URL of the checkpoints. """
    children: str
    """ The fits that were forked from its checkpoints. """
    dataset: str
    """ URL of the dataset. """
    events: str
    """ URL of the event stream. """
    gradients: str
    """ URL of the captured gradients. """
    graph: str
    """ URL of the graph. """
    metrics: str
    """ URL of the metric rows. """
    self_: str
    """ URL of the resource itself. """
    origin: None | str | Unset = UNSET
    """ URL of the checkpoint that it was forked from; null if it was not. """
    parent: None | str | Unset = UNSET
    """ URL of the fit whose sweep this belongs to. """
    variants: None | str | Unset = UNSET
    """ URL of the variants of its sweep; null without one. """
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        checkpoints = self.checkpoints

        children = self.children

        dataset = self.dataset

        events = self.events

        gradients = self.gradients

        graph = self.graph

        metrics = self.metrics

        self_ = self.self_

        origin: None | str | Unset
        if isinstance(self.origin, Unset):
            origin = UNSET
        else:
            origin = self.origin

        parent: None | str | Unset
        if isinstance(self.parent, Unset):
            parent = UNSET
        else:
            parent = self.parent

        variants: None | str | Unset
        if isinstance(self.variants, Unset):
            variants = UNSET
        else:
            variants = self.variants

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update(
            {
                "checkpoints": checkpoints,
                "children": children,
                "dataset": dataset,
                "events": events,
                "gradients": gradients,
                "graph": graph,
                "metrics": metrics,
                "self": self_,
            }
        )
        if origin is not UNSET:
            field_dict["origin"] = origin
        if parent is not UNSET:
            field_dict["parent"] = parent
        if variants is not UNSET:
            field_dict["variants"] = variants

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        d = dict(src_dict)
        checkpoints = d.pop("checkpoints")

        children = d.pop("children")

        dataset = d.pop("dataset")

        events = d.pop("events")

        gradients = d.pop("gradients")

        graph = d.pop("graph")

        metrics = d.pop("metrics")

        self_ = d.pop("self")

        def _parse_origin(data: object) -> None | str | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(None | str | Unset, data)

        origin = _parse_origin(d.pop("origin", UNSET))

        def _parse_parent(data: object) -> None | str | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(None | str | Unset, data)

        parent = _parse_parent(d.pop("parent", UNSET))

        def _parse_variants(data: object) -> None | str | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(None | str | Unset, data)

        variants = _parse_variants(d.pop("variants", UNSET))

        fit_links = cls(
            checkpoints=checkpoints,
            children=children,
            dataset=dataset,
            events=events,
            gradients=gradients,
            graph=graph,
            metrics=metrics,
            self_=self_,
            origin=origin,
            parent=parent,
            variants=variants,
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
