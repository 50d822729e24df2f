from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar, BinaryIO, TextIO, TYPE_CHECKING, Generator

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..types import UNSET, Unset

from ..models.metric_row_split import check_metric_row_split
from ..models.metric_row_split import MetricRowSplit
from typing import cast

if TYPE_CHECKING:
    from ..models.metric_row_nonfinite import MetricRowNonfinite
    from ..models.metric_row_values import MetricRowValues


T = TypeVar("T", bound="MetricRow")


@_attrs_define
class MetricRow:
    """One row of a fit's curve; seq is gap-free from 1, and a row never changes."""

    seq: int
    step: int
    epoch: int
    split: MetricRowSplit
    values: MetricRowValues
    nonfinite: MetricRowNonfinite
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        from ..models.metric_row_nonfinite import MetricRowNonfinite  # noqa: PLC0415
        from ..models.metric_row_values import MetricRowValues  # noqa: PLC0415

        seq = self.seq

        step = self.step

        epoch = self.epoch

        split: str = self.split

        values = self.values.to_dict()

        nonfinite = self.nonfinite.to_dict()

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update(
            {
                "seq": seq,
                "step": step,
                "epoch": epoch,
                "split": split,
                "values": values,
                "nonfinite": nonfinite,
            }
        )

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        from ..models.metric_row_nonfinite import MetricRowNonfinite  # noqa: PLC0415
        from ..models.metric_row_values import MetricRowValues  # noqa: PLC0415

        d = dict(src_dict)
        seq = d.pop("seq")

        step = d.pop("step")

        epoch = d.pop("epoch")

        split = check_metric_row_split(d.pop("split"))

        values = MetricRowValues.from_dict(d.pop("values"))

        nonfinite = MetricRowNonfinite.from_dict(d.pop("nonfinite"))

        metric_row = cls(
            seq=seq,
            step=step,
            epoch=epoch,
            split=split,
            values=values,
            nonfinite=nonfinite,
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
