from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeVar, cast

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..types import UNSET, Unset

if TYPE_CHECKING:
    from ..models.histogram import Histogram
    from ..models.tensor_statistics_nonfinite import TensorStatisticsNonfinite


T = TypeVar("T", bound="TensorStatistics")


@_attrs_define
class TensorStatistics:
    """An array of a session in a few numbers, computed in float64; null where there is no such gradient."""

    dtype: str
    """ Element type, such as float32. """
    histogram: Histogram | None
    """ Distribution of the finite elements. """
    inf_count: int | None
    """ Number of infinite elements. """
    max_: float | None
    """ The largest element that is not NaN. """
    mean: float | None
    """ Arithmetic mean; null if there is no value. """
    min_: float | None
    """ The smallest element that is not NaN. """
    name: str
    """ Name. """
    nan_count: int | None
    """ Number of NaN elements. """
    norm: float | None
    """ The root of the sum of squares; null: there is no such gradient. """
    shape: list[int]
    """ Extents of the axes. """
    nonfinite: TensorStatisticsNonfinite | Unset = UNSET
    """ Numbers that are null because they are not finite, by their path: nan, inf or -inf. """
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        from ..models.histogram import Histogram  # noqa: PLC0415

        dtype = self.dtype

        histogram: dict[str, Any] | None
        if isinstance(self.histogram, Histogram):
            histogram = self.histogram.to_dict()
        else:
            histogram = self.histogram

        inf_count: int | None
        inf_count = self.inf_count

        max_: float | None
        max_ = self.max_

        mean: float | None
        mean = self.mean

        min_: float | None
        min_ = self.min_

        name = self.name

        nan_count: int | None
        nan_count = self.nan_count

        norm: float | None
        norm = self.norm

        shape = self.shape

        nonfinite: dict[str, Any] | Unset = UNSET
        if not isinstance(self.nonfinite, Unset):
            nonfinite = self.nonfinite.to_dict()

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update(
            {
                "dtype": dtype,
                "histogram": histogram,
                "inf_count": inf_count,
                "max": max_,
                "mean": mean,
                "min": min_,
                "name": name,
                "nan_count": nan_count,
                "norm": norm,
                "shape": shape,
            }
        )
        if nonfinite is not UNSET:
            field_dict["nonfinite"] = nonfinite

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        from ..models.histogram import Histogram  # noqa: PLC0415
        from ..models.tensor_statistics_nonfinite import TensorStatisticsNonfinite  # noqa: PLC0415

        d = dict(src_dict)
        dtype = d.pop("dtype")

        def _parse_histogram(data: object) -> Histogram | None:
            if data is None:
                return data
            try:
                if not isinstance(data, dict):
                    raise TypeError()
                histogram_type_0 = Histogram.from_dict(data)

                return histogram_type_0
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            return cast(Histogram | None, data)

        histogram = _parse_histogram(d.pop("histogram"))

        def _parse_inf_count(data: object) -> int | None:
            if data is None:
                return data
            return cast(int | None, data)

        inf_count = _parse_inf_count(d.pop("inf_count"))

        def _parse_max_(data: object) -> float | None:
            if data is None:
                return data
            return cast(float | None, data)

        max_ = _parse_max_(d.pop("max"))

        def _parse_mean(data: object) -> float | None:
            if data is None:
                return data
            return cast(float | None, data)

        mean = _parse_mean(d.pop("mean"))

        def _parse_min_(data: object) -> float | None:
            if data is None:
                return data
            return cast(float | None, data)

        min_ = _parse_min_(d.pop("min"))

        name = d.pop("name")

        def _parse_nan_count(data: object) -> int | None:
            if data is None:
                return data
            return cast(int | None, data)

        nan_count = _parse_nan_count(d.pop("nan_count"))

        def _parse_norm(data: object) -> float | None:
            if data is None:
                return data
            return cast(float | None, data)

        norm = _parse_norm(d.pop("norm"))

        shape = cast(list[int], d.pop("shape"))

        _nonfinite = d.pop("nonfinite", UNSET)
        nonfinite: TensorStatisticsNonfinite | Unset
        if isinstance(_nonfinite, Unset):
            nonfinite = UNSET
        else:
            nonfinite = TensorStatisticsNonfinite.from_dict(_nonfinite)

        tensor_statistics = cls(
            dtype=dtype,
            histogram=histogram,
            inf_count=inf_count,
            max_=max_,
            mean=mean,
            min_=min_,
            name=name,
            nan_count=nan_count,
            norm=norm,
            shape=shape,
            nonfinite=nonfinite,
        )

        tensor_statistics.additional_properties = d
        return tensor_statistics

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
