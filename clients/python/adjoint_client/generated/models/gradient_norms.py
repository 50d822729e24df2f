from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeVar, cast

from attrs import define as _attrs_define
from attrs import field as _attrs_field

if TYPE_CHECKING:
    from ..models.gradient_norms_grad_norms import GradientNormsGradNorms
    from ..models.gradient_norms_nonfinite import GradientNormsNonfinite


T = TypeVar("T", bound="GradientNorms")


@_attrs_define
class GradientNorms:
    """The gradients that there are now."""

    grad_norm: float | None
    """ Of all gradients together, before clipping. """
    grad_norms: GradientNormsGradNorms
    """ Norm of each gradient that there is, before clipping. """
    nonfinite: GradientNormsNonfinite
    """ Numbers that are null because they are not finite, by their path: nan, inf or -inf. """
    seq: int | None
    """ The place that the step took; null for one that only reads. """
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        grad_norm: float | None
        grad_norm = self.grad_norm

        grad_norms = self.grad_norms.to_dict()

        nonfinite = self.nonfinite.to_dict()

        seq: int | None
        seq = self.seq

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update(
            {
                "grad_norm": grad_norm,
                "grad_norms": grad_norms,
                "nonfinite": nonfinite,
                "seq": seq,
            }
        )

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        from ..models.gradient_norms_grad_norms import GradientNormsGradNorms  # noqa: PLC0415
        from ..models.gradient_norms_nonfinite import GradientNormsNonfinite  # noqa: PLC0415

        d = dict(src_dict)

        def _parse_grad_norm(data: object) -> float | None:
            if data is None:
                return data
            return cast(float | None, data)

        grad_norm = _parse_grad_norm(d.pop("grad_norm"))

        grad_norms = GradientNormsGradNorms.from_dict(d.pop("grad_norms"))

        nonfinite = GradientNormsNonfinite.from_dict(d.pop("nonfinite"))

        def _parse_seq(data: object) -> int | None:
            if data is None:
                return data
            return cast(int | None, data)

        seq = _parse_seq(d.pop("seq"))

        gradient_norms = cls(
            grad_norm=grad_norm,
            grad_norms=grad_norms,
            nonfinite=nonfinite,
            seq=seq,
        )

        gradient_norms.additional_properties = d
        return gradient_norms

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
