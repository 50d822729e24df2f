from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar, BinaryIO, TextIO, TYPE_CHECKING, Generator

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..types import UNSET, Unset

from ..types import UNSET, Unset
from typing import cast
from typing import Literal, cast
import datetime

if TYPE_CHECKING:
    from ..models.checkpoint_links import CheckpointLinks
    from ..models.checkpoint_metrics import CheckpointMetrics
    from ..models.checkpoint_nonfinite import CheckpointNonfinite


T = TypeVar("T", bound="Checkpoint")


@_attrs_define
class Checkpoint:
    """A file with everything a fit needs to go on."""

    id: str
    fit: None | str
    graph: str
    step: int
    epoch: int
    is_best: bool
    metrics: CheckpointMetrics
    nonfinite: CheckpointNonfinite
    digest: str
    """ SHA-256 of the content. """
    size_bytes: int
    created_at: datetime.datetime
    links: CheckpointLinks
    """ Where to go on from a checkpoint. """
    object_: Literal["checkpoint"] | Unset = "checkpoint"
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        from ..models.checkpoint_links import CheckpointLinks  # noqa: PLC0415
        from ..models.checkpoint_metrics import CheckpointMetrics  # noqa: PLC0415
        from ..models.checkpoint_nonfinite import CheckpointNonfinite  # noqa: PLC0415

        id = self.id

        fit: None | str
        fit = self.fit

        graph = self.graph

        step = self.step

        epoch = self.epoch

        is_best = self.is_best

        metrics = self.metrics.to_dict()

        nonfinite = self.nonfinite.to_dict()

        digest = self.digest

        size_bytes = self.size_bytes

        created_at = self.created_at.isoformat()

        links = self.links.to_dict()

        object_ = self.object_

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update(
            {
                "id": id,
                "fit": fit,
                "graph": graph,
                "step": step,
                "epoch": epoch,
                "is_best": is_best,
                "metrics": metrics,
                "nonfinite": nonfinite,
                "digest": digest,
                "size_bytes": size_bytes,
                "created_at": created_at,
                "links": links,
            }
        )
        if object_ is not UNSET:
            field_dict["object"] = object_

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        from ..models.checkpoint_links import CheckpointLinks  # noqa: PLC0415
        from ..models.checkpoint_metrics import CheckpointMetrics  # noqa: PLC0415
        from ..models.checkpoint_nonfinite import CheckpointNonfinite  # noqa: PLC0415

        d = dict(src_dict)
        id = d.pop("id")

        def _parse_fit(data: object) -> None | str:
            if data is None:
                return data
            return cast(None | str, data)

        fit = _parse_fit(d.pop("fit"))

        graph = d.pop("graph")

        step = d.pop("step")

        epoch = d.pop("epoch")

        is_best = d.pop("is_best")

        metrics = CheckpointMetrics.from_dict(d.pop("metrics"))

        nonfinite = CheckpointNonfinite.from_dict(d.pop("nonfinite"))

        digest = d.pop("digest")

        size_bytes = d.pop("size_bytes")

        created_at = datetime.datetime.fromisoformat(d.pop("created_at"))

        links = CheckpointLinks.from_dict(d.pop("links"))

        object_ = cast(Literal["checkpoint"] | Unset, d.pop("object", UNSET))
        if object_ != "checkpoint" and not isinstance(object_, Unset):
            raise ValueError(f"object must match const 'checkpoint', got '{object_}'")

        checkpoint = cls(
            id=id,
            fit=fit,
            graph=graph,
            step=step,
            epoch=epoch,
            is_best=is_best,
            metrics=metrics,
            nonfinite=nonfinite,
            digest=digest,
            size_bytes=size_bytes,
            created_at=created_at,
            links=links,
            object_=object_,
        )

        checkpoint.additional_properties = d
        return checkpoint

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
