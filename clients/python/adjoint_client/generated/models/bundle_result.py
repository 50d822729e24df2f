from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Literal, TypeVar, cast

from attrs import define as _attrs_define

if TYPE_CHECKING:
    from ..models.bundle_checkpoint import BundleCheckpoint
    from ..models.bundle_metrics import BundleMetrics


T = TypeVar("T", bound="BundleResult")


@_attrs_define
class BundleResult:
    """What the fit came to; its state is that of its last checkpoint."""

    buffers: str
    """ SHA-256 in hexadecimal digits. """
    checkpoint: BundleCheckpoint
    """ The last checkpoint, whose file may differ in what is not compared, such as times. """
    epoch: int
    """ Number of epochs, from 0. """
    metrics: BundleMetrics
    """ The metric rows: how many, and the digest of them as lines of JSON. """
    optimizer: str
    """ SHA-256 in hexadecimal digits. """
    parameters: str
    """ SHA-256 in hexadecimal digits. """
    state: Literal["succeeded"]
    """ State. """
    steps: int
    """ The steps, in order. """
    stop_reason: None | str
    """ Why it ended before its last step; null if it did not. """
    total_steps: int
    """ Number of steps when it is complete. """

    def to_dict(self) -> dict[str, Any]:
        buffers = self.buffers

        checkpoint = self.checkpoint.to_dict()

        epoch = self.epoch

        metrics = self.metrics.to_dict()

        optimizer = self.optimizer

        parameters = self.parameters

        state = self.state

        steps = self.steps

        stop_reason: None | str
        stop_reason = self.stop_reason

        total_steps = self.total_steps

        field_dict: dict[str, Any] = {}

        field_dict.update(
            {
                "buffers": buffers,
                "checkpoint": checkpoint,
                "epoch": epoch,
                "metrics": metrics,
                "optimizer": optimizer,
                "parameters": parameters,
                "state": state,
                "steps": steps,
                "stop_reason": stop_reason,
                "total_steps": total_steps,
            }
        )

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        from ..models.bundle_checkpoint import BundleCheckpoint  # noqa: PLC0415
        from ..models.bundle_metrics import BundleMetrics  # noqa: PLC0415

        d = dict(src_dict)
        buffers = d.pop("buffers")

        checkpoint = BundleCheckpoint.from_dict(d.pop("checkpoint"))

        epoch = d.pop("epoch")

        metrics = BundleMetrics.from_dict(d.pop("metrics"))

        optimizer = d.pop("optimizer")

        parameters = d.pop("parameters")

        state = cast(Literal["succeeded"], d.pop("state"))
        if state != "succeeded":
            raise ValueError(f"state must match const 'succeeded', got '{state}'")

        steps = d.pop("steps")

        def _parse_stop_reason(data: object) -> None | str:
            if data is None:
                return data
            return cast(None | str, data)

        stop_reason = _parse_stop_reason(d.pop("stop_reason"))

        total_steps = d.pop("total_steps")

        bundle_result = cls(
            buffers=buffers,
            checkpoint=checkpoint,
            epoch=epoch,
            metrics=metrics,
            optimizer=optimizer,
            parameters=parameters,
            state=state,
            steps=steps,
            stop_reason=stop_reason,
            total_steps=total_steps,
        )

        return bundle_result
