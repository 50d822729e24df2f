from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeVar, cast

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..types import UNSET, Unset

if TYPE_CHECKING:
    from ..models.tensor_summary_nonfinite import TensorSummaryNonfinite


T = TypeVar("T", bound="TensorSummary")


@_attrs_define
class TensorSummary:
    """An array of a session without its numbers."""

    dtype: str
    """ Element type, such as float32. """
    name: str
    """ Name. """
    norm: float | None
    """ The root of the sum of squares; null: there is no such gradient. """
    shape: list[int]
    """ Extents of the axes. """
    nonfinite: TensorSummaryNonfinite | Unset = UNSET
    """ Numbers that are null because they are not finite, by their path: nan, inf or -inf. """
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        dtype = self.dtype

        name = self.name

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
                "name": name,
                "norm": norm,
                "shape": shape,
            }
        )
        if nonfinite is not UNSET:
            field_dict["nonfinite"] = nonfinite

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        from ..models.tensor_summary_nonfinite import TensorSummaryNonfinite  # noqa: PLC0415

        d = dict(src_dict)
        dtype = d.pop("dtype")

        name = d.pop("name")

        def _parse_norm(data: object) -> float | None:
            if data is None:
                return data
            return cast(float | None, data)

        norm = _parse_norm(d.pop("norm"))

        shape = cast(list[int], d.pop("shape"))

        _nonfinite = d.pop("nonfinite", UNSET)
        nonfinite: TensorSummaryNonfinite | Unset
        if isinstance(_nonfinite, Unset):
            nonfinite = UNSET
        else:
            nonfinite = TensorSummaryNonfinite.from_dict(_nonfinite)

        tensor_summary = cls(
            dtype=dtype,
            name=name,
            norm=norm,
            shape=shape,
            nonfinite=nonfinite,
        )

        tensor_summary.additional_properties = d
        return tensor_summary

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
