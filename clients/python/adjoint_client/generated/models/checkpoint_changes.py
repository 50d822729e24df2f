from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar

from attrs import define as _attrs_define

T = TypeVar("T", bound="CheckpointChanges")


@_attrs_define
class CheckpointChanges:
    """What can be changed about a checkpoint."""

    pinned: bool
    """ Whether it is kept when newer checkpoints are written. """

    def to_dict(self) -> dict[str, Any]:
        pinned = self.pinned

        field_dict: dict[str, Any] = {}

        field_dict.update(
            {
                "pinned": pinned,
            }
        )

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        d = dict(src_dict)
        pinned = d.pop("pinned")

        checkpoint_changes = cls(
            pinned=pinned,
        )

        return checkpoint_changes
