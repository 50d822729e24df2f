from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeVar, cast

from attrs import define as _attrs_define

from ..types import UNSET, Unset

if TYPE_CHECKING:
    from ..models.threadpool_choice import ThreadpoolChoice


T = TypeVar("T", bound="ThreadpoolMatchRequest")


@_attrs_define
class ThreadpoolMatchRequest:
    """Whether the pool is such a one (ggml_threadpool_params_match); `paused` does not matter."""

    params: None | ThreadpoolChoice | Unset = UNSET
    """ Parameters of the thread pool; those left out have their defaults. """

    def to_dict(self) -> dict[str, Any]:
        from ..models.threadpool_choice import ThreadpoolChoice  # noqa: PLC0415

        params: dict[str, Any] | None | Unset
        if isinstance(self.params, Unset):
            params = UNSET
        elif isinstance(self.params, ThreadpoolChoice):
            params = self.params.to_dict()
        else:
            params = self.params

        field_dict: dict[str, Any] = {}

        field_dict.update({})
        if params is not UNSET:
            field_dict["params"] = params

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

        threadpool_match_request = cls(
            params=params,
        )

        return threadpool_match_request
