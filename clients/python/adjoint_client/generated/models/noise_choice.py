from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar, cast

from attrs import define as _attrs_define

from ..types import UNSET, Unset

T = TypeVar("T", bound="NoiseChoice")


@_attrs_define
class NoiseChoice:
    """Normal noise of variance eta / (1 + t) ** gamma on the gradients of step t (Neelakantan et al. 2015)."""

    eta: float | None | Unset = UNSET
    """ The variance at first, greater than 0; default 0.01. """
    gamma: float | None | Unset = UNSET
    """ How fast it dies away, at least 0; default 0.55. """

    def to_dict(self) -> dict[str, Any]:
        eta: float | None | Unset
        if isinstance(self.eta, Unset):
            eta = UNSET
        else:
            eta = self.eta

        gamma: float | None | Unset
        if isinstance(self.gamma, Unset):
            gamma = UNSET
        else:
            gamma = self.gamma

        field_dict: dict[str, Any] = {}

        field_dict.update({})
        if eta is not UNSET:
            field_dict["eta"] = eta
        if gamma is not UNSET:
            field_dict["gamma"] = gamma

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        d = dict(src_dict)

        def _parse_eta(data: object) -> float | None | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(float | None | Unset, data)

        eta = _parse_eta(d.pop("eta", UNSET))

        def _parse_gamma(data: object) -> float | None | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(float | None | Unset, data)

        gamma = _parse_gamma(d.pop("gamma", UNSET))

        noise_choice = cls(
            eta=eta,
            gamma=gamma,
        )

        return noise_choice
