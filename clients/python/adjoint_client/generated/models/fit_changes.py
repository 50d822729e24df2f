from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeVar

from attrs import define as _attrs_define

if TYPE_CHECKING:
    from ..models.fit_changes_labels import FitChangesLabels


T = TypeVar("T", bound="FitChanges")


@_attrs_define
class FitChanges:
    """Changes to a fit: labels to set, and null for those to remove."""

    labels: FitChangesLabels

    def to_dict(self) -> dict[str, Any]:
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
