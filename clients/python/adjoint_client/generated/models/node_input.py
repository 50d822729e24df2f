from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeVar, cast

from attrs import define as _attrs_define
from attrs import field as _attrs_field

if TYPE_CHECKING:
    from ..models.node_input_nonfinite import NodeInputNonfinite


T = TypeVar("T", bound="NodeInput")


@_attrs_define
class NodeInput:
    """What a node was given."""

    dtype: str
    """ Element type, such as float32. """
    inf: int
    """ Number of infinite elements. """
    max_: float | None
    """ The largest element that is not NaN. """
    min_: float | None
    """ The smallest element that is not NaN. """
    name: str
    """ Name. """
    nan: int
    """ Number of NaN elements. """
    nonfinite: NodeInputNonfinite
    """ Those of the numbers above that are inf or -inf. """
    shape: list[int]
    """ Extents of the axes. """
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        dtype = self.dtype

        inf = self.inf

        max_: float | None
        max_ = self.max_

        min_: float | None
        min_ = self.min_

        name = self.name

        nan = self.nan

        nonfinite = self.nonfinite.to_dict()

        shape = self.shape

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update(
            {
                "dtype": dtype,
                "inf": inf,
                "max": max_,
                "min": min_,
                "name": name,
                "nan": nan,
                "nonfinite": nonfinite,
                "shape": shape,
            }
        )

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        from ..models.node_input_nonfinite import NodeInputNonfinite  # noqa: PLC0415

        d = dict(src_dict)
        dtype = d.pop("dtype")

        inf = d.pop("inf")

        def _parse_max_(data: object) -> float | None:
            if data is None:
                return data
            return cast(float | None, data)

        max_ = _parse_max_(d.pop("max"))

        def _parse_min_(data: object) -> float | None:
            if data is None:
                return data
            return cast(float | None, data)

        min_ = _parse_min_(d.pop("min"))

        name = d.pop("name")

        nan = d.pop("nan")

        nonfinite = NodeInputNonfinite.from_dict(d.pop("nonfinite"))

        shape = cast(list[int], d.pop("shape"))

        node_input = cls(
            dtype=dtype,
            inf=inf,
            max_=max_,
            min_=min_,
            name=name,
            nan=nan,
            nonfinite=nonfinite,
            shape=shape,
        )

        node_input.additional_properties = d
        return node_input

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
