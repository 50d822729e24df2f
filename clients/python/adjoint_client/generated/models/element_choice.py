from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar, cast

from attrs import define as _attrs_define

T = TypeVar("T", bound="ElementChoice")


@_attrs_define
class ElementChoice:
    """One element of a tensor."""

    index: int | list[int]
    """ Its place in row-major order, or one index for each axis. """
    tensor: str
    """ Name of the tensor. """
    value: float
    """ The value. """

    def to_dict(self) -> dict[str, Any]:
        index: int | list[int]
        if isinstance(self.index, list):
            index = self.index

        else:
            index = self.index

        tensor = self.tensor

        value = self.value

        field_dict: dict[str, Any] = {}

        field_dict.update(
            {
                "index": index,
                "tensor": tensor,
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

        tensor = d.pop("tensor")

        value = d.pop("value")

        element_choice = cls(
            index=index,
            tensor=tensor,
            value=value,
        )

        return element_choice
