from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar, cast

from attrs import define as _attrs_define

from ..types import UNSET, Unset

T = TypeVar("T", bound="ResetRequest")


@_attrs_define
class ResetRequest:
    """Gradients, or the optimizer's momenta, begin anew."""

    gradients: bool | Unset = True
    """ Whether the gradients are set to 0. """
    momenta: bool | Unset = False
    """ Whether the optimizer state is reset. """
    seq: int | None | Unset = UNSET
    """ The step's place in the order of steps, from 1 on; by default the next when its turn has come. """

    def to_dict(self) -> dict[str, Any]:
        gradients = self.gradients

        momenta = self.momenta

        seq: int | None | Unset
        if isinstance(self.seq, Unset):
            seq = UNSET
        else:
            seq = self.seq

        field_dict: dict[str, Any] = {}

        field_dict.update({})
        if gradients is not UNSET:
            field_dict["gradients"] = gradients
        if momenta is not UNSET:
            field_dict["momenta"] = momenta
        if seq is not UNSET:
            field_dict["seq"] = seq

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        d = dict(src_dict)
        gradients = d.pop("gradients", UNSET)

        momenta = d.pop("momenta", UNSET)

        def _parse_seq(data: object) -> int | None | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(int | None | Unset, data)

        seq = _parse_seq(d.pop("seq", UNSET))

        reset_request = cls(
            gradients=gradients,
            momenta=momenta,
            seq=seq,
        )

        return reset_request
