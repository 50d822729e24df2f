from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeVar, cast

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..models.sweep_summary_kind import SweepSummaryKind, check_sweep_summary_kind
from ..models.sweep_summary_mode import SweepSummaryMode, check_sweep_summary_mode

if TYPE_CHECKING:
    from ..models.ranked_variant import RankedVariant
    from ..models.sweep_summary_states import SweepSummaryStates


T = TypeVar("T", bound="SweepSummary")


@_attrs_define
class SweepSummary:
    """How the variants of a fit are doing."""

    kind: SweepSummaryKind
    """ Kind, one of the names in the catalogue. """
    mode: SweepSummaryMode
    """ Whether the smallest (min) or largest (max) value is the best. """
    monitor: str
    """ Name of the metric that is compared. """
    ranking: list[RankedVariant]
    """ The best 100 variants, the best first. """
    rungs: list[int]
    """ Steps after which variants are compared; none but for halving. """
    states: SweepSummaryStates
    """ How many variants are in each state that one is in. """
    variants: int
    """ Number of variants. """
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        kind: str = self.kind

        mode: str = self.mode

        monitor = self.monitor

        ranking = []
        for ranking_item_data in self.ranking:
            ranking_item = ranking_item_data.to_dict()
            ranking.append(ranking_item)

        rungs = self.rungs

        states = self.states.to_dict()

        variants = self.variants

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update(
            {
                "kind": kind,
                "mode": mode,
                "monitor": monitor,
                "ranking": ranking,
                "rungs": rungs,
                "states": states,
                "variants": variants,
            }
        )

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        from ..models.ranked_variant import RankedVariant  # noqa: PLC0415
        from ..models.sweep_summary_states import SweepSummaryStates  # noqa: PLC0415

        d = dict(src_dict)
        kind = check_sweep_summary_kind(d.pop("kind"))

        mode = check_sweep_summary_mode(d.pop("mode"))

        monitor = d.pop("monitor")

        ranking = []
        _ranking = d.pop("ranking")
        for ranking_item_data in _ranking:
            ranking_item = RankedVariant.from_dict(ranking_item_data)

            ranking.append(ranking_item)

        rungs = cast(list[int], d.pop("rungs"))

        states = SweepSummaryStates.from_dict(d.pop("states"))

        variants = d.pop("variants")

        sweep_summary = cls(
            kind=kind,
            mode=mode,
            monitor=monitor,
            ranking=ranking,
            rungs=rungs,
            states=states,
            variants=variants,
        )

        sweep_summary.additional_properties = d
        return sweep_summary

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
