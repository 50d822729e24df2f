from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar, cast

from attrs import define as _attrs_define
from attrs import field as _attrs_field

T = TypeVar("T", bound="ElementAnswer")


@_attrs_define
class ElementAnswer:
    """One element of a tensor."""

    index: int | list[int]
    """ Position, from 0, or one index for each axis. """
    name: str
    """ Name. """
    seq: int | None
    """ The place that the step took; null for one that only reads. """
    value: bool | float | int | None
    """ The value. """
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        index: int | list[int]
        if isinstance(self.index, list):
            index = self.index

        else:
            index = self.index

        name = self.name

        seq: int | None
        seq = self.seq

        value: bool | float | int | None
        value = self.value

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update(
            {
                "index": index,
                "name": name,
                "seq": seq,
                "value": value,
            }
        )

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        d = dict(src_dict)

        def _parse_index(data: object) -> int | list[int]:
            try:
                if not isinstance(data, list):
                    raise TypeError()
                index_type_1 = cast(list[int], data)

                return index_type_1
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            return cast(int | list[int], data)

        index = _parse_index(d.pop("index"))

        name = d.pop("name")

        def _parse_seq(data: object) -> int | None:
            if data is None:
                return data
            return cast(int | None, data)

        seq = _parse_seq(d.pop("seq"))

        def _parse_value(data: object) -> bool | float | int | None:
            if data is None:
                return data
            return cast(bool | float | int | None, data)

        value = _parse_value(d.pop("value"))

        element_answer = cls(
            index=index,
            name=name,
            seq=seq,
            value=value,
        )

        element_answer.additional_properties = d
        return element_answer

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
