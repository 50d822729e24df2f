from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Literal, TypeVar, cast

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..types import UNSET, Unset

if TYPE_CHECKING:
    from ..models.profiled_node import ProfiledNode
    from ..models.session_profile_phase_seconds import SessionProfilePhaseSeconds


T = TypeVar("T", bound="SessionProfile")


@_attrs_define
class SessionProfile:
    """A training step node by node, in the order of execution."""

    data: list[ProfiledNode]
    """ The entries. """
    flops: int
    """ Number of floating-point operations. """
    peak_bytes: int
    """ The most that is held at a time. """
    phase_seconds: SessionProfilePhaseSeconds
    """ Seconds by phase. """
    seconds: float
    """ Of all nodes. """
    seq: int | None
    """ The place that the step took; null for one that only reads. """
    object_: Literal["list"] | Unset = "list"
    """ Type of the object. """
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        data = []
        for data_item_data in self.data:
            data_item = data_item_data.to_dict()
            data.append(data_item)

        flops = self.flops

        peak_bytes = self.peak_bytes

        phase_seconds = self.phase_seconds.to_dict()

        seconds = self.seconds

        seq: int | None
        seq = self.seq

        object_ = self.object_

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update(
            {
                "data": data,
                "flops": flops,
                "peak_bytes": peak_bytes,
                "phase_seconds": phase_seconds,
                "seconds": seconds,
                "seq": seq,
            }
        )
        if object_ is not UNSET:
            field_dict["object"] = object_

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        from ..models.profiled_node import ProfiledNode  # noqa: PLC0415
        from ..models.session_profile_phase_seconds import SessionProfilePhaseSeconds  # noqa: PLC0415

        d = dict(src_dict)
        data = []
        _data = d.pop("data")
        for data_item_data in _data:
            data_item = ProfiledNode.from_dict(data_item_data)

            data.append(data_item)

        flops = d.pop("flops")

        peak_bytes = d.pop("peak_bytes")

        phase_seconds = SessionProfilePhaseSeconds.from_dict(d.pop("phase_seconds"))

        seconds = d.pop("seconds")

        def _parse_seq(data: object) -> int | None:
            if data is None:
                return data
            return cast(int | None, data)

        seq = _parse_seq(d.pop("seq"))

        object_ = cast(Literal["list"] | Unset, d.pop("object", UNSET))
        if object_ != "list" and not isinstance(object_, Unset):
            raise ValueError(f"object must match const 'list', got '{object_}'")

        session_profile = cls(
            data=data,
            flops=flops,
            peak_bytes=peak_bytes,
            phase_seconds=phase_seconds,
            seconds=seconds,
            seq=seq,
            object_=object_,
        )

        session_profile.additional_properties = d
        return session_profile

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
