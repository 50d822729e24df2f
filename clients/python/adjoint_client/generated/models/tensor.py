from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeVar, cast

from attrs import define as _attrs_define
from attrs import field as _attrs_field

if TYPE_CHECKING:
    from ..models.tensor_nonfinite import TensorNonfinite


T = TypeVar("T", bound="Tensor")


@_attrs_define
class Tensor:
    """An array: its elements in row-major order, null for one that is not finite."""

    data: list[bool | float | None]
    """ The entries. """
    dtype: str
    """ Element type, such as float32. """
    nonfinite: TensorNonfinite
    """ Position in data: nan, inf or -inf, for every null in data. Where there are more than 1,000, a run of equal
    ones is named by its first and last position: 3-8. """
    shape: list[int]
    """ Extents of the axes. """
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        data = []
        for data_item_data in self.data:
            data_item: bool | float | None
            data_item = data_item_data
            data.append(data_item)

        dtype = self.dtype

        nonfinite = self.nonfinite.to_dict()

        shape = self.shape

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update(
            {
                "data": data,
                "dtype": dtype,
                "nonfinite": nonfinite,
                "shape": shape,
            }
        )

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        from ..models.tensor_nonfinite import TensorNonfinite  # noqa: PLC0415

        d = dict(src_dict)
        data = []
        _data = d.pop("data")
        for data_item_data in _data:

            def _parse_data_item(data: object) -> bool | float | None:
                if data is None:
                    return data
                return cast(bool | float | None, data)

            data_item = _parse_data_item(data_item_data)

            data.append(data_item)

        dtype = d.pop("dtype")

        nonfinite = TensorNonfinite.from_dict(d.pop("nonfinite"))

        shape = cast(list[int], d.pop("shape"))

        tensor = cls(
            data=data,
            dtype=dtype,
            nonfinite=nonfinite,
            shape=shape,
        )

        tensor.additional_properties = d
        return tensor

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
