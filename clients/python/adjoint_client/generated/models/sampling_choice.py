from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar, cast

from attrs import define as _attrs_define

from ..types import UNSET, Unset

T = TypeVar("T", bound="SamplingChoice")


@_attrs_define
class SamplingChoice:
    """Examples drawn for each epoch in proportion to weights."""

    weights: str
    """ A column of numbers from 0 on, or "balanced": every class of `of` equally often. """
    examples: int | None | Unset = UNSET
    """ Examples of an epoch, at least 1; by default as many as there are to train on. """
    of: None | str | Unset = UNSET
    """ The column of classes that are balanced. """
    replacement: bool | None | Unset = UNSET
    """ Whether one may come more than once; default true. """

    def to_dict(self) -> dict[str, Any]:
        weights = self.weights

        examples: int | None | Unset
        if isinstance(self.examples, Unset):
            examples = UNSET
        else:
            examples = self.examples

        of: None | str | Unset
        if isinstance(self.of, Unset):
            of = UNSET
        else:
            of = self.of

        replacement: bool | None | Unset
        if isinstance(self.replacement, Unset):
            replacement = UNSET
        else:
            replacement = self.replacement

        field_dict: dict[str, Any] = {}

        field_dict.update(
            {
                "weights": weights,
            }
        )
        if examples is not UNSET:
            field_dict["examples"] = examples
        if of is not UNSET:
            field_dict["of"] = of
        if replacement is not UNSET:
            field_dict["replacement"] = replacement

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        d = dict(src_dict)
        weights = d.pop("weights")

        def _parse_examples(data: object) -> int | None | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(int | None | Unset, data)

        examples = _parse_examples(d.pop("examples", UNSET))

        def _parse_of(data: object) -> None | str | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(None | str | Unset, data)

        of = _parse_of(d.pop("of", UNSET))

        def _parse_replacement(data: object) -> bool | None | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(bool | None | Unset, data)

        replacement = _parse_replacement(d.pop("replacement", UNSET))

        sampling_choice = cls(
            weights=weights,
            examples=examples,
            of=of,
            replacement=replacement,
        )

        return sampling_choice
