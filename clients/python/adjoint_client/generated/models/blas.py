from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar

from attrs import define as _attrs_define
from attrs import field as _attrs_field

T = TypeVar("T", bound="Blas")


@_attrs_define
class Blas:
    """The linear algebra library that NumPy uses."""

    core_type: str
    """ CPU type that the library selected. """
    library: str
    """ Name of the BLAS library. """
    threads: str
    """ Number of threads. """
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        core_type = self.core_type

        library = self.library

        threads = self.threads

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update(
            {
                "core_type": core_type,
                "library": library,
                "threads": threads,
            }
        )

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        d = dict(src_dict)
        core_type = d.pop("core_type")

        library = d.pop("library")

        threads = d.pop("threads")

        blas = cls(
            core_type=core_type,
            library=library,
            threads=threads,
        )

        blas.additional_properties = d
        return blas

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
