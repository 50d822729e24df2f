from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar, cast

from attrs import define as _attrs_define

from ..types import UNSET, Unset

T = TypeVar("T", bound="RecomputeChoice")


@_attrs_define
class RecomputeChoice:
    """Pieces of the graph that are computed again in the backward pass, to save memory: segments or match."""

    match: list[str] | None | Unset = UNSET
    """ Patterns of node names; the nodes of each are a piece. """
    segments: int | None | Unset = UNSET
    """ Cut the graph into so many pieces, 2 to 10000. """

    def to_dict(self) -> dict[str, Any]:
        match: list[str] | None | Unset
        if isinstance(self.match, Unset):
            match = UNSET
        elif isinstance(self.match, list):
            match = self.match

        else:
            match = self.match

        segments: int | None | Unset
        if isinstance(self.segments, Unset):
            segments = UNSET
        else:
            segments = self.segments

        field_dict: dict[str, Any] = {}

        field_dict.update({})
        if match is not UNSET:
            field_dict["match"] = match
        if segments is not UNSET:
            field_dict["segments"] = segments

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        d = dict(src_dict)

        def _parse_match(data: object) -> list[str] | None | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            try:
                if not isinstance(data, list):
                    raise TypeError()
                match_type_0 = cast(list[str], data)

                return match_type_0
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            return cast(list[str] | None | Unset, data)

        match = _parse_match(d.pop("match", UNSET))

        def _parse_segments(data: object) -> int | None | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(int | None | Unset, data)

        segments = _parse_segments(d.pop("segments", UNSET))

        recompute_choice = cls(
            match=match,
            segments=segments,
        )

        return recompute_choice
