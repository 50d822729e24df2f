from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar

from attrs import define as _attrs_define

T = TypeVar("T", bound="BundleState")


@_attrs_define
class BundleState:
    """The content of a checkpoint, a digest each over names, types, shapes and bytes."""

    buffers: str
    """ SHA-256 in hexadecimal digits. """
    optimizer: str
    """ SHA-256 in hexadecimal digits. """
    parameters: str
    """ SHA-256 in hexadecimal digits. """

    def to_dict(self) -> dict[str, Any]:
        buffers = self.buffers

        optimizer = self.optimizer

        parameters = self.parameters

        field_dict: dict[str, Any] = {}

        field_dict.update(
            {
                "buffers": buffers,
                "optimizer": optimizer,
                "parameters": parameters,
            }
        )

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        d = dict(src_dict)
        buffers = d.pop("buffers")

        optimizer = d.pop("optimizer")

        parameters = d.pop("parameters")

        bundle_state = cls(
            buffers=buffers,
            optimizer=optimizer,
            parameters=parameters,
        )

        return bundle_state
