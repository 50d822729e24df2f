from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar, cast

from attrs import define as _attrs_define

T = TypeVar("T", bound="BundleColumn")


@_attrs_define
class BundleColumn:
    """A column of a dataset; shape leaves out the rows, digest is that of its .npy file."""

    digest: str
    """ SHA-256 in hexadecimal digits. """
    dtype: str
    name: str
    shape: list[int]

    def to_dict(self) -> dict[str, Any]:
        digest = self.digest

        dtype = self.dtype

        name = self.name

        shape = self.shape

        field_dict: dict[str, Any] = {}

        field_dict.update(
            {
                "digest": digest,
                "dtype": dtype,
                "name": name,
                "shape": shape,
            }
        )

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        d = dict(src_dict)
        digest = d.pop("digest")

        dtype = d.pop("dtype")

        name = d.pop("name")

        shape = cast(list[int], d.pop("shape"))

        bundle_column = cls(
            digest=digest,
            dtype=dtype,
            name=name,
            shape=shape,
        )

        return bundle_column
