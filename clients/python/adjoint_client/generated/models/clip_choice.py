from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar, cast

from attrs import define as _attrs_define

from ..types import UNSET, Unset

T = TypeVar("T", bound="ClipChoice")


@_attrs_define
class ClipChoice:
    """Limits on gradients: their global norm, or each element."""

    norm: float | None | Unset = UNSET
    value: float | None | Unset = UNSET

    def to_dict(self) -> dict[str, Any]:
        norm: float | None | Unset
        if isinstance(self.norm, Unset):
            norm = UNSET
        else:
            norm = self.norm

        value: float | None | Unset
        if isinstance(self.value, Unset):
            value = UNSET
        else:
            value = self.value

        field_dict: dict[str, Any] = {}

        field_dict.update({})
        if norm is not UNSET:
            field_dict["norm"] = norm
        if value is not UNSET:
            field_dict["value"] = value

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        d = dict(src_dict)

        def _parse_norm(data: object) -> float | None | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(float | None | Unset, data)

        norm = _parse_norm(d.pop("norm", UNSET))

        def _parse_value(data: object) -> float | None | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(float | None | Unset, data)

        value = _parse_value(d.pop("value", UNSET))

        clip_choice = cls(
            norm=norm,
            value=value,
        )

        return clip_choice
