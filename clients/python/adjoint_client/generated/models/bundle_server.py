from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar

from attrs import define as _attrs_define

T = TypeVar("T", bound="BundleServer")


@_attrs_define
class BundleServer:
    """What made the bundle."""

    numpy: str
    """ Version of NumPy. """
    python: str
    """ Version of Python. """
    version: str
    """ Version of the server. """

    def to_dict(self) -> dict[str, Any]:
        numpy = self.numpy

        python = self.python

        version = self.version

        field_dict: dict[str, Any] = {}

        field_dict.update(
            {
                "numpy": numpy,
                "python": python,
                "version": version,
            }
        )

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        d = dict(src_dict)
        numpy = d.pop("numpy")

        python = d.pop("python")

        version = d.pop("version")

        bundle_server = cls(
            numpy=numpy,
            python=python,
            version=version,
        )

        return bundle_server
