from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeVar

from attrs import define as _attrs_define

if TYPE_CHECKING:
    from ..models.bundle_column import BundleColumn


T = TypeVar("T", bound="BundleDataset")


@_attrs_define
class BundleDataset:
    """A dataset by its digests; the rows are not in the bundle."""

    columns: list[BundleColumn]
    """ The columns, by name or in order. """
    digest: str
    """ SHA-256 in hexadecimal digits. """
    id: str
    """ Unique id. """
    name: str
    """ Name. """
    rows: int
    """ Number of rows. """

    def to_dict(self) -> dict[str, Any]:
        columns = []
        for columns_item_data in self.columns:
            columns_item = columns_item_data.to_dict()
            columns.append(columns_item)

        digest = self.digest

        id = self.id

        name = self.name

        rows = self.rows

        field_dict: dict[str, Any] = {}

        field_dict.update(
            {
                "columns": columns,
                "digest": digest,
                "id": id,
                "name": name,
                "rows": rows,
            }
        )

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        from ..models.bundle_column import BundleColumn  # noqa: PLC0415

        d = dict(src_dict)
        columns = []
        _columns = d.pop("columns")
        for columns_item_data in _columns:
            columns_item = BundleColumn.from_dict(columns_item_data)

            columns.append(columns_item)

        digest = d.pop("digest")

        id = d.pop("id")

        name = d.pop("name")

        rows = d.pop("rows")

        bundle_dataset = cls(
            columns=columns,
            digest=digest,
            id=id,
            name=name,
            rows=rows,
        )

        return bundle_dataset
