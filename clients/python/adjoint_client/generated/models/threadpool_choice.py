from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar, cast

from attrs import define as _attrs_define

from ..models.threadpool_choice_prio_type_1 import ThreadpoolChoicePrioType1, check_threadpool_choice_prio_type_1
from ..types import UNSET, Unset

T = TypeVar("T", bound="ThreadpoolChoice")


@_attrs_define
class ThreadpoolChoice:
    """The fields of ggml_threadpool_params."""

    cpumask: list[bool] | list[int] | Unset = UNSET
    """ Numbers of the CPUs they may run on, or a truth value for each; none: all. """
    n_threads: int | Unset = 4
    """ Threads, cut to what the machine has, with a warning. """
    paused: bool | Unset = False
    """ Whether it begins paused. """
    poll: int | Unset = 50
    """ How long a thread without work looks for some before it sleeps; 0: not at all. """
    prio: int | ThreadpoolChoicePrioType1 | Unset = "normal"
    """ How the system schedules them: a name, or -1 (low) to 3 (realtime). """
    strict_cpu: bool | Unset = False
    """ Whether each thread is bound to one CPU of the mask. """

    def to_dict(self) -> dict[str, Any]:
        cpumask: list[bool] | list[int] | Unset
        if isinstance(self.cpumask, Unset):
            cpumask = UNSET
        elif isinstance(self.cpumask, list):
            cpumask = self.cpumask

        else:
            cpumask = self.cpumask

        n_threads = self.n_threads

        paused = self.paused

        poll = self.poll

        prio: int | str | Unset
        if isinstance(self.prio, Unset):
            prio = UNSET
        elif isinstance(self.prio, str):
            prio = self.prio
        else:
            prio = self.prio

        strict_cpu = self.strict_cpu

        field_dict: dict[str, Any] = {}

        field_dict.update({})
        if cpumask is not UNSET:
            field_dict["cpumask"] = cpumask
        if n_threads is not UNSET:
            field_dict["n_threads"] = n_threads
        if paused is not UNSET:
            field_dict["paused"] = paused
        if poll is not UNSET:
            field_dict["poll"] = poll
        if prio is not UNSET:
            field_dict["prio"] = prio
        if strict_cpu is not UNSET:
            field_dict["strict_cpu"] = strict_cpu

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        d = dict(src_dict)

        def _parse_cpumask(data: object) -> list[bool] | list[int] | Unset:
            if isinstance(data, Unset):
                return data
            try:
                if not isinstance(data, list):
                    raise TypeError()
                cpumask_type_0 = cast(list[int], data)

                return cpumask_type_0
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            if not isinstance(data, list):
                raise TypeError()
            cpumask_type_1 = cast(list[bool], data)

            return cpumask_type_1

        cpumask = _parse_cpumask(d.pop("cpumask", UNSET))

        n_threads = d.pop("n_threads", UNSET)

        paused = d.pop("paused", UNSET)

        poll = d.pop("poll", UNSET)

        def _parse_prio(data: object) -> int | ThreadpoolChoicePrioType1 | Unset:
            if isinstance(data, Unset):
                return data
            try:
                if not isinstance(data, str):
                    raise TypeError()
                prio_type_1 = check_threadpool_choice_prio_type_1(data)

                return prio_type_1
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            return cast(int | ThreadpoolChoicePrioType1 | Unset, data)

        prio = _parse_prio(d.pop("prio", UNSET))

        strict_cpu = d.pop("strict_cpu", UNSET)

        threadpool_choice = cls(
            cpumask=cpumask,
            n_threads=n_threads,
            paused=paused,
            poll=poll,
            prio=prio,
            strict_cpu=strict_cpu,
        )

        return threadpool_choice
