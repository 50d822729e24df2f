from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar, cast

from attrs import define as _attrs_define

from ..types import UNSET, Unset

T = TypeVar("T", bound="BundleColumn")


@_attrs_define
class BundleColumn:
    """A column of a dataset; shape leaves out the rows, digest is that of its .npy file."""

    digest: str
    """ SHA-256 in hexadecimal digits. """
    dtype: str
    """ Element type, such as float32. """
    name: str
    """ Name. """
    shape: list[int]
    """ Extents of the axes. """
    classes: list[str] | None | Unset = UNSET
    """ The texts that the numbers of a text column stand for, in their order. """

    def to_dict(self) -> dict[str, Any]:
        digest = self.digest

        dtype = self.dtype

        name = self.name

        shape = self.shape

        classes: list[str] | None | Unset
        if isinstance(self.classes, Unset):
            classes = UNSET
        elif isinstance(self.classes, list):
            classes = self.classes

        else:
            classes = self.classes

        field_dict: dict[str, Any] = {}

        field_dict.update(
            {
                "digest": digest,
                "dtype": dtype,
                "name": name,
                "shape": shape,
            }
        )
        if classes is not UNSET:
            field_dict["classes"] = classes

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        d = dict(src_dict)
        digest = d.pop("digest")

        dtype = d.pop("dtype")

        name = d.pop("name")

        shape = cast(list[int], d.pop("shape"))

        def _parse_classes(data: object) -> list[str] | None | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            try:
                if not isinstance(data, list):
                    raise TypeError()
                classes_type_0 = cast(list[str], data)

                return classes_type_0
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            return cast(list[str] | None | Unset, data)

        classes = _parse_classes(d.pop("classes", UNSET))

        bundle_column = cls(
            digest=digest,
            dtype=dtype,
            name=name,
            shape=shape,
            classes=classes,
        )

        return bundle_column
