from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar, cast

from attrs import define as _attrs_define

from ..types import UNSET, Unset

T = TypeVar("T", bound="LoadRequest")


@_attrs_define
class LoadRequest:
    """A checkpoint to go on from."""

    checkpoint: str
    """ Id of a checkpoint. """
    optimizer: bool | Unset = True
    """ Whether the optimizer state is restored too, or reset; default true. """
    seq: int | None | Unset = UNSET
    """ The step's place in the order of steps, from 1 on; by default the next when its turn has come. """

    def to_dict(self) -> dict[str, Any]:
        checkpoint = self.checkpoint

        optimizer = self.optimizer

        seq: int | None | Unset
        if isinstance(self.seq, Unset):
            seq = UNSET
        else:
            seq = self.seq

        field_dict: dict[str, Any] = {}

        field_dict.update(
            {
                "checkpoint": checkpoint,
            }
        )
        if optimizer is not UNSET:
            field_dict["optimizer"] = optimizer
        if seq is not UNSET:
            field_dict["seq"] = seq

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        d = dict(src_dict)
        checkpoint = d.pop("checkpoint")

        optimizer = d.pop("optimizer", UNSET)

        def _parse_seq(data: object) -> int | None | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(int | None | Unset, data)

        seq = _parse_seq(d.pop("seq", UNSET))

        load_request = cls(
            checkpoint=checkpoint,
            optimizer=optimizer,
            seq=seq,
        )

        return load_request
