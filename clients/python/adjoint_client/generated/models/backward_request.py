from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeVar, cast

from attrs import define as _attrs_define

from ..types import UNSET, Unset

if TYPE_CHECKING:
    from ..models.backward_request_cotangents import BackwardRequestCotangents


T = TypeVar("T", bound="BackwardRequest")


@_attrs_define
class BackwardRequest:
    """A vector-Jacobian product: cotangents of outputs and losses, pulled back to the parameters."""

    cotangents: BackwardRequestCotangents
    """ By output or loss, a tensor of its shape. """
    tape_id: str
    """ As :forward with keep gave it. """
    seq: int | None | Unset = UNSET
    """ The step's place in the order of steps, from 1 on; by default the next when its turn has come. """

    def to_dict(self) -> dict[str, Any]:
        cotangents = self.cotangents.to_dict()

        tape_id = self.tape_id

        seq: int | None | Unset
        if isinstance(self.seq, Unset):
            seq = UNSET
        else:
            seq = self.seq

        field_dict: dict[str, Any] = {}

        field_dict.update(
            {
                "cotangents": cotangents,
                "tape_id": tape_id,
            }
        )
        if seq is not UNSET:
            field_dict["seq"] = seq

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        from ..models.backward_request_cotangents import BackwardRequestCotangents  # noqa: PLC0415

        d = dict(src_dict)
        cotangents = BackwardRequestCotangents.from_dict(d.pop("cotangents"))

        tape_id = d.pop("tape_id")

        def _parse_seq(data: object) -> int | None | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(int | None | Unset, data)

        seq = _parse_seq(d.pop("seq", UNSET))

        backward_request = cls(
            cotangents=cotangents,
            tape_id=tape_id,
            seq=seq,
        )

        return backward_request
