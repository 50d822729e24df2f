from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeVar, cast

from attrs import define as _attrs_define
from attrs import field as _attrs_field

if TYPE_CHECKING:
    from ..models.blas import Blas
    from ..models.cores import Cores
    from ..models.limits import Limits
    from ..models.queue_counts import QueueCounts
    from ..models.recovery import Recovery
    from ..models.system_overview_fingerprint import SystemOverviewFingerprint
    from ..models.worker import Worker


T = TypeVar("T", bound="SystemOverview")


@_attrs_define
class SystemOverview:
    """Versions, space, queue, workers and limits."""

    blas: Blas
    """ The linear algebra library that NumPy uses. """
    cores: Cores
    """ The cores that fits can work on. """
    data_dir_free_bytes: int
    """ Free space on the disk of the data directory, in bytes. """
    executors: list[str]
    """ What can compute fits, the fastest last. """
    fingerprint: SystemOverviewFingerprint
    """ What the bits of computed numbers depend on: library versions, CPU features. """
    limits: Limits
    """ What this server takes at most. """
    numpy: str
    """ Version of NumPy. """
    python: str
    """ Version of Python. """
    quarantine_bytes: int
    """ What stored files take that nothing refers to, until they are deleted. """
    queue: QueueCounts
    """ How many fits wait, and how many are worked on. """
    recovery: None | Recovery
    """ What the server recovered when it started. """
    stored_bytes: int
    """ What datasets and checkpoints take. """
    version: str
    """ Version of the server. """
    workers: list[Worker]
    """ Worker processes. """
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        from ..models.recovery import Recovery  # noqa: PLC0415

        blas = self.blas.to_dict()

        cores = self.cores.to_dict()

        data_dir_free_bytes = self.data_dir_free_bytes

        executors = self.executors

        fingerprint = self.fingerprint.to_dict()

        limits = self.limits.to_dict()

        numpy = self.numpy

        python = self.python

        quarantine_bytes = self.quarantine_bytes

        queue = self.queue.to_dict()

        recovery: dict[str, Any] | None
        if isinstance(self.recovery, Recovery):
            recovery = self.recovery.to_dict()
        else:
            recovery = self.recovery

        stored_bytes = self.stored_bytes

        version = self.version

        workers = []
        for workers_item_data in self.workers:
            workers_item = workers_item_data.to_dict()
            workers.append(workers_item)

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update(
            {
                "blas": blas,
                "cores": cores,
                "data_dir_free_bytes": data_dir_free_bytes,
                "executors": executors,
                "fingerprint": fingerprint,
                "limits": limits,
                "numpy": numpy,
                "python": python,
                "quarantine_bytes": quarantine_bytes,
                "queue": queue,
                "recovery": recovery,
                "stored_bytes": stored_bytes,
                "version": version,
                "workers": workers,
            }
        )

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        from ..models.blas import Blas  # noqa: PLC0415
        from ..models.cores import Cores  # noqa: PLC0415
        from ..models.limits import Limits  # noqa: PLC0415
        from ..models.queue_counts import QueueCounts  # noqa: PLC0415
        from ..models.recovery import Recovery  # noqa: PLC0415
        from ..models.system_overview_fingerprint import SystemOverviewFingerprint  # noqa: PLC0415
        from ..models.worker import Worker  # noqa: PLC0415

        d = dict(src_dict)
        blas = Blas.from_dict(d.pop("blas"))

        cores = Cores.from_dict(d.pop("cores"))

        data_dir_free_bytes = d.pop("data_dir_free_bytes")

        executors = cast(list[str], d.pop("executors"))

        fingerprint = SystemOverviewFingerprint.from_dict(d.pop("fingerprint"))

        limits = Limits.from_dict(d.pop("limits"))

        numpy = d.pop("numpy")

        python = d.pop("python")

        quarantine_bytes = d.pop("quarantine_bytes")

        queue = QueueCounts.from_dict(d.pop("queue"))

        def _parse_recovery(data: object) -> None | Recovery:
            if data is None:
                return data
            try:
                if not isinstance(data, dict):
                    raise TypeError()
                recovery_type_0 = Recovery.from_dict(data)

                return recovery_type_0
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            return cast(None | Recovery, data)

        recovery = _parse_recovery(d.pop("recovery"))

        stored_bytes = d.pop("stored_bytes")

        version = d.pop("version")

        workers = []
        _workers = d.pop("workers")
        for workers_item_data in _workers:
            workers_item = Worker.from_dict(workers_item_data)

            workers.append(workers_item)

        system_overview = cls(
            blas=blas,
            cores=cores,
            data_dir_free_bytes=data_dir_free_bytes,
            executors=executors,
            fingerprint=fingerprint,
            limits=limits,
            numpy=numpy,
            python=python,
            quarantine_bytes=quarantine_bytes,
            queue=queue,
            recovery=recovery,
            stored_bytes=stored_bytes,
            version=version,
            workers=workers,
        )

        system_overview.additional_properties = d
        return system_overview

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
