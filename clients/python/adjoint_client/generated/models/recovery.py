from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar

from attrs import define as _attrs_define
from attrs import field as _attrs_field

T = TypeVar("T", bound="Recovery")


@_attrs_define
class Recovery:
    """What the server found when it started, and put in order."""

    at: str
    """ Time of the event, RFC 3339 in UTC. """
    attempts_lost: int
    """ Processes that worked on fits and are gone; the fits go on. """
    damaged_checkpoints: int
    """ Checkpoints whose file is missing or has another size. """
    orphan_blobs: int
    """ Files that nothing refers to; they are in quarantine. """
    quarantined: int
    """ Stored files and folders that nothing refers to; kept for some days. """
    returned: int
    """ Stored files and folders that were in quarantine and are referred to again. """
    session_folders: int
    """ Folders of sessions that have ended, deleted; or unknown, in quarantine. """
    staging_folders: int
    """ Folders of processes that are gone; deleted, or in quarantine. """
    temporary_files: int
    """ Unfinished files; deleted. """
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        at = self.at

        attempts_lost = self.attempts_lost

        damaged_checkpoints = self.damaged_checkpoints

        orphan_blobs = self.orphan_blobs

        quarantined = self.quarantined

        returned = self.returned

        session_folders = self.session_folders

        staging_folders = self.staging_folders

        temporary_files = self.temporary_files

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update(
            {
                "at": at,
                "attempts_lost": attempts_lost,
                "damaged_checkpoints": damaged_checkpoints,
                "orphan_blobs": orphan_blobs,
                "quarantined": quarantined,
                "returned": returned,
                "session_folders": session_folders,
                "staging_folders": staging_folders,
                "temporary_files": temporary_files,
            }
        )

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        d = dict(src_dict)
        at = d.pop("at")

        attempts_lost = d.pop("attempts_lost")

        damaged_checkpoints = d.pop("damaged_checkpoints")

        orphan_blobs = d.pop("orphan_blobs")

        quarantined = d.pop("quarantined")

        returned = d.pop("returned")

        session_folders = d.pop("session_folders")

        staging_folders = d.pop("staging_folders")

        temporary_files = d.pop("temporary_files")

        recovery = cls(
            at=at,
            attempts_lost=attempts_lost,
            damaged_checkpoints=damaged_checkpoints,
            orphan_blobs=orphan_blobs,
            quarantined=quarantined,
            returned=returned,
            session_folders=session_folders,
            staging_folders=staging_folders,
            temporary_files=temporary_files,
        )

        recovery.additional_properties = d
        return recovery

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
