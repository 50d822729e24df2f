from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeVar, cast

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..types import UNSET, Unset

if TYPE_CHECKING:
    from ..models.forward_backward_answer_grad_norms import ForwardBackwardAnswerGradNorms
    from ..models.forward_backward_answer_losses import ForwardBackwardAnswerLosses
    from ..models.forward_backward_answer_nonfinite import ForwardBackwardAnswerNonfinite
    from ..models.forward_backward_answer_outputs_type_0 import ForwardBackwardAnswerOutputsType0


T = TypeVar("T", bound="ForwardBackwardAnswer")


@_attrs_define
class ForwardBackwardAnswer:
    """What a forward and a backward pass gave."""

    grad_norm: float | None
    """ Of all gradients together, before clipping. """
    grad_norms: ForwardBackwardAnswerGradNorms
    """ Norm of each gradient that there is, before clipping. """
    loss: float | None
    """ The sum of the losses. """
    losses: ForwardBackwardAnswerLosses
    """ Losses by name, or the names of the losses. """
    nonfinite: ForwardBackwardAnswerNonfinite
    """ Numbers that are null because they are not finite, by their path: nan, inf or -inf. """
    seq: int | None
    """ The place that the step took; null for one that only reads. """
    outputs: ForwardBackwardAnswerOutputsType0 | None | Unset = UNSET
    """ Outputs by name, or the names of the outputs. """
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        from ..models.forward_backward_answer_outputs_type_0 import ForwardBackwardAnswerOutputsType0  # noqa: PLC0415

        grad_norm: float | None
        grad_norm = self.grad_norm

        grad_norms = self.grad_norms.to_dict()

        loss: float | None
        loss = self.loss

        losses = self.losses.to_dict()

        nonfinite = self.nonfinite.to_dict()

        seq: int | None
        seq = self.seq

        outputs: dict[str, Any] | None | Unset
        if isinstance(self.outputs, Unset):
            outputs = UNSET
        elif isinstance(self.outputs, ForwardBackwardAnswerOutputsType0):
            outputs = self.outputs.to_dict()
        else:
            outputs = self.outputs

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update(
            {
                "grad_norm": grad_norm,
                "grad_norms": grad_norms,
                "loss": loss,
                "losses": losses,
                "nonfinite": nonfinite,
                "seq": seq,
            }
        )
        if outputs is not UNSET:
            field_dict["outputs"] = outputs

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        from ..models.forward_backward_answer_grad_norms import ForwardBackwardAnswerGradNorms  # noqa: PLC0415
        from ..models.forward_backward_answer_losses import ForwardBackwardAnswerLosses  # noqa: PLC0415
        from ..models.forward_backward_answer_nonfinite import ForwardBackwardAnswerNonfinite  # noqa: PLC0415
        from ..models.forward_backward_answer_outputs_type_0 import ForwardBackwardAnswerOutputsType0  # noqa: PLC0415

        d = dict(src_dict)

        def _parse_grad_norm(data: object) -> float | None:
            if data is None:
                return data
            return cast(float | None, data)

        grad_norm = _parse_grad_norm(d.pop("grad_norm"))

        grad_norms = ForwardBackwardAnswerGradNorms.from_dict(d.pop("grad_norms"))

        def _parse_loss(data: object) -> float | None:
            if data is None:
                return data
            return cast(float | None, data)

        loss = _parse_loss(d.pop("loss"))

        losses = ForwardBackwardAnswerLosses.from_dict(d.pop("losses"))

        nonfinite = ForwardBackwardAnswerNonfinite.from_dict(d.pop("nonfinite"))

        def _parse_seq(data: object) -> int | None:
            if data is None:
                return data
            return cast(int | None, data)

        seq = _parse_seq(d.pop("seq"))

        def _parse_outputs(data: object) -> ForwardBackwardAnswerOutputsType0 | None | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            try:
                if not isinstance(data, dict):
                    raise TypeError()
                outputs_type_0 = ForwardBackwardAnswerOutputsType0.from_dict(data)

                return outputs_type_0
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            return cast(ForwardBackwardAnswerOutputsType0 | None | Unset, data)

        outputs = _parse_outputs(d.pop("outputs", UNSET))

        forward_backward_answer = cls(
            grad_norm=grad_norm,
            grad_norms=grad_norms,
            loss=loss,
            losses=losses,
            nonfinite=nonfinite,
            seq=seq,
            outputs=outputs,
        )

        forward_backward_answer.additional_properties = d
        return forward_backward_answer

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
