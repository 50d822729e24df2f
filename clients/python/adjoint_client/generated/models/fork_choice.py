from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar, cast

from attrs import define as _attrs_define

from ..models.fork_choice_restore_type_0 import ForkChoiceRestoreType0, check_fork_choice_restore_type_0
from ..types import UNSET, Unset

T = TypeVar("T", bound="ForkChoice")


@_attrs_define
class ForkChoice:
    """A checkpoint to begin a fit at, and what of it counts."""

    checkpoint: str
    """ Id of a checkpoint. """
    restore: ForkChoiceRestoreType0 | None | Unset = UNSET
    """ "all": the fit goes on where the checkpoint was made, on the same graph and rows, with optimizer state and
    data order, to a later end; "parameters": it starts again with the values of parameters and buffers. Default
    "all", for an uploaded checkpoint "parameters". """

    def to_dict(self) -> dict[str, Any]:
        checkpoint = self.checkpoint

        restore: None | str | Unset
        if isinstance(self.restore, Unset):
            restore = UNSET
        elif isinstance(self.restore, str):
            restore = self.restore
        else:
            restore = self.restore

        field_dict: dict[str, Any] = {}

        field_dict.update(
            {
                "checkpoint": checkpoint,
            }
        )
        if restore is not UNSET:
            field_dict["restore"] = restore

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        d = dict(src_dict)
        checkpoint = d.pop("checkpoint")

        def _parse_restore(data: object) -> ForkChoiceRestoreType0 | None | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            try:
                if not isinstance(data, str):
                    raise TypeError()
                restore_type_0 = check_fork_choice_restore_type_0(data)

                return restore_type_0
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            return cast(ForkChoiceRestoreType0 | None | Unset, data)

        restore = _parse_restore(d.pop("restore", UNSET))

        fork_choice = cls(
            checkpoint=checkpoint,
            restore=restore,
        )

        return fork_choice
