from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeVar, cast

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..models.fit_state import FitState, check_fit_state

if TYPE_CHECKING:
    from ..models.ranked_variant_parameters import RankedVariantParameters


T = TypeVar("T", bound="RankedVariant")


@_attrs_define
class RankedVariant:
    """A variant of a sweep at its place among the others."""

    fit: str
    """ Id of the fit. """
    index: int
    """ Position, from 0, or one index for each axis. """
    nonfinite: None | str
    """ What the value is where it is not finite: nan, inf or -inf. """
    parameters: RankedVariantParameters
    """ Values that distinguish the variant, by their paths in the request. """
    rank: int
    """ Rank, from 1. """
    state: FitState
    """ Where a fit is in its life. The -ing states last while a process may still write for it. """
    step: int
    """ Number of optimizer steps. """
    total_steps: int
    """ Number of steps when it is complete. """
    value: float | None
    """ The metric that variants are ranked by: its best value if the fit has it. """
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        fit = self.fit

        index = self.index

        nonfinite: None | str
        nonfinite = self.nonfinite

        parameters = self.parameters.to_dict()

        rank = self.rank

        state: str = self.state

        step = self.step

        total_steps = self.total_steps

        value: float | None
        value = self.value

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update(
            {
                "fit": fit,
                "index": index,
                "nonfinite": nonfinite,
                "parameters": parameters,
                "rank": rank,
                "state": state,
                "step": step,
                "total_steps": total_steps,
                "value": value,
            }
        )

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        from ..models.ranked_variant_parameters import RankedVariantParameters  # noqa: PLC0415

        d = dict(src_dict)
        fit = d.pop("fit")

        index = d.pop("index")

        def _parse_nonfinite(data: object) -> None | str:
            if data is None:
                return data
            return cast(None | str, data)

        nonfinite = _parse_nonfinite(d.pop("nonfinite"))

        parameters = RankedVariantParameters.from_dict(d.pop("parameters"))

        rank = d.pop("rank")

        state = check_fit_state(d.pop("state"))

        step = d.pop("step")

        total_steps = d.pop("total_steps")

        def _parse_value(data: object) -> float | None:
            if data is None:
                return data
            return cast(float | None, data)

        value = _parse_value(d.pop("value"))

        ranked_variant = cls(
            fit=fit,
            index=index,
            nonfinite=nonfinite,
            parameters=parameters,
            rank=rank,
            state=state,
            step=step,
            total_steps=total_steps,
            value=value,
        )

        ranked_variant.additional_properties = d
        return ranked_variant

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
