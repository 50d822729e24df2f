from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeVar, cast

from attrs import define as _attrs_define
from attrs import field as _attrs_field

if TYPE_CHECKING:
    from ..models.optim_step_answer_grad_norms import OptimStepAnswerGradNorms
    from ..models.optim_step_answer_nonfinite import OptimStepAnswerNonfinite


T = TypeVar("T", bound="OptimStepAnswer")


@_attrs_define
class OptimStepAnswer:
    """What a step of the optimizer did."""

    clipped: bool
    """ Whether the gradients were clipped. """
    grad_norm: float | None
    """ Of all gradients together, before clipping. """
    grad_norms: OptimStepAnswerGradNorms
    """ Norm of each gradient that there is, before clipping. """
    nonfinite: OptimStepAnswerNonfinite
    """ Numbers that are null because they are not finite, by their path: nan, inf or -inf. """
    seq: int | None
    """ The place that the step took; null for one that only reads. """
    step: int
    """ Steps that the optimizer has taken. """
    taken: bool
    """ False: gradients were not finite, and the parameters are as they were. """
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        clipped = self.clipped

        grad_norm: float | None
        grad_norm = self.grad_norm

        grad_norms = self.grad_norms.to_dict()

        nonfinite = self.nonfinite.to_dict()

        seq: int | None
        seq = self.seq

        step = self.step

        taken = self.taken

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update(
            {
                "clipped": clipped,
                "grad_norm": grad_norm,
                "grad_norms": grad_norms,
                "nonfinite": nonfinite,
                "seq": seq,
                "step": step,
                "taken": taken,
            }
        )

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        from ..models.optim_step_answer_grad_norms import OptimStepAnswerGradNorms  # noqa: PLC0415
        from ..models.optim_step_answer_nonfinite import OptimStepAnswerNonfinite  # noqa: PLC0415

        d = dict(src_dict)
        clipped = d.pop("clipped")

        def _parse_grad_norm(data: object) -> float | None:
            if data is None:
                return data
            return cast(float | None, data)

        grad_norm = _parse_grad_norm(d.pop("grad_norm"))

        grad_norms = OptimStepAnswerGradNorms.from_dict(d.pop("grad_norms"))

        nonfinite = OptimStepAnswerNonfinite.from_dict(d.pop("nonfinite"))

        def _parse_seq(data: object) -> int | None:
            if data is None:
                return data
            return cast(int | None, data)

        seq = _parse_seq(d.pop("seq"))

        step = d.pop("step")

        taken = d.pop("taken")

        optim_step_answer = cls(
            clipped=clipped,
            grad_norm=grad_norm,
            grad_norms=grad_norms,
            nonfinite=nonfinite,
            seq=seq,
            step=step,
            taken=taken,
        )

        optim_step_answer.additional_properties = d
        return optim_step_answer

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
