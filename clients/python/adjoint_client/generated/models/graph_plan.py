from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeVar, cast

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..types import UNSET, Unset

if TYPE_CHECKING:
    from ..models.graph_plan_buffers_item import GraphPlanBuffersItem
    from ..models.graph_plan_phases_item import GraphPlanPhasesItem
    from ..models.graph_plan_steps_item import GraphPlanStepsItem


T = TypeVar("T", bound="GraphPlan")


@_attrs_define
class GraphPlan:
    """A plan: steps in order, the buffers they work on, bytes and estimated floating-point operations.

    Steps are in phases, between which the shards of the batch wait for one another; those of a fused group are gone
    through together, block by block. `numpy_steps` are the ops that the native executor has no compiled kernel for.

    """

    batch: int
    """ Number of rows in a step. """
    buffers: list[GraphPlanBuffersItem]
    """ Values of buffers by name. """
    executor: str
    """ Executor: numpy or native. """
    flops: int
    """ Number of floating-point operations. """
    fused_groups: list[list[int]]
    """ Groups of steps that are executed as one. """
    peak_bytes: int
    """ Largest number of bytes in use at a time. """
    phases: list[GraphPlanPhasesItem]
    """ Phases of the step. """
    shards: int
    """ Shards of the plan. """
    steps: list[GraphPlanStepsItem]
    """ The steps, in order. """
    training: bool
    """ Whether the graph is evaluated in training mode. """
    numpy_steps: list[str] | None | Unset = UNSET
    """ Steps that the native executor leaves to NumPy. """
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        batch = self.batch

        buffers = []
        for buffers_item_data in self.buffers:
            buffers_item = buffers_item_data.to_dict()
            buffers.append(buffers_item)

        executor = self.executor

        flops = self.flops

        fused_groups = []
        for fused_groups_item_data in self.fused_groups:
            fused_groups_item = fused_groups_item_data

            fused_groups.append(fused_groups_item)

        peak_bytes = self.peak_bytes

        phases = []
        for phases_item_data in self.phases:
            phases_item = phases_item_data.to_dict()
            phases.append(phases_item)

        shards = self.shards

        steps = []
        for steps_item_data in self.steps:
            steps_item = steps_item_data.to_dict()
            steps.append(steps_item)

        training = self.training

        numpy_steps: list[str] | None | Unset
        if isinstance(self.numpy_steps, Unset):
            numpy_steps = UNSET
        elif isinstance(self.numpy_steps, list):
            numpy_steps = self.numpy_steps

        else:
            numpy_steps = self.numpy_steps

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update(
            {
                "batch": batch,
                "buffers": buffers,
                "executor": executor,
                "flops": flops,
                "fused_groups": fused_groups,
                "peak_bytes": peak_bytes,
                "phases": phases,
                "shards": shards,
                "steps": steps,
                "training": training,
            }
        )
        if numpy_steps is not UNSET:
            field_dict["numpy_steps"] = numpy_steps

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        from ..models.graph_plan_buffers_item import GraphPlanBuffersItem  # noqa: PLC0415
        from ..models.graph_plan_phases_item import GraphPlanPhasesItem  # noqa: PLC0415
        from ..models.graph_plan_steps_item import GraphPlanStepsItem  # noqa: PLC0415

        d = dict(src_dict)
        batch = d.pop("batch")

        buffers = []
        _buffers = d.pop("buffers")
        for buffers_item_data in _buffers:
            buffers_item = GraphPlanBuffersItem.from_dict(buffers_item_data)

            buffers.append(buffers_item)

        executor = d.pop("executor")

        flops = d.pop("flops")

        fused_groups = []
        _fused_groups = d.pop("fused_groups")
        for fused_groups_item_data in _fused_groups:
            fused_groups_item = cast(list[int], fused_groups_item_data)

            fused_groups.append(fused_groups_item)

        peak_bytes = d.pop("peak_bytes")

        phases = []
        _phases = d.pop("phases")
        for phases_item_data in _phases:
            phases_item = GraphPlanPhasesItem.from_dict(phases_item_data)

            phases.append(phases_item)

        shards = d.pop("shards")

        steps = []
        _steps = d.pop("steps")
        for steps_item_data in _steps:
            steps_item = GraphPlanStepsItem.from_dict(steps_item_data)

            steps.append(steps_item)

        training = d.pop("training")

        def _parse_numpy_steps(data: object) -> list[str] | None | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            try:
                if not isinstance(data, list):
                    raise TypeError()
                numpy_steps_type_0 = cast(list[str], data)

                return numpy_steps_type_0
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            return cast(list[str] | None | Unset, data)

        numpy_steps = _parse_numpy_steps(d.pop("numpy_steps", UNSET))

        graph_plan = cls(
            batch=batch,
            buffers=buffers,
            executor=executor,
            flops=flops,
            fused_groups=fused_groups,
            peak_bytes=peak_bytes,
            phases=phases,
            shards=shards,
            steps=steps,
            training=training,
            numpy_steps=numpy_steps,
        )

        graph_plan.additional_properties = d
        return graph_plan

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
