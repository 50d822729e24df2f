from __future__ import annotations

import datetime
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Literal, TypeVar, cast

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..types import UNSET, Unset

if TYPE_CHECKING:
    from ..models.dataset_column import DatasetColumn


T = TypeVar("T", bound="Dataset")


@_attrs_define
class Dataset:
    """A stored dataset."""

    columns: list[DatasetColumn]
    """ The columns, by name or in order. """
    corrupt: bool
    """ The file of a column, or of the bytes as they came, is missing or damaged, until the same bytes are uploaded
    again. """
    created_at: datetime.datetime
    """ Time of creation, RFC 3339 in UTC. """
    digest: str
    """ SHA-256 of the bytes as they came. """
    format_: str
    """ Format of the file or document. """
    id: str
    """ Unique id. """
    name: str
    """ Name. """
    rows: int
    """ Number of rows. """
    size_bytes: int
    """ Size in bytes. """
    object_: Literal["dataset"] | Unset = "dataset"
    """ Type of the object. """
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        columns = []
        for columns_item_data in self.columns:
            columns_item = columns_item_data.to_dict()
            columns.append(columns_item)

        corrupt = self.corrupt

        created_at = self.created_at.isoformat()

        digest = self.digest

        format_ = self.format_

        id = self.id

        name = self.name

        rows = self.rows

        size_bytes = self.size_bytes

        object_ = self.object_

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update(
            {
                "columns": columns,
                "corrupt": corrupt,
                "created_at": created_at,
                "digest": digest,
                "format": format_,
                "id": id,
                "name": name,
                "rows": rows,
                "size_bytes": size_bytes,
            }
        )
        if object_ is not UNSET:
            field_dict["object"] = object_

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        from ..models.dataset_column import DatasetColumn  # noqa: PLC0415

        d = dict(src_dict)
        columns = []
        _columns = d.pop("columns")
        for columns_item_data in _columns:
            columns_item = DatasetColumn.from_dict(columns_item_data)

            columns.append(columns_item)

        corrupt = d.pop("corrupt")

        created_at = datetime.datetime.fromisoformat(d.pop("created_at"))

        digest = d.pop("digest")

        format_ = d.pop("format")

        id = d.pop("id")

        name = d.pop("name")

        rows = d.pop("rows")

        size_bytes = d.pop("size_bytes")

        object_ = cast(Literal["dataset"] | Unset, d.pop("object", UNSET))
        if object_ != "dataset" and not isinstance(object_, Unset):
            raise ValueError(f"object must match const 'dataset', got '{object_}'")

        dataset = cls(
            columns=columns,
            corrupt=corrupt,
            created_at=created_at,
            digest=digest,
            format_=format_,
            id=id,
            name=name,
            rows=rows,
            size_bytes=size_bytes,
            object_=object_,
        )

        dataset.additional_properties = d
        return dataset

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
