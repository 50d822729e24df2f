from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar, cast

from attrs import define as _attrs_define
from attrs import field as _attrs_field

T = TypeVar("T", bound="RowLoss")


@_attrs_define
class RowLoss:
    """The loss of a row; one that is not finite is null and named."""

    loss: float | None
    """ The loss. """
    nonfinite: None | str
    """ `nan`, `inf` or `-inf` for each value that is null because JSON cannot represent it. """
    row: int
    """ Index of the row, from 0. """
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        loss: float | None
        loss = self.loss

        nonfinite: None | str
        nonfinite = self.nonfinite

        row = self.row

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update(
            {
                "loss": loss,
                "nonfinite": nonfinite,
                "row": row,
            }
        )

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        d = dict(src_dict)

        def _parse_loss(data: object) -> float | None:
            if data is None:
                return data
            return cast(float | None, data)

        loss = _parse_loss(d.pop("loss"))

        def _parse_nonfinite(data: object) -> None | str:
            if data is None:
                return data
            return cast(None | str, data)

        nonfinite = _parse_nonfinite(d.pop("nonfinite"))

        row = d.pop("row")

        row_loss = cls(
            loss=loss,
            nonfinite=nonfinite,
            row=row,
        )

        row_loss.additional_properties = d
        return row_loss

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
