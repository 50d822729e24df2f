from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeVar, cast

from attrs import define as _attrs_define

from ..models.fit_request_precision_type_0 import FitRequestPrecisionType0, check_fit_request_precision_type_0
from ..types import UNSET, Unset

if TYPE_CHECKING:
    from ..models.checkpoint_choice import CheckpointChoice
    from ..models.clip_choice import ClipChoice
    from ..models.fit_request_feeds_type_0 import FitRequestFeedsType0
    from ..models.fit_request_labels_type_0 import FitRequestLabelsType0
    from ..models.graph_definition import GraphDefinition
    from ..models.inline_dataset import InlineDataset
    from ..models.optimizer_choice import OptimizerChoice
    from ..models.record_choice import RecordChoice
    from ..models.resources_choice import ResourcesChoice
    from ..models.schedule_choice import ScheduleChoice
    from ..models.validation_choice import ValidationChoice


T = TypeVar("T", bound="FitRequest")


@_attrs_define
class FitRequest:
    """A fit: a graph, rows, and how to go about it. Needs graph, dataset, and one of epochs and steps."""

    dataset: InlineDataset | str
    graph: GraphDefinition | str
    batch_size: int | None | Unset = UNSET
    checkpoint: CheckpointChoice | None | Unset = UNSET
    clip: ClipChoice | None | Unset = UNSET
    drop_last: bool | None | Unset = UNSET
    epochs: int | None | Unset = UNSET
    feeds: FitRequestFeedsType0 | None | Unset = UNSET
    """ Input: column; by default of equal names. """
    labels: FitRequestLabelsType0 | None | Unset = UNSET
    metrics: list[str] | None | Unset = UNSET
    optimizer: None | OptimizerChoice | Unset = UNSET
    precision: FitRequestPrecisionType0 | None | Unset = UNSET
    record: None | RecordChoice | Unset = UNSET
    resources: None | ResourcesChoice | Unset = UNSET
    schedule: None | ScheduleChoice | Unset = UNSET
    seed: int | None | Unset = UNSET
    shuffle: bool | None | Unset = UNSET
    steps: int | None | Unset = UNSET
    validation: None | Unset | ValidationChoice = UNSET

    def to_dict(self) -> dict[str, Any]:
        from ..models.checkpoint_choice import CheckpointChoice  # noqa: PLC0415
        from ..models.clip_choice import ClipChoice  # noqa: PLC0415
        from ..models.fit_request_feeds_type_0 import FitRequestFeedsType0  # noqa: PLC0415
        from ..models.fit_request_labels_type_0 import FitRequestLabelsType0  # noqa: PLC0415
        from ..models.graph_definition import GraphDefinition  # noqa: PLC0415
        from ..models.inline_dataset import InlineDataset  # noqa: PLC0415
        from ..models.optimizer_choice import OptimizerChoice  # noqa: PLC0415
        from ..models.record_choice import RecordChoice  # noqa: PLC0415
        from ..models.resources_choice import ResourcesChoice  # noqa: PLC0415
        from ..models.schedule_choice import ScheduleChoice  # noqa: PLC0415
        from ..models.validation_choice import ValidationChoice  # noqa: PLC0415

        dataset: dict[str, Any] | str
        if isinstance(self.dataset, InlineDataset):
            dataset = self.dataset.to_dict()
        else:
            dataset = self.dataset

        graph: dict[str, Any] | str
        if isinstance(self.graph, GraphDefinition):
            graph = self.graph.to_dict()
        else:
            graph = self.graph

        batch_size: int | None | Unset
        if isinstance(self.batch_size, Unset):
            batch_size = UNSET
        else:
            batch_size = self.batch_size

        checkpoint: dict[str, Any] | None | Unset
        if isinstance(self.checkpoint, Unset):
            checkpoint = UNSET
        elif isinstance(self.checkpoint, CheckpointChoice):
            checkpoint = self.checkpoint.to_dict()
        else:
            checkpoint = self.checkpoint

        clip: dict[str, Any] | None | Unset
        if isinstance(self.clip, Unset):
            clip = UNSET
        elif isinstance(self.clip, ClipChoice):
            clip = self.clip.to_dict()
        else:
            clip = self.clip

        drop_last: bool | None | Unset
        if isinstance(self.drop_last, Unset):
            drop_last = UNSET
        else:
            drop_last = self.drop_last

        epochs: int | None | Unset
        if isinstance(self.epochs, Unset):
            epochs = UNSET
        else:
            epochs = self.epochs

        feeds: dict[str, Any] | None | Unset
        if isinstance(self.feeds, Unset):
            feeds = UNSET
        elif isinstance(self.feeds, FitRequestFeedsType0):
            feeds = self.feeds.to_dict()
        else:
            feeds = self.feeds

        labels: dict[str, Any] | None | Unset
        if isinstance(self.labels, Unset):
            labels = UNSET
        elif isinstance(self.labels, FitRequestLabelsType0):
            labels = self.labels.to_dict()
        else:
            labels = self.labels

        metrics: list[str] | None | Unset
        if isinstance(self.metrics, Unset):
            metrics = UNSET
        elif isinstance(self.metrics, list):
            metrics = self.metrics

        else:
            metrics = self.metrics

        optimizer: dict[str, Any] | None | Unset
        if isinstance(self.optimizer, Unset):
            optimizer = UNSET
        elif isinstance(self.optimizer, OptimizerChoice):
            optimizer = self.optimizer.to_dict()
        else:
            optimizer = self.optimizer

        precision: None | str | Unset
        if isinstance(self.precision, Unset):
            precision = UNSET
        elif isinstance(self.precision, str):
            precision = self.precision
        else:
            precision = self.precision

        record: dict[str, Any] | None | Unset
        if isinstance(self.record, Unset):
            record = UNSET
        elif isinstance(self.record, RecordChoice):
            record = self.record.to_dict()
        else:
            record = self.record

        resources: dict[str, Any] | None | Unset
        if isinstance(self.resources, Unset):
            resources = UNSET
        elif isinstance(self.resources, ResourcesChoice):
            resources = self.resources.to_dict()
        else:
            resources = self.resources

        schedule: dict[str, Any] | None | Unset
        if isinstance(self.schedule, Unset):
            schedule = UNSET
        elif isinstance(self.schedule, ScheduleChoice):
            schedule = self.schedule.to_dict()
        else:
            schedule = self.schedule

        seed: int | None | Unset
        if isinstance(self.seed, Unset):
            seed = UNSET
        else:
            seed = self.seed

        shuffle: bool | None | Unset
        if isinstance(self.shuffle, Unset):
            shuffle = UNSET
        else:
            shuffle = self.shuffle

        steps: int | None | Unset
        if isinstance(self.steps, Unset):
            steps = UNSET
        else:
            steps = self.steps

        validation: dict[str, Any] | None | Unset
        if isinstance(self.validation, Unset):
            validation = UNSET
        elif isinstance(self.validation, ValidationChoice):
            validation = self.validation.to_dict()
        else:
            validation = self.validation

        field_dict: dict[str, Any] = {}

        field_dict.update(
            {
                "dataset": dataset,
                "graph": graph,
            }
        )
        if batch_size is not UNSET:
            field_dict["batch_size"] = batch_size
        if checkpoint is not UNSET:
            field_dict["checkpoint"] = checkpoint
        if clip is not UNSET:
            field_dict["clip"] = clip
        if drop_last is not UNSET:
            field_dict["drop_last"] = drop_last
        if epochs is not UNSET:
            field_dict["epochs"] = epochs
        if feeds is not UNSET:
            field_dict["feeds"] = feeds
        if labels is not UNSET:
            field_dict["labels"] = labels
        if metrics is not UNSET:
            field_dict["metrics"] = metrics
        if optimizer is not UNSET:
            field_dict["optimizer"] = optimizer
        if precision is not UNSET:
            field_dict["precision"] = precision
        if record is not UNSET:
            field_dict["record"] = record
        if resources is not UNSET:
            field_dict["resources"] = resources
        if schedule is not UNSET:
            field_dict["schedule"] = schedule
        if seed is not UNSET:
            field_dict["seed"] = seed
        if shuffle is not UNSET:
            field_dict["shuffle"] = shuffle
        if steps is not UNSET:
            field_dict["steps"] = steps
        if validation is not UNSET:
            field_dict["validation"] = validation

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        from ..models.checkpoint_choice import CheckpointChoice  # noqa: PLC0415
        from ..models.clip_choice import ClipChoice  # noqa: PLC0415
        from ..models.fit_request_feeds_type_0 import FitRequestFeedsType0  # noqa: PLC0415
        from ..models.fit_request_labels_type_0 import FitRequestLabelsType0  # noqa: PLC0415
        from ..models.graph_definition import GraphDefinition  # noqa: PLC0415
        from ..models.inline_dataset import InlineDataset  # noqa: PLC0415
        from ..models.optimizer_choice import OptimizerChoice  # noqa: PLC0415
        from ..models.record_choice import RecordChoice  # noqa: PLC0415
        from ..models.resources_choice import ResourcesChoice  # noqa: PLC0415
        from ..models.schedule_choice import ScheduleChoice  # noqa: PLC0415
        from ..models.validation_choice import ValidationChoice  # noqa: PLC0415

        d = dict(src_dict)

        def _parse_dataset(data: object) -> InlineDataset | str:
            try:
                if not isinstance(data, dict):
                    raise TypeError()
                dataset_type_1 = InlineDataset.from_dict(data)

                return dataset_type_1
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            return cast(InlineDataset | str, data)

        dataset = _parse_dataset(d.pop("dataset"))

        def _parse_graph(data: object) -> GraphDefinition | str:
            try:
                if not isinstance(data, dict):
                    raise TypeError()
                graph_type_1 = GraphDefinition.from_dict(data)

                return graph_type_1
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            return cast(GraphDefinition | str, data)

        graph = _parse_graph(d.pop("graph"))

        def _parse_batch_size(data: object) -> int | None | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(int | None | Unset, data)

        batch_size = _parse_batch_size(d.pop("batch_size", UNSET))

        def _parse_checkpoint(data: object) -> CheckpointChoice | None | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            try:
                if not isinstance(data, dict):
                    raise TypeError()
                checkpoint_type_0 = CheckpointChoice.from_dict(data)

                return checkpoint_type_0
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            return cast(CheckpointChoice | None | Unset, data)

        checkpoint = _parse_checkpoint(d.pop("checkpoint", UNSET))

        def _parse_clip(data: object) -> ClipChoice | None | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            try:
                if not isinstance(data, dict):
                    raise TypeError()
                clip_type_0 = ClipChoice.from_dict(data)

                return clip_type_0
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            return cast(ClipChoice | None | Unset, data)

        clip = _parse_clip(d.pop("clip", UNSET))

        def _parse_drop_last(data: object) -> bool | None | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(bool | None | Unset, data)

        drop_last = _parse_drop_last(d.pop("drop_last", UNSET))

        def _parse_epochs(data: object) -> int | None | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(int | None | Unset, data)

        epochs = _parse_epochs(d.pop("epochs", UNSET))

        def _parse_feeds(data: object) -> FitRequestFeedsType0 | None | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            try:
                if not isinstance(data, dict):
                    raise TypeError()
                feeds_type_0 = FitRequestFeedsType0.from_dict(data)

                return feeds_type_0
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            return cast(FitRequestFeedsType0 | None | Unset, data)

        feeds = _parse_feeds(d.pop("feeds", UNSET))

        def _parse_labels(data: object) -> FitRequestLabelsType0 | None | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            try:
                if not isinstance(data, dict):
                    raise TypeError()
                labels_type_0 = FitRequestLabelsType0.from_dict(data)

                return labels_type_0
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            return cast(FitRequestLabelsType0 | None | Unset, data)

        labels = _parse_labels(d.pop("labels", UNSET))

        def _parse_metrics(data: object) -> list[str] | None | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            try:
                if not isinstance(data, list):
                    raise TypeError()
                metrics_type_0 = cast(list[str], data)

                return metrics_type_0
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            return cast(list[str] | None | Unset, data)

        metrics = _parse_metrics(d.pop("metrics", UNSET))

        def _parse_optimizer(data: object) -> None | OptimizerChoice | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            try:
                if not isinstance(data, dict):
                    raise TypeError()
                optimizer_type_0 = OptimizerChoice.from_dict(data)

                return optimizer_type_0
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            return cast(None | OptimizerChoice | Unset, data)

        optimizer = _parse_optimizer(d.pop("optimizer", UNSET))

        def _parse_precision(data: object) -> FitRequestPrecisionType0 | None | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            try:
                if not isinstance(data, str):
                    raise TypeError()
                precision_type_0 = check_fit_request_precision_type_0(data)

                return precision_type_0
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            return cast(FitRequestPrecisionType0 | None | Unset, data)

        precision = _parse_precision(d.pop("precision", UNSET))

        def _parse_record(data: object) -> None | RecordChoice | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            try:
                if not isinstance(data, dict):
                    raise TypeError()
                record_type_0 = RecordChoice.from_dict(data)

                return record_type_0
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            return cast(None | RecordChoice | Unset, data)

        record = _parse_record(d.pop("record", UNSET))

        def _parse_resources(data: object) -> None | ResourcesChoice | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            try:
                if not isinstance(data, dict):
                    raise TypeError()
                resources_type_0 = ResourcesChoice.from_dict(data)

                return resources_type_0
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            return cast(None | ResourcesChoice | Unset, data)

        resources = _parse_resources(d.pop("resources", UNSET))

        def _parse_schedule(data: object) -> None | ScheduleChoice | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            try:
                if not isinstance(data, dict):
                    raise TypeError()
                schedule_type_0 = ScheduleChoice.from_dict(data)

                return schedule_type_0
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            return cast(None | ScheduleChoice | Unset, data)

        schedule = _parse_schedule(d.pop("schedule", UNSET))

        def _parse_seed(data: object) -> int | None | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(int | None | Unset, data)

        seed = _parse_seed(d.pop("seed", UNSET))

        def _parse_shuffle(data: object) -> bool | None | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(bool | None | Unset, data)

        shuffle = _parse_shuffle(d.pop("shuffle", UNSET))

        def _parse_steps(data: object) -> int | None | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(int | None | Unset, data)

        steps = _parse_steps(d.pop("steps", UNSET))

        def _parse_validation(data: object) -> None | Unset | ValidationChoice:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            try:
                if not isinstance(data, dict):
                    raise TypeError()
                validation_type_0 = ValidationChoice.from_dict(data)

                return validation_type_0
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            return cast(None | Unset | ValidationChoice, data)

        validation = _parse_validation(d.pop("validation", UNSET))

        fit_request = cls(
            dataset=dataset,
            graph=graph,
            batch_size=batch_size,
            checkpoint=checkpoint,
            clip=clip,
            drop_last=drop_last,
            epochs=epochs,
            feeds=feeds,
            labels=labels,
            metrics=metrics,
            optimizer=optimizer,
            precision=precision,
            record=record,
            resources=resources,
            schedule=schedule,
            seed=seed,
            shuffle=shuffle,
            steps=steps,
            validation=validation,
        )

        return fit_request
