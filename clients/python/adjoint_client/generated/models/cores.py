from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar, cast

from attrs import define as _attrs_define
from attrs import field as _attrs_field

T = TypeVar("T", bound="Cores")


@_attrs_define
class Cores:
    """The cores that fits can work on."""

    cpus: list[int]
    """ Numbers of the CPUs that the server may use. """
    quota: float | None
    """ CPUs' time that the container gives; null: without limit. """
    threads_per_fit: int
    """ Threads that work inside a step of a fit that does not say how many. """
    usable: int
    """ Threads that can run at once. """
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        cpus = self.cpus

        quota: float | None
        quota = self.quota

        threads_per_fit = self.threads_per_fit

        usable = self.usable

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update(
            {
                "cpus": cpus,
                "quota": quota,
                "threads_per_fit": threads_per_fit,
                "usable": usable,
            }
        )

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        d = dict(src_dict)
        cpus = cast(list[int], d.pop("cpus"))

        def _parse_quota(data: object) -> float | None:
            if data is None:
                return data
            return cast(float | None, data)

        quota = _parse_quota(d.pop("quota"))

        threads_per_fit = d.pop("threads_per_fit")

        usable = d.pop("usable")

        cores = cls(
            cpus=cpus,
            quota=quota,
            threads_per_fit=threads_per_fit,
            usable=usable,
        )

        cores.additional_properties = d
        return cores

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
