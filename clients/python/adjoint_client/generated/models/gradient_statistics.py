from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Literal, TypeVar, cast

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..types import UNSET, Unset

if TYPE_CHECKING:
    from ..models.gradient_statistics_nonfinite import GradientStatisticsNonfinite
    from ..models.histogram import Histogram


T = TypeVar("T", bound="GradientStatistics")


@_attrs_define
class GradientStatistics:
    """A captured gradient in a few numbers, computed in float64."""

    abs_max: float | None
    """ Largest absolute value of the finite elements. """
    dtype: str
    """ Element type, such as float32. """
    elements: int
    """ Number of elements. """
    histogram: Histogram
    """ How many finite elements lie between one edge and the next; the last bin includes its upper edge. """
    inf: int
    """ Number of infinite elements. """
    max_: float | None
    """ The largest element that is not NaN. """
    mean: float | None
    """ Of all elements. """
    min_: float | None
    """ The smallest element that is not NaN. """
    nan: int
    """ Number of NaN elements. """
    nonfinite: GradientStatisticsNonfinite
    """ Those of the numbers above that are nan, inf or -inf. """
    norm: float | None
    """ The root of the sum of squares of all elements. """
    parameter: str
    """ Name of the parameter. """
    shape: list[int]
    """ Extents of the axes. """
    step: int
    """ Number of optimizer steps. """
    zeros: int
    """ Number of elements that are zero. """
    object_: Literal["gradient_statistics"] | Unset = "gradient_statistics"
    """ Type of the object. """
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        abs_max: float | None
        abs_max = self.abs_max

        dtype = self.dtype

        elements = self.elements

        histogram = self.histogram.to_dict()

        inf = self.inf

        max_: float | None
        max_ = self.max_

        mean: float | None
        mean = self.mean

        min_: float | None
        min_ = self.min_

        nan = self.nan

        nonfinite = self.nonfinite.to_dict()

        norm: float | None
        norm = self.norm

        parameter = self.parameter

        shape = self.shape

        step = self.step

        zeros = self.zeros

        object_ = self.object_

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update(
            {
                "abs_max": abs_max,
                "dtype": dtype,
                "elements": elements,
                "histogram": histogram,
                "inf": inf,
                "max": max_,
                "mean": mean,
                "min": min_,
                "nan": nan,
                "nonfinite": nonfinite,
                "norm": norm,
                "parameter": parameter,
                "shape": shape,
                "step": step,
                "zeros": zeros,
            }
        )
        if object_ is not UNSET:
            field_dict["object"] = object_

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        from ..models.gradient_statistics_nonfinite import GradientStatisticsNonfinite  # noqa: PLC0415
        from ..models.histogram import Histogram  # noqa: PLC0415

        d = dict(src_dict)

        def _parse_abs_max(data: object) -> float | None:
            if data is None:
                return data
            return cast(float | None, data)

        abs_max = _parse_abs_max(d.pop("abs_max"))

        dtype = d.pop("dtype")

        elements = d.pop("elements")

        histogram = Histogram.from_dict(d.pop("histogram"))

        inf = d.pop("inf")

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

        nan = d.pop("nan")

        nonfinite = GradientStatisticsNonfinite.from_dict(d.pop("nonfinite"))

        def _parse_norm(data: object) -> float | None:
            if data is None:
                return data
            return cast(float | None, data)

        norm = _parse_norm(d.pop("norm"))

        parameter = d.pop("parameter")

        shape = cast(list[int], d.pop("shape"))

        step = d.pop("step")

        zeros = d.pop("zeros")

        object_ = cast(Literal["gradient_statistics"] | Unset, d.pop("object", UNSET))
        if object_ != "gradient_statistics" and not isinstance(object_, Unset):
            raise ValueError(f"object must match const 'gradient_statistics', got '{object_}'")

        gradient_statistics = cls(
            abs_max=abs_max,
            dtype=dtype,
            elements=elements,
            histogram=histogram,
            inf=inf,
            max_=max_,
            mean=mean,
            min_=min_,
            nan=nan,
            nonfinite=nonfinite,
            norm=norm,
            parameter=parameter,
            shape=shape,
            step=step,
            zeros=zeros,
            object_=object_,
        )

        gradient_statistics.additional_properties = d
        return gradient_statistics

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
