from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Literal, TypeVar, cast

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..types import UNSET, Unset

if TYPE_CHECKING:
    from ..models.profile_phase_seconds import ProfilePhaseSeconds
    from ..models.profiled_node import ProfiledNode


T = TypeVar("T", bound="Profile")


@_attrs_define
class Profile:
    """A training step node by node, in the order of execution. A fit takes less: it fuses nodes and reuses memory."""

    data: list[ProfiledNode]
    """ The entries. """
    flops: int
    """ Number of floating-point operations. """
    peak_bytes: int
    """ The most that is held at a time. """
    phase_seconds: ProfilePhaseSeconds
    """ Seconds by phase. """
    seconds: float
    """ Of all nodes. """
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
            }
        )
        if object_ is not UNSET:
            field_dict["object"] = object_

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        from ..models.profile_phase_seconds import ProfilePhaseSeconds  # noqa: PLC0415
        from ..models.profiled_node import ProfiledNode  # noqa: PLC0415

        d = dict(src_dict)
        data = []
        _data = d.pop("data")
        for data_item_data in _data:
            data_item = ProfiledNode.from_dict(data_item_data)

            data.append(data_item)

        flops = d.pop("flops")

        peak_bytes = d.pop("peak_bytes")

        phase_seconds = ProfilePhaseSeconds.from_dict(d.pop("phase_seconds"))

        seconds = d.pop("seconds")

        object_ = cast(Literal["list"] | Unset, d.pop("object", UNSET))
        if object_ != "list" and not isinstance(object_, Unset):
            raise ValueError(f"object must match const 'list', got '{object_}'")

        profile = cls(
            data=data,
            flops=flops,
            peak_bytes=peak_bytes,
            phase_seconds=phase_seconds,
            seconds=seconds,
            object_=object_,
        )

        profile.additional_properties = d
        return profile

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
