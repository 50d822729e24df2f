from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeVar, cast

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..models.graph_compute_answer_status import GraphComputeAnswerStatus, check_graph_compute_answer_status

if TYPE_CHECKING:
    from ..models.graph_compute_answer_gradients import GraphComputeAnswerGradients
    from ..models.graph_compute_answer_losses import GraphComputeAnswerLosses
    from ..models.graph_compute_answer_nonfinite import GraphComputeAnswerNonfinite
    from ..models.graph_compute_answer_tensors import GraphComputeAnswerTensors


T = TypeVar("T", bound="GraphComputeAnswer")


@_attrs_define
class GraphComputeAnswer:
    """How a computation ended."""

    computed: int
    """ Nodes that were gone through, in order. """
    gradients: GraphComputeAnswerGradients
    """ Those asked for; null: no gradient flows there. """
    losses: GraphComputeAnswerLosses
    """ Losses by name, or the names of the losses. """
    nonfinite: GraphComputeAnswerNonfinite
    """ Numbers that are null because they are not finite, by their path: nan, inf or -inf. """
    seq: int | None
    """ The place that the step took; null for one that only reads. """
    status: GraphComputeAnswerStatus
    """ Status. """
    status_code: int
    """ As in ggml: SUCCESS 0, ABORTED 1. """
    tensors: GraphComputeAnswerTensors
    """ Those to fetch; null: there is no data. """
    warnings: list[str]
    """ What was asked for and could not be granted. """
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        computed = self.computed

        gradients = self.gradients.to_dict()

        losses = self.losses.to_dict()

        nonfinite = self.nonfinite.to_dict()

        seq: int | None
        seq = self.seq

        status: str = self.status

        status_code = self.status_code

        tensors = self.tensors.to_dict()

        warnings = self.warnings

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update(
            {
                "computed": computed,
                "gradients": gradients,
                "losses": losses,
                "nonfinite": nonfinite,
                "seq": seq,
                "status": status,
                "status_code": status_code,
                "tensors": tensors,
                "warnings": warnings,
            }
        )

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        from ..models.graph_compute_answer_gradients import GraphComputeAnswerGradients  # noqa: PLC0415
        from ..models.graph_compute_answer_losses import GraphComputeAnswerLosses  # noqa: PLC0415
        from ..models.graph_compute_answer_nonfinite import GraphComputeAnswerNonfinite  # noqa: PLC0415
        from ..models.graph_compute_answer_tensors import GraphComputeAnswerTensors  # noqa: PLC0415

        d = dict(src_dict)
        computed = d.pop("computed")

        gradients = GraphComputeAnswerGradients.from_dict(d.pop("gradients"))

        losses = GraphComputeAnswerLosses.from_dict(d.pop("losses"))

        nonfinite = GraphComputeAnswerNonfinite.from_dict(d.pop("nonfinite"))

        def _parse_seq(data: object) -> int | None:
            if data is None:
                return data
            return cast(int | None, data)

        seq = _parse_seq(d.pop("seq"))

        status = check_graph_compute_answer_status(d.pop("status"))

        status_code = d.pop("status_code")

        tensors = GraphComputeAnswerTensors.from_dict(d.pop("tensors"))

        warnings = cast(list[str], d.pop("warnings"))

        graph_compute_answer = cls(
            computed=computed,
            gradients=gradients,
            losses=losses,
            nonfinite=nonfinite,
            seq=seq,
            status=status,
            status_code=status_code,
            tensors=tensors,
            warnings=warnings,
        )

        graph_compute_answer.additional_properties = d
        return graph_compute_answer

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
