from __future__ import annotations

import datetime
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Literal, TypeVar, cast

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..types import UNSET, Unset

if TYPE_CHECKING:
    from ..models.checkpoint_links import CheckpointLinks
    from ..models.checkpoint_metrics import CheckpointMetrics
    from ..models.checkpoint_nonfinite import CheckpointNonfinite


T = TypeVar("T", bound="Checkpoint")


@_attrs_define
class Checkpoint:
    """A file with everything a fit or a session needs to go on."""

    corrupt: bool
    """ Its file is missing or damaged, until the same bytes are uploaded again. """
    created_at: datetime.datetime
    """ Time of creation, RFC 3339 in UTC. """
    digest: str
    """ SHA-256 of the content. """
    epoch: int
    """ Number of epochs, from 0. """
    fit: None | str
    """ The fit that wrote it, if one did; without a session, it was uploaded. """
    graph: str
    """ The graph, by id or name. """
    id: str
    """ Unique id. """
    is_best: bool
    """ Whether it is the best checkpoint of its fit so far. """
    links: CheckpointLinks
    """ Where to go on from a checkpoint. """
    metrics: CheckpointMetrics
    """ Metrics by name. """
    nonfinite: CheckpointNonfinite
    """ `nan`, `inf` or `-inf` for each value that is null because JSON cannot represent it. """
    pinned: bool
    """ Whether it is kept when newer checkpoints are written. """
    session: None | str
    """ The session that it was saved by, if it was. """
    session_seq: int | None
    """ The step of the session that saved it. """
    size_bytes: int
    """ Size in bytes. """
    step: int
    """ Number of optimizer steps. """
    object_: Literal["checkpoint"] | Unset = "checkpoint"
    """ Type of the object. """
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        corrupt = self.corrupt

        created_at = self.created_at.isoformat()

        digest = self.digest

        epoch = self.epoch

        fit: None | str
        fit = self.fit

        graph = self.graph

        id = self.id

        is_best = self.is_best

        links = self.links.to_dict()

        metrics = self.metrics.to_dict()

        nonfinite = self.nonfinite.to_dict()

        pinned = self.pinned

        session: None | str
        session = self.session

        session_seq: int | None
        session_seq = self.session_seq

        size_bytes = self.size_bytes

        step = self.step

        object_ = self.object_

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update(
            {
                "corrupt": corrupt,
                "created_at": created_at,
                "digest": digest,
                "epoch": epoch,
                "fit": fit,
                "graph": graph,
                "id": id,
                "is_best": is_best,
                "links": links,
                "metrics": metrics,
                "nonfinite": nonfinite,
                "pinned": pinned,
                "session": session,
                "session_seq": session_seq,
                "size_bytes": size_bytes,
                "step": step,
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
        corrupt = d.pop("corrupt")

        created_at = datetime.datetime.fromisoformat(d.pop("created_at"))

        digest = d.pop("digest")

        epoch = d.pop("epoch")

        def _parse_fit(data: object) -> None | str:
            if data is None:
                return data
            return cast(None | str, data)

        fit = _parse_fit(d.pop("fit"))

        graph = d.pop("graph")

        id = d.pop("id")

        is_best = d.pop("is_best")

        links = CheckpointLinks.from_dict(d.pop("links"))

        metrics = CheckpointMetrics.from_dict(d.pop("metrics"))

        nonfinite = CheckpointNonfinite.from_dict(d.pop("nonfinite"))

        pinned = d.pop("pinned")

        def _parse_session(data: object) -> None | str:
            if data is None:
                return data
            return cast(None | str, data)

        session = _parse_session(d.pop("session"))

        def _parse_session_seq(data: object) -> int | None:
            if data is None:
                return data
            return cast(int | None, data)

        session_seq = _parse_session_seq(d.pop("session_seq"))

        size_bytes = d.pop("size_bytes")

        step = d.pop("step")

        object_ = cast(Literal["checkpoint"] | Unset, d.pop("object", UNSET))
        if object_ != "checkpoint" and not isinstance(object_, Unset):
            raise ValueError(f"object must match const 'checkpoint', got '{object_}'")

        checkpoint = cls(
            corrupt=corrupt,
            created_at=created_at,
            digest=digest,
            epoch=epoch,
            fit=fit,
            graph=graph,
            id=id,
            is_best=is_best,
            links=links,
            metrics=metrics,
            nonfinite=nonfinite,
            pinned=pinned,
            session=session,
            session_seq=session_seq,
            size_bytes=size_bytes,
            step=step,
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
