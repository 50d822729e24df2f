from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar

from attrs import define as _attrs_define

T = TypeVar("T", bound="BundleCheckpoint")


@_attrs_define
class BundleCheckpoint:
    """The last checkpoint, whose file may differ in what is not compared, such as times."""

    digest: str
    """ SHA-256 in hexadecimal digits. """
    id: str
    """ Unique id. """

    def to_dict(self) -> dict[str, Any]:
        digest = self.digest

        id = self.id

        field_dict: dict[str, Any] = {}

        field_dict.update(
            {
                "digest": digest,
                "id": id,
            }
        )

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        d = dict(src_dict)
        digest = d.pop("digest")

        id = d.pop("id")

        bundle_checkpoint = cls(
            digest=digest,
            id=id,
        )

        return bundle_checkpoint
