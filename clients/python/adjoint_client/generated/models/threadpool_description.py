from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar, cast

from attrs import define as _attrs_define
from attrs import field as _attrs_field

T = TypeVar("T", bound="ThreadpoolDescription")


@_attrs_define
class ThreadpoolDescription:
    """A thread pool."""

    affinity: list[list[int]]
    """ For each thread, the CPUs that it may run on now. """
    cpumask: list[int]
    """ CPUs that the threads may run on. """
    n_threads: int
    """ Number of threads. """
    paused: bool
    """ Whether the pool takes no work. """
    poll: int
    """ How long an idle thread polls for work before it sleeps, 0 to 100. """
    prio: str
    """ Scheduling priority. """
    prio_applied: bool
    """ Whether the system let every thread have its priority. """
    strict_cpu: bool
    """ Whether each thread is bound to one CPU. """
    warnings: list[str]
    """ Requests that could not be met. """
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        affinity = []
        for affinity_item_data in self.affinity:
            affinity_item = affinity_item_data

            affinity.append(affinity_item)

        cpumask = self.cpumask

        n_threads = self.n_threads

        paused = self.paused

        poll = self.poll

        prio = self.prio

        prio_applied = self.prio_applied

        strict_cpu = self.strict_cpu

        warnings = self.warnings

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update(
            {
                "affinity": affinity,
                "cpumask": cpumask,
                "n_threads": n_threads,
                "paused": paused,
                "poll": poll,
                "prio": prio,
                "prio_applied": prio_applied,
                "strict_cpu": strict_cpu,
                "warnings": warnings,
            }
        )

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        d = dict(src_dict)
        affinity = []
        _affinity = d.pop("affinity")
        for affinity_item_data in _affinity:
            affinity_item = cast(list[int], affinity_item_data)

            affinity.append(affinity_item)

        cpumask = cast(list[int], d.pop("cpumask"))

        n_threads = d.pop("n_threads")

        paused = d.pop("paused")

        poll = d.pop("poll")

        prio = d.pop("prio")

        prio_applied = d.pop("prio_applied")

        strict_cpu = d.pop("strict_cpu")

        warnings = cast(list[str], d.pop("warnings"))

        threadpool_description = cls(
            affinity=affinity,
            cpumask=cpumask,
            n_threads=n_threads,
            paused=paused,
            poll=poll,
            prio=prio,
            prio_applied=prio_applied,
            strict_cpu=strict_cpu,
            warnings=warnings,
        )

        threadpool_description.additional_properties = d
        return threadpool_description

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
