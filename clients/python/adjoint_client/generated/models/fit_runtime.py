from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeVar, cast

from attrs import define as _attrs_define
from attrs import field as _attrs_field

if TYPE_CHECKING:
    from ..models.fit_runtime_fingerprint import FitRuntimeFingerprint


T = TypeVar("T", bound="FitRuntime")


@_attrs_define
class FitRuntime:
    """What the fit's last process ran with."""

    affinity: list[int] | None
    """ CPUs that its processes are bound to; null: those of the server. """
    executor: str
    """ Executor: numpy or native. """
    fingerprint: FitRuntimeFingerprint
    """ What the bits of its numbers depend on. """
    niceness: int
    """ How far it stands back behind the server, in steps of nice. """
    threads: int
    """ Threads that work inside a step. """
    threads_requested: int | None
    """ Number of threads that were requested; null if none was. """
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        affinity: list[int] | None
        if isinstance(self.affinity, list):
            affinity = self.affinity

        else:
            affinity = self.affinity

        executor = self.executor

        fingerprint = self.fingerprint.to_dict()

        niceness = self.niceness

        threads = self.threads

        threads_requested: int | None
        threads_requested = self.threads_requested

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update(
            {
                "affinity": affinity,
                "executor": executor,
                "fingerprint": fingerprint,
                "niceness": niceness,
                "threads": threads,
                "threads_requested": threads_requested,
            }
        )

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        from ..models.fit_runtime_fingerprint import FitRuntimeFingerprint  # noqa: PLC0415

        d = dict(src_dict)

        def _parse_affinity(data: object) -> list[int] | None:
            if data is None:
                return data
            try:
                if not isinstance(data, list):
                    raise TypeError()
                affinity_type_0 = cast(list[int], data)

                return affinity_type_0
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            return cast(list[int] | None, data)

        affinity = _parse_affinity(d.pop("affinity"))

        executor = d.pop("executor")

        fingerprint = FitRuntimeFingerprint.from_dict(d.pop("fingerprint"))

        niceness = d.pop("niceness")

        threads = d.pop("threads")

        def _parse_threads_requested(data: object) -> int | None:
            if data is None:
                return data
            return cast(int | None, data)

        threads_requested = _parse_threads_requested(d.pop("threads_requested"))

        fit_runtime = cls(
            affinity=affinity,
            executor=executor,
            fingerprint=fingerprint,
            niceness=niceness,
            threads=threads,
            threads_requested=threads_requested,
        )

        fit_runtime.additional_properties = d
        return fit_runtime

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
