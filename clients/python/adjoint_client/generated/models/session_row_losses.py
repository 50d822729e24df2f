from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeVar, cast

from attrs import define as _attrs_define
from attrs import field as _attrs_field

if TYPE_CHECKING:
    from ..models.row_loss import RowLoss
    from ..models.session_row_losses_nonfinite import SessionRowLossesNonfinite


T = TypeVar("T", bound="SessionRowLosses")


@_attrs_define
class SessionRowLosses:
    """The loss of each row of a batch by itself, in evaluation mode."""

    losses: list[float | None]
    """ By row; null for one that is not finite. """
    nonfinite: SessionRowLossesNonfinite
    """ Row: nan, inf or -inf, for every null in losses. """
    seq: int | None
    """ The place that the step took; null for one that only reads. """
    top: list[RowLoss]
    """ The rows that spike: those that are not finite, then the largest losses. """
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        losses = []
        for losses_item_data in self.losses:
            losses_item: float | None
            losses_item = losses_item_data
            losses.append(losses_item)

        nonfinite = self.nonfinite.to_dict()

        seq: int | None
        seq = self.seq

        top = []
        for top_item_data in self.top:
            top_item = top_item_data.to_dict()
            top.append(top_item)

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update(
            {
                "losses": losses,
                "nonfinite": nonfinite,
                "seq": seq,
                "top": top,
            }
        )

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        from ..models.row_loss import RowLoss  # noqa: PLC0415
        from ..models.session_row_losses_nonfinite import SessionRowLossesNonfinite  # noqa: PLC0415

        d = dict(src_dict)
        losses = []
        _losses = d.pop("losses")
        for losses_item_data in _losses:

            def _parse_losses_item(data: object) -> float | None:
                if data is None:
                    return data
                return cast(float | None, data)

            losses_item = _parse_losses_item(losses_item_data)

            losses.append(losses_item)

        nonfinite = SessionRowLossesNonfinite.from_dict(d.pop("nonfinite"))

        def _parse_seq(data: object) -> int | None:
            if data is None:
                return data
            return cast(int | None, data)

        seq = _parse_seq(d.pop("seq"))

        top = []
        _top = d.pop("top")
        for top_item_data in _top:
            top_item = RowLoss.from_dict(top_item_data)

            top.append(top_item)

        session_row_losses = cls(
            losses=losses,
            nonfinite=nonfinite,
            seq=seq,
            top=top,
        )

        session_row_losses.additional_properties = d
        return session_row_losses

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
