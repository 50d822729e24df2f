from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar

from attrs import define as _attrs_define

T = TypeVar("T", bound="BundleMetrics")


@_attrs_define
class BundleMetrics:
    """The metric rows: how many, and the digest of them as lines of JSON."""

    digest: str
    """ SHA-256 in hexadecimal digits. """
    rows: int
    """ Number of rows. """

    def to_dict(self) -> dict[str, Any]:
        digest = self.digest

        rows = self.rows

        field_dict: dict[str, Any] = {}

        field_dict.update(
            {
                "digest": digest,
                "rows": rows,
            }
        )

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        d = dict(src_dict)
        digest = d.pop("digest")

        rows = d.pop("rows")

        bundle_metrics = cls(
            digest=digest,
            rows=rows,
        )

        return bundle_metrics
