from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar, cast

from attrs import define as _attrs_define

from ..models.early_stopping_choice_mode_type_0 import (
    EarlyStoppingChoiceModeType0,
    check_early_stopping_choice_mode_type_0,
)
from ..types import UNSET, Unset

T = TypeVar("T", bound="EarlyStoppingChoice")


@_attrs_define
class EarlyStoppingChoice:
    """The end of a fit whose metric no longer improves."""

    first_epoch: int | None | Unset = UNSET
    """ Evaluations before it do not count; default 1. """
    min_delta: float | None | Unset = UNSET
    """ What counts as no improvement, at least 0; default 0.0. """
    mode: EarlyStoppingChoiceModeType0 | None | Unset = UNSET
    """ Which is better; by default as the metric. """
    monitor: None | str | Unset = UNSET
    """ loss, val_loss, or a metric as val_accuracy; val_loss where there is a validation. """
    patience: int | None | Unset = UNSET
    """ Evaluations in a row without improvement that end the fit, at least 0; default 5. """
    restore_best: bool | None | Unset = UNSET
    """ Whether the best parameters are put back at the end; default true. """

    def to_dict(self) -> dict[str, Any]:
        first_epoch: int | None | Unset
        if isinstance(self.first_epoch, Unset):
            first_epoch = UNSET
        else:
            first_epoch = self.first_epoch

        min_delta: float | None | Unset
        if isinstance(self.min_delta, Unset):
            min_delta = UNSET
        else:
            min_delta = self.min_delta

        mode: None | str | Unset
        if isinstance(self.mode, Unset):
            mode = UNSET
        elif isinstance(self.mode, str):
            mode = self.mode
        else:
            mode = self.mode

        monitor: None | str | Unset
        if isinstance(self.monitor, Unset):
            monitor = UNSET
        else:
            monitor = self.monitor

        patience: int | None | Unset
        if isinstance(self.patience, Unset):
            patience = UNSET
        else:
            patience = self.patience

        restore_best: bool | None | Unset
        if isinstance(self.restore_best, Unset):
            restore_best = UNSET
        else:
            restore_best = self.restore_best

        field_dict: dict[str, Any] = {}

        field_dict.update({})
        if first_epoch is not UNSET:
            field_dict["first_epoch"] = first_epoch
        if min_delta is not UNSET:
            field_dict["min_delta"] = min_delta
        if mode is not UNSET:
            field_dict["mode"] = mode
        if monitor is not UNSET:
            field_dict["monitor"] = monitor
        if patience is not UNSET:
            field_dict["patience"] = patience
        if restore_best is not UNSET:
            field_dict["restore_best"] = restore_best

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        d = dict(src_dict)

        def _parse_first_epoch(data: object) -> int | None | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(int | None | Unset, data)

        first_epoch = _parse_first_epoch(d.pop("first_epoch", UNSET))

        def _parse_min_delta(data: object) -> float | None | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(float | None | Unset, data)

        min_delta = _parse_min_delta(d.pop("min_delta", UNSET))

        def _parse_mode(data: object) -> EarlyStoppingChoiceModeType0 | None | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            try:
                if not isinstance(data, str):
                    raise TypeError()
                mode_type_0 = check_early_stopping_choice_mode_type_0(data)

                return mode_type_0
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            return cast(EarlyStoppingChoiceModeType0 | None | Unset, data)

        mode = _parse_mode(d.pop("mode", UNSET))

        def _parse_monitor(data: object) -> None | str | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(None | str | Unset, data)

        monitor = _parse_monitor(d.pop("monitor", UNSET))

        def _parse_patience(data: object) -> int | None | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(int | None | Unset, data)

        patience = _parse_patience(d.pop("patience", UNSET))

        def _parse_restore_best(data: object) -> bool | None | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(bool | None | Unset, data)

        restore_best = _parse_restore_best(d.pop("restore_best", UNSET))

        early_stopping_choice = cls(
            first_epoch=first_epoch,
            min_delta=min_delta,
            mode=mode,
            monitor=monitor,
            patience=patience,
            restore_best=restore_best,
        )

        return early_stopping_choice
