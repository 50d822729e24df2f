from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar, BinaryIO, TextIO, TYPE_CHECKING, Generator

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..types import UNSET, Unset

from typing import cast


T = TypeVar("T", bound="DatasetColumn")


@_attrs_define
class DatasetColumn:
    """One column; shape leaves out the rows."""

    name: str
    dtype: str
    shape: list[int]
    minimum: float | None
    maximum: float | None
    mean: float | None
    missing: int
    classes: list[str] | None
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        name = self.name

        dtype = self.dtype

        shape = self.shape

        minimum: float | None
        minimum = self.minimum

        maximum: float | None
        maximum = self.maximum

        mean: float | None
        mean = self.mean

        missing = self.missing

        classes: list[str] | None
        if isinstance(self.classes, list):
            classes = self.classes

        else:
            classes = self.classes

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update(
            {
                "name": name,
                "dtype": dtype,
                "shape": shape,
                "minimum": minimum,
                "maximum": maximum,
                "mean": mean,
                "missing": missing,
                "classes": classes,
            }
        )

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        d = dict(src_dict)
        name = d.pop("name")

        dtype = d.pop("dtype")

        shape = cast(list[int], d.pop("shape"))

        def _parse_minimum(data: object) -> float | None:
            if data is None:
                return data
            return cast(float | None, data)

        minimum = _parse_minimum(d.pop("minimum"))

        def _parse_maximum(data: object) -> float | None:
            if data is None:
                return data
            return cast(float | None, data)

        maximum = _parse_maximum(d.pop("maximum"))

        def _parse_mean(data: object) -> float | None:
            if data is None:
                return data
            return cast(float | None, data)

        mean = _parse_mean(d.pop("mean"))

        missing = d.pop("missing")

        def _parse_classes(data: object) -> list[str] | None:
            if data is None:
                return data
            try:
                if not isinstance(data, list):
                    raise TypeError()
                classes_type_0 = cast(list[str], data)

                return classes_type_0
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            return cast(list[str] | None, data)

        classes = _parse_classes(d.pop("classes"))

        dataset_column = cls(
            name=name,
            dtype=dtype,
            shape=shape,
            minimum=minimum,
            maximum=maximum,
            mean=mean,
            missing=missing,
            classes=classes,
        )

        dataset_column.additional_properties = d
        return dataset_column

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
