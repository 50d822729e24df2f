from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeVar, cast

from attrs import define as _attrs_define

from ..types import UNSET, Unset

if TYPE_CHECKING:
    from ..models.inline_dataset_columns import InlineDatasetColumns


T = TypeVar("T", bound="InlineDataset")


@_attrs_define
class InlineDataset:
    """Columns by name, each a tensor whose first dimension counts the rows."""

    columns: InlineDatasetColumns
    """ The columns, by name or in order. """
    name: None | str | Unset = UNSET
    """ Name. """

    def to_dict(self) -> dict[str, Any]:
        columns = self.columns.to_dict()

        name: None | str | Unset
        if isinstance(self.name, Unset):
            name = UNSET
        else:
            name = self.name

        field_dict: dict[str, Any] = {}

        field_dict.update(
            {
                "columns": columns,
            }
        )
        if name is not UNSET:
            field_dict["name"] = name

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        from ..models.inline_dataset_columns import InlineDatasetColumns  # noqa: PLC0415

        d = dict(src_dict)
        columns = InlineDatasetColumns.from_dict(d.pop("columns"))

        def _parse_name(data: object) -> None | str | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(None | str | Unset, data)

        name = _parse_name(d.pop("name", UNSET))

        inline_dataset = cls(
            columns=columns,
            name=name,
        )

        return inline_dataset
