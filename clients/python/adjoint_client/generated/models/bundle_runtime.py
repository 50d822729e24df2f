from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeVar

from attrs import define as _attrs_define

if TYPE_CHECKING:
    from ..models.bundle_runtime_fingerprint import BundleRuntimeFingerprint


T = TypeVar("T", bound="BundleRuntime")


@_attrs_define
class BundleRuntime:
    """What the fit ran with."""

    executor: str
    """ Executor: numpy or native. """
    fingerprint: BundleRuntimeFingerprint
    """ What the bits of its numbers depend on. """
    threads: int
    """ Number of threads. """

    def to_dict(self) -> dict[str, Any]:
        executor = self.executor

        fingerprint = self.fingerprint.to_dict()

        threads = self.threads

        field_dict: dict[str, Any] = {}

        field_dict.update(
            {
                "executor": executor,
                "fingerprint": fingerprint,
                "threads": threads,
            }
        )

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        from ..models.bundle_runtime_fingerprint import BundleRuntimeFingerprint  # noqa: PLC0415

        d = dict(src_dict)
        executor = d.pop("executor")

        fingerprint = BundleRuntimeFingerprint.from_dict(d.pop("fingerprint"))

        threads = d.pop("threads")

        bundle_runtime = cls(
            executor=executor,
            fingerprint=fingerprint,
            threads=threads,
        )

        return bundle_runtime
