from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeVar, cast

from attrs import define as _attrs_define

from ..types import UNSET, Unset

if TYPE_CHECKING:
    from ..models.threadpool_choice import ThreadpoolChoice


T = TypeVar("T", bound="ThreadpoolNewRequest")


@_attrs_define
class ThreadpoolNewRequest:
    """A thread pool, in the place of the one there is (ggml_threadpool_new)."""

    params: None | ThreadpoolChoice | Unset = UNSET
    """ Parameters of the thread pool; those left out have their defaults. """
    seq: int | None | Unset = UNSET
    """ The step's place in the order of steps, from 1 on; by default the next when its turn has come. """

    def to_dict(self) -> dict[str, Any]:
        from ..models.threadpool_choice import ThreadpoolChoice  # noqa: PLC0415

        params: dict[str, Any] | None | Unset
        if isinstance(self.params, Unset):
            params = UNSET
        elif isinstance(self.params, ThreadpoolChoice):
            params = self.params.to_dict()
        else:
            params = self.params

        seq: int | None | Unset
        if isinstance(self.seq, Unset):
            seq = UNSET
        else:
            seq = self.seq

        field_dict: dict[str, Any] = {}

        field_dict.update({})
        if params is not UNSET:
            field_dict["params"] = params
        if seq is not UNSET:
            field_dict["seq"] = seq

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        from ..models.threadpool_choice import ThreadpoolChoice  # noqa: PLC0415

        d = dict(src_dict)

        def _parse_params(data: object) -> None | ThreadpoolChoice | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            try:
                if not isinstance(data, dict):
                    raise TypeError()
                params_type_0 = ThreadpoolChoice.from_dict(data)

                return params_type_0
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            return cast(None | ThreadpoolChoice | Unset, data)

        params = _parse_params(d.pop("params", UNSET))

        def _parse_seq(data: object) -> int | None | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(int | None | Unset, data)

        seq = _parse_seq(d.pop("seq", UNSET))

        threadpool_new_request = cls(
            params=params,
            seq=seq,
        )

        return threadpool_new_request
