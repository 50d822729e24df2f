from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar, cast

from attrs import define as _attrs_define
from attrs import field as _attrs_field

T = TypeVar("T", bound="DatasetColumn")


@_attrs_define
class DatasetColumn:
    """One column; shape leaves out the rows."""

    classes: list[str] | None
    """ Names of the classes of a text column, by code; null for a numeric column. """
    dtype: str
    """ Element type, such as float32. """
    maximum: float | None
    """ Largest value; null if there is none. """
    mean: float | None
    """ Arithmetic mean; null if there is no value. """
    minimum: float | None
    """ Smallest value; null if there is none. """
    missing: int
    """ Number of missing values. """
    name: str
    """ Name. """
    shape: list[int]
    """ Extents of the axes. """
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        classes: list[str] | None
        if isinstance(self.classes, list):
            classes = self.classes

        else:
            classes = self.classes

        dtype = self.dtype

        maximum: float | None
        maximum = self.maximum

        mean: float | None
        mean = self.mean

        minimum: float | None
        minimum = self.minimum

        missing = self.missing

        name = self.name

        shape = self.shape

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update(
            {
                "classes": classes,
                "dtype": dtype,
                "maximum": maximum,
                "mean": mean,
                "minimum": minimum,
                "missing": missing,
                "name": name,
                "shape": shape,
            }
        )

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        d = dict(src_dict)

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

        dtype = d.pop("dtype")

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

        def _parse_minimum(data: object) -> float | None:
            if data is None:
                return data
            return cast(float | None, data)

        minimum = _parse_minimum(d.pop("minimum"))

        missing = d.pop("missing")

        name = d.pop("name")

        shape = cast(list[int], d.pop("shape"))

        dataset_column = cls(
            classes=classes,
            dtype=dtype,
            maximum=maximum,
            mean=mean,
            minimum=minimum,
            missing=missing,
            name=name,
            shape=shape,
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
