from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar, cast

from attrs import define as _attrs_define

from ..models.session_resources_choice_executor_type_0 import (
    SessionResourcesChoiceExecutorType0,
    check_session_resources_choice_executor_type_0,
)
from ..types import UNSET, Unset

T = TypeVar("T", bound="SessionResourcesChoice")


@_attrs_define
class SessionResourcesChoice:
    """What a session gets of the machine."""

    executor: None | SessionResourcesChoiceExecutorType0 | Unset = UNSET
    """ What computes; default "auto": native where the server has it, else numpy. """
    threads: int | None | Unset = UNSET
    """ Threads that work inside a step, cut to the cores that there are. """

    def to_dict(self) -> dict[str, Any]:
        executor: None | str | Unset
        if isinstance(self.executor, Unset):
            executor = UNSET
        elif isinstance(self.executor, str):
            executor = self.executor
        else:
            executor = self.executor

        threads: int | None | Unset
        if isinstance(self.threads, Unset):
            threads = UNSET
        else:
            threads = self.threads

        field_dict: dict[str, Any] = {}

        field_dict.update({})
        if executor is not UNSET:
            field_dict["executor"] = executor
        if threads is not UNSET:
            field_dict["threads"] = threads

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        d = dict(src_dict)

        def _parse_executor(data: object) -> None | SessionResourcesChoiceExecutorType0 | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            try:
                if not isinstance(data, str):
                    raise TypeError()
                executor_type_0 = check_session_resources_choice_executor_type_0(data)

                return executor_type_0
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            return cast(None | SessionResourcesChoiceExecutorType0 | Unset, data)

        executor = _parse_executor(d.pop("executor", UNSET))

        def _parse_threads(data: object) -> int | None | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(int | None | Unset, data)

        threads = _parse_threads(d.pop("threads", UNSET))

        session_resources_choice = cls(
            executor=executor,
            threads=threads,
        )

        return session_resources_choice
