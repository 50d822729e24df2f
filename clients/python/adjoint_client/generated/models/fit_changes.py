from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar, BinaryIO, TextIO, TYPE_CHECKING, Generator

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..types import UNSET, Unset

from typing import cast

if TYPE_CHECKING:
    from ..models.fit_changes_labels import FitChangesLabels


T = TypeVar("T", bound="FitChanges")


@_attrs_define
class FitChanges:
    """Changes to a fit: labels to set, and null for those to remove."""

    labels: FitChangesLabels

    def to_dict(self) -> dict[str, Any]:
        from ..models.fit_changes_labels import FitChangesLabels  # noqa: PLC0415

        labels = self.labels.to_dict()

        field_dict: dict[str, Any] = {}

        field_dict.update(
            {
                "labels": labels,
            }
        )

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        from ..models.fit_changes_labels import FitChangesLabels  # noqa: PLC0415

        d = dict(src_dict)
        labels = FitChangesLabels.from_dict(d.pop("labels"))

        fit_changes = cls(
            labels=labels,
        )

        return fit_changes
