from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeVar

from attrs import define as _attrs_define

from ..types import UNSET, Unset

if TYPE_CHECKING:
    from ..models.batched_step import BatchedStep


T = TypeVar("T", bound="BatchRequest")


@_attrs_define
class BatchRequest:
    """Several steps, carried out one after the other."""

    steps: list[BatchedStep]
    """ The steps, in order. """
    stop_on_error: bool | Unset = True
    """ Whether the steps after one that fails are left out. """

    def to_dict(self) -> dict[str, Any]:
        steps = []
        for steps_item_data in self.steps:
            steps_item = steps_item_data.to_dict()
            steps.append(steps_item)

        stop_on_error = self.stop_on_error

        field_dict: dict[str, Any] = {}

        field_dict.update(
            {
                "steps": steps,
            }
        )
        if stop_on_error is not UNSET:
            field_dict["stop_on_error"] = stop_on_error

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        from ..models.batched_step import BatchedStep  # noqa: PLC0415

        d = dict(src_dict)
        steps = []
        _steps = d.pop("steps")
        for steps_item_data in _steps:
            steps_item = BatchedStep.from_dict(steps_item_data)

            steps.append(steps_item)

        stop_on_error = d.pop("stop_on_error", UNSET)

        batch_request = cls(
            steps=steps,
            stop_on_error=stop_on_error,
        )

        return batch_request
