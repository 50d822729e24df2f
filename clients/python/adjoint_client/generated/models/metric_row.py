from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeVar

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..models.metric_row_split import MetricRowSplit, check_metric_row_split

if TYPE_CHECKING:
    from ..models.metric_row_nonfinite import MetricRowNonfinite
    from ..models.metric_row_values import MetricRowValues


T = TypeVar("T", bound="MetricRow")


@_attrs_define
class MetricRow:
    """One row of a fit's curve; seq is gap-free from 1, and a row never changes."""

    epoch: int
    """ Number of epochs, from 0. """
    nonfinite: MetricRowNonfinite
    """ `nan`, `inf` or `-inf` for each value that is null because JSON cannot represent it. """
    seq: int
    """ Position in the sequence, from 1. """
    split: MetricRowSplit
    """ Whether the row is of training or of validation. """
    step: int
    """ Number of optimizer steps. """
    values: MetricRowValues
    """ Values of the metrics by name; null for one that is not finite. """
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        epoch = self.epoch

        nonfinite = self.nonfinite.to_dict()

        seq = self.seq

        split: str = self.split

        step = self.step

        values = self.values.to_dict()

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update(
            {
                "epoch": epoch,
                "nonfinite": nonfinite,
                "seq": seq,
                "split": split,
                "step": step,
                "values": values,
            }
        )

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        from ..models.metric_row_nonfinite import MetricRowNonfinite  # noqa: PLC0415
        from ..models.metric_row_values import MetricRowValues  # noqa: PLC0415

        d = dict(src_dict)
        epoch = d.pop("epoch")

        nonfinite = MetricRowNonfinite.from_dict(d.pop("nonfinite"))

        seq = d.pop("seq")

        split = check_metric_row_split(d.pop("split"))

        step = d.pop("step")

        values = MetricRowValues.from_dict(d.pop("values"))

        metric_row = cls(
            epoch=epoch,
            nonfinite=nonfinite,
            seq=seq,
            split=split,
            step=step,
            values=values,
        )

        metric_row.additional_properties = d
        return metric_row

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
