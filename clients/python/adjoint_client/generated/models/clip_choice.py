from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Literal, TypeVar, cast

from attrs import define as _attrs_define

from ..models.clip_choice_nonfinite_type_0 import ClipChoiceNonfiniteType0, check_clip_choice_nonfinite_type_0
from ..types import UNSET, Unset

if TYPE_CHECKING:
    from ..models.adaptive_clip_choice import AdaptiveClipChoice


T = TypeVar("T", bound="ClipChoice")


@_attrs_define
class ClipChoice:
    """Limits on gradients, applied in this order: adaptive, per_parameter, norm, value."""

    adaptive: AdaptiveClipChoice | None | Unset = UNSET
    """ Clip each unit's gradient relative to its weights (adaptive gradient clipping). """
    nonfinite: ClipChoiceNonfiniteType0 | None | Unset = UNSET
    """ What becomes of a step whose gradients are not finite; default "apply". """
    norm: float | None | Unset = UNSET
    """ Limit of the norm of all together, greater than 0. """
    p: float | Literal["inf"] | None | Unset = UNSET
    """ The order of norms, greater than 0, or "inf"; default 2.0. """
    per_parameter: float | None | Unset = UNSET
    """ Limit of each parameter's norm, greater than 0. """
    value: float | None | Unset = UNSET
    """ Limit of each element's absolute value, greater than 0. """

    def to_dict(self) -> dict[str, Any]:
        from ..models.adaptive_clip_choice import AdaptiveClipChoice  # noqa: PLC0415

        adaptive: dict[str, Any] | None | Unset
        if isinstance(self.adaptive, Unset):
            adaptive = UNSET
        elif isinstance(self.adaptive, AdaptiveClipChoice):
            adaptive = self.adaptive.to_dict()
        else:
            adaptive = self.adaptive

        nonfinite: None | str | Unset
        if isinstance(self.nonfinite, Unset):
            nonfinite = UNSET
        elif isinstance(self.nonfinite, str):
            nonfinite = self.nonfinite
        else:
            nonfinite = self.nonfinite

        norm: float | None | Unset
        if isinstance(self.norm, Unset):
            norm = UNSET
        else:
            norm = self.norm

        p: float | Literal["inf"] | None | Unset
        if isinstance(self.p, Unset):
            p = UNSET
        else:
            p = self.p

        per_parameter: float | None | Unset
        if isinstance(self.per_parameter, Unset):
            per_parameter = UNSET
        else:
            per_parameter = self.per_parameter

        value: float | None | Unset
        if isinstance(self.value, Unset):
            value = UNSET
        else:
            value = self.value

        field_dict: dict[str, Any] = {}

        field_dict.update({})
        if adaptive is not UNSET:
            field_dict["adaptive"] = adaptive
        if nonfinite is not UNSET:
            field_dict["nonfinite"] = nonfinite
        if norm is not UNSET:
            field_dict["norm"] = norm
        if p is not UNSET:
            field_dict["p"] = p
        if per_parameter is not UNSET:
            field_dict["per_parameter"] = per_parameter
        if value is not UNSET:
            field_dict["value"] = value

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        from ..models.adaptive_clip_choice import AdaptiveClipChoice  # noqa: PLC0415

        d = dict(src_dict)

        def _parse_adaptive(data: object) -> AdaptiveClipChoice | None | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            try:
                if not isinstance(data, dict):
                    raise TypeError()
                adaptive_type_0 = AdaptiveClipChoice.from_dict(data)

                return adaptive_type_0
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            return cast(AdaptiveClipChoice | None | Unset, data)

        adaptive = _parse_adaptive(d.pop("adaptive", UNSET))

        def _parse_nonfinite(data: object) -> ClipChoiceNonfiniteType0 | None | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            try:
                if not isinstance(data, str):
                    raise TypeError()
                nonfinite_type_0 = check_clip_choice_nonfinite_type_0(data)

                return nonfinite_type_0
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            return cast(ClipChoiceNonfiniteType0 | None | Unset, data)

        nonfinite = _parse_nonfinite(d.pop("nonfinite", UNSET))

        def _parse_norm(data: object) -> float | None | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(float | None | Unset, data)

        norm = _parse_norm(d.pop("norm", UNSET))

        def _parse_p(data: object) -> float | Literal["inf"] | None | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            p_type_1 = cast(Literal["inf"], data)
            if p_type_1 != "inf":
                raise ValueError(f"p_type_1 must match const 'inf', got '{p_type_1}'")
            return p_type_1
            return cast(float | Literal["inf"] | None | Unset, data)

        p = _parse_p(d.pop("p", UNSET))

        def _parse_per_parameter(data: object) -> float | None | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(float | None | Unset, data)

        per_parameter = _parse_per_parameter(d.pop("per_parameter", UNSET))

        def _parse_value(data: object) -> float | None | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(float | None | Unset, data)

        value = _parse_value(d.pop("value", UNSET))

        clip_choice = cls(
            adaptive=adaptive,
            nonfinite=nonfinite,
            norm=norm,
            p=p,
            per_parameter=per_parameter,
            value=value,
        )

        return clip_choice
