from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeVar, cast

from attrs import define as _attrs_define

if TYPE_CHECKING:
    from ..models.bundle_fit_labels import BundleFitLabels


T = TypeVar("T", bound="BundleFit")


@_attrs_define
class BundleFit:
    """Which fit it was."""

    created_at: str
    """ Time of creation, RFC 3339 in UTC. """
    finished_at: None | str
    """ Time at which it ended, RFC 3339 in UTC; null before that. """
    id: str
    """ Unique id. """
    labels: BundleFitLabels
    """ Labels: keys with values, for filtering lists. """
    started_at: None | str
    """ Time at which it started, RFC 3339 in UTC; null before that. """

    def to_dict(self) -> dict[str, Any]:
        created_at = self.created_at

        finished_at: None | str
        finished_at = self.finished_at

        id = self.id

        labels = self.labels.to_dict()

        started_at: None | str
        started_at = self.started_at

        field_dict: dict[str, Any] = {}

        field_dict.update(
            {
                "created_at": created_at,
                "finished_at": finished_at,
                "id": id,
                "labels": labels,
                "started_at": started_at,
            }
        )

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        from ..models.bundle_fit_labels import BundleFitLabels  # noqa: PLC0415

        d = dict(src_dict)
        created_at = d.pop("created_at")

        def _parse_finished_at(data: object) -> None | str:
            if data is None:
                return data
            return cast(None | str, data)

        finished_at = _parse_finished_at(d.pop("finished_at"))

        id = d.pop("id")

        labels = BundleFitLabels.from_dict(d.pop("labels"))

        def _parse_started_at(data: object) -> None | str:
            if data is None:
                return data
            return cast(None | str, data)

        started_at = _parse_started_at(d.pop("started_at"))

        bundle_fit = cls(
            created_at=created_at,
            finished_at=finished_at,
            id=id,
            labels=labels,
            started_at=started_at,
        )

        return bundle_fit
