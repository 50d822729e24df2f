from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar, cast

from attrs import define as _attrs_define
from attrs import field as _attrs_field

T = TypeVar("T", bound="ReplayVerdict")


@_attrs_define
class ReplayVerdict:
    """Whether the same bits came out."""

    bit_exact: bool
    """ Whether the results are equal bit for bit. """
    differences: list[str]
    """ Of steps, metrics, parameters, buffers, optimizer, what is another. """
    first_row: int | None
    """ The seq of the first metric row that is another, if the fit that was run again is here. """
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        bit_exact = self.bit_exact

        differences = self.differences

        first_row: int | None
        first_row = self.first_row

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update(
            {
                "bit_exact": bit_exact,
                "differences": differences,
                "first_row": first_row,
            }
        )

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        d = dict(src_dict)
        bit_exact = d.pop("bit_exact")

        differences = cast(list[str], d.pop("differences"))

        def _parse_first_row(data: object) -> int | None:
            if data is None:
                return data
            return cast(int | None, data)

        first_row = _parse_first_row(d.pop("first_row"))

        replay_verdict = cls(
            bit_exact=bit_exact,
            differences=differences,
            first_row=first_row,
        )

        replay_verdict.additional_properties = d
        return replay_verdict

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
