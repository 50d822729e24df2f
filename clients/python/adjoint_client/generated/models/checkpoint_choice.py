from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar, cast

from attrs import define as _attrs_define

from ..types import UNSET, Unset

T = TypeVar("T", bound="CheckpointChoice")


@_attrs_define
class CheckpointChoice:
    """When to write checkpoints besides the last one, and how many to keep."""

    every_epochs: int | None | Unset = UNSET
    """ Epochs between checkpoints, at least 1; default 1; null: none by epoch. Where it is left out, a fit that has
    spent a second on them writes at most one in a second. """
    every_steps: int | None | Unset = UNSET
    """ Steps between checkpoints, at least 1. """
    keep_best: bool | None | Unset = UNSET
    """ Whether the best one is kept too; default true. """
    keep_last: int | None | Unset = UNSET
    """ How many are kept, at least 1; default 3. """

    def to_dict(self) -> dict[str, Any]:
        every_epochs: int | None | Unset
        if isinstance(self.every_epochs, Unset):
            every_epochs = UNSET
        else:
            every_epochs = self.every_epochs

        every_steps: int | None | Unset
        if isinstance(self.every_steps, Unset):
            every_steps = UNSET
        else:
            every_steps = self.every_steps

        keep_best: bool | None | Unset
        if isinstance(self.keep_best, Unset):
            keep_best = UNSET
        else:
            keep_best = self.keep_best

        keep_last: int | None | Unset
        if isinstance(self.keep_last, Unset):
            keep_last = UNSET
        else:
            keep_last = self.keep_last

        field_dict: dict[str, Any] = {}

        field_dict.update({})
        if every_epochs is not UNSET:
            field_dict["every_epochs"] = every_epochs
        if every_steps is not UNSET:
            field_dict["every_steps"] = every_steps
        if keep_best is not UNSET:
            field_dict["keep_best"] = keep_best
        if keep_last is not UNSET:
            field_dict["keep_last"] = keep_last

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        d = dict(src_dict)

        def _parse_every_epochs(data: object) -> int | None | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(int | None | Unset, data)

        every_epochs = _parse_every_epochs(d.pop("every_epochs", UNSET))

        def _parse_every_steps(data: object) -> int | None | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(int | None | Unset, data)

        every_steps = _parse_every_steps(d.pop("every_steps", UNSET))

        def _parse_keep_best(data: object) -> bool | None | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(bool | None | Unset, data)

        keep_best = _parse_keep_best(d.pop("keep_best", UNSET))

        def _parse_keep_last(data: object) -> int | None | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(int | None | Unset, data)

        keep_last = _parse_keep_last(d.pop("keep_last", UNSET))

        checkpoint_choice = cls(
            every_epochs=every_epochs,
            every_steps=every_steps,
            keep_best=keep_best,
            keep_last=keep_last,
        )

        return checkpoint_choice
