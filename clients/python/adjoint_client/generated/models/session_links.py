from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar, cast

from attrs import define as _attrs_define
from attrs import field as _attrs_field

T = TypeVar("T", bound="SessionLinks")


@_attrs_define
class SessionLinks:
    """Where to go on from a session."""

    buffers: str
    """ URL of the buffers. """
    checkpoint: None | str
    """ URL of the checkpoint that it started from, or was saved to. """
    dataset: None | str
    """ URL of the dataset. """
    gradients: str
    """ URL of the gradients. """
    graph: str
    """ URL of the graph. """
    parameters: str
    """ URL of the parameters. """
    self_: str
    """ URL of the resource itself. """
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        buffers = self.buffers

        checkpoint: None | str
        checkpoint = self.checkpoint

        dataset: None | str
        dataset = self.dataset

        gradients = self.gradients

        graph = self.graph

        parameters = self.parameters

        self_ = self.self_

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update(
            {
                "buffers": buffers,
                "checkpoint": checkpoint,
                "dataset": dataset,
                "gradients": gradients,
                "graph": graph,
                "parameters": parameters,
                "self": self_,
            }
        )

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        d = dict(src_dict)
        buffers = d.pop("buffers")

        def _parse_checkpoint(data: object) -> None | str:
            if data is None:
                return data
            return cast(None | str, data)

        checkpoint = _parse_checkpoint(d.pop("checkpoint"))

        def _parse_dataset(data: object) -> None | str:
            if data is None:
                return data
            return cast(None | str, data)

        dataset = _parse_dataset(d.pop("dataset"))

        gradients = d.pop("gradients")

        graph = d.pop("graph")

        parameters = d.pop("parameters")

        self_ = d.pop("self")

        session_links = cls(
            buffers=buffers,
            checkpoint=checkpoint,
            dataset=dataset,
            gradients=gradients,
            graph=graph,
            parameters=parameters,
            self_=self_,
        )

        session_links.additional_properties = d
        return session_links

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
