from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar, cast

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..models.profiled_node_phase import ProfiledNodePhase, check_profiled_node_phase

T = TypeVar("T", bound="ProfiledNode")


@_attrs_define
class ProfiledNode:
    """A node of a step, run by its NumPy kernel."""

    bytes_: int
    """ Of its outputs. """
    bytes_read: int
    """ Of its inputs. """
    dtype: str
    """ Element type, such as float32. """
    flops: int
    """ Estimated arithmetic operations. """
    live_bytes: int
    """ Held while it runs; an update holds all of its memory throughout. """
    name: str
    """ As in the list of the graph's nodes; steps of an update are numbered. """
    op: str
    """ Name of the op; null for a leaf. """
    phase: ProfiledNodePhase
    """ Phase of the step: forward, backward or update. """
    seconds: float
    """ The median of all repeats. """
    shape: list[int]
    """ Of its first output. """
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        bytes_ = self.bytes_

        bytes_read = self.bytes_read

        dtype = self.dtype

        flops = self.flops

        live_bytes = self.live_bytes

        name = self.name

        op = self.op

        phase: str = self.phase

        seconds = self.seconds

        shape = self.shape

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update(
            {
                "bytes": bytes_,
                "bytes_read": bytes_read,
                "dtype": dtype,
                "flops": flops,
                "live_bytes": live_bytes,
                "name": name,
                "op": op,
                "phase": phase,
                "seconds": seconds,
                "shape": shape,
            }
        )

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        d = dict(src_dict)
        bytes_ = d.pop("bytes")

        bytes_read = d.pop("bytes_read")

        dtype = d.pop("dtype")

        flops = d.pop("flops")

        live_bytes = d.pop("live_bytes")

        name = d.pop("name")

        op = d.pop("op")

        phase = check_profiled_node_phase(d.pop("phase"))

        seconds = d.pop("seconds")

        shape = cast(list[int], d.pop("shape"))

        profiled_node = cls(
            bytes_=bytes_,
            bytes_read=bytes_read,
            dtype=dtype,
            flops=flops,
            live_bytes=live_bytes,
            name=name,
            op=op,
            phase=phase,
            seconds=seconds,
            shape=shape,
        )

        profiled_node.additional_properties = d
        return profiled_node

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
