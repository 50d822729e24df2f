from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeVar, cast

from attrs import define as _attrs_define

from ..types import UNSET, Unset

if TYPE_CHECKING:
    from ..models.set_request_parameters import SetRequestParameters


T = TypeVar("T", bound="SetRequest")


@_attrs_define
class SetRequest:
    """New values of parameters: all of those named, or none."""

    parameters: SetRequestParameters
    """ By parameter, a tensor of its shape. """
    seq: int | None | Unset = UNSET
    """ The step's place in the order of steps, from 1 on; by default the next when its turn has come. """

    def to_dict(self) -> dict[str, Any]:
        parameters = self.parameters.to_dict()

        seq: int | None | Unset
        if isinstance(self.seq, Unset):
            seq = UNSET
        else:
            seq = self.seq

        field_dict: dict[str, Any] = {}

        field_dict.update(
            {
                "parameters": parameters,
            }
        )
        if seq is not UNSET:
            field_dict["seq"] = seq

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        from ..models.set_request_parameters import SetRequestParameters  # noqa: PLC0415

        d = dict(src_dict)
        parameters = SetRequestParameters.from_dict(d.pop("parameters"))

        def _parse_seq(data: object) -> int | None | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(int | None | Unset, data)

        seq = _parse_seq(d.pop("seq", UNSET))

        set_request = cls(
            parameters=parameters,
            seq=seq,
        )

        return set_request
