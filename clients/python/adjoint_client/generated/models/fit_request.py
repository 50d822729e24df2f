from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Literal, TypeVar, cast

from attrs import define as _attrs_define

from ..models.fit_request_activations_type_0 import FitRequestActivationsType0, check_fit_request_activations_type_0
from ..models.fit_request_precision_type_0 import FitRequestPrecisionType0, check_fit_request_precision_type_0
from ..types import UNSET, Unset

if TYPE_CHECKING:
    from ..models.average_choice import AverageChoice
    from ..models.budget_choice import BudgetChoice
    from ..models.checkpoint_choice import CheckpointChoice
    from ..models.clip_choice import ClipChoice
    from ..models.divergence_choice import DivergenceChoice
    from ..models.early_stopping_choice import EarlyStoppingChoice
    from ..models.fit_request_classes_type_0 import FitRequestClassesType0
    from ..models.fit_request_feeds_type_0 import FitRequestFeedsType0
    from ..models.fit_request_labels_type_0 import FitRequestLabelsType0
    from ..models.fit_request_normalize_type_0 import FitRequestNormalizeType0
    from ..models.fork_choice import ForkChoice
    from ..models.freeze_choice import FreezeChoice
    from ..models.graph_definition import GraphDefinition
    from ..models.inline_dataset import InlineDataset
    from ..models.loss_scaling_choice import LossScalingChoice
    from ..models.metric_choice import MetricChoice
    from ..models.noise_choice import NoiseChoice
    from ..models.optimizer_choice import OptimizerChoice
    from ..models.recompute_choice import RecomputeChoice
    from ..models.record_choice import RecordChoice
    from ..models.resources_choice import ResourcesChoice
    from ..models.sampling_choice import SamplingChoice
    from ..models.schedule_choice import ScheduleChoice
    from ..models.shuffle_choice import ShuffleChoice
    from ..models.sweep_choice import SweepChoice
    from ..models.validation_choice import ValidationChoice
    from ..models.windows_choice import WindowsChoice


T = TypeVar("T", bound="FitRequest")


@_attrs_define
class FitRequest:
    """A fit: a graph, rows, and how to go about it. Needs graph, dataset, and one of epochs and steps.

    Null stands for the default, unless a description says otherwise. With from_checkpoint every field that is left out
    is taken from the request of the checkpoint's fit, but for labels, start_paused and a deadline.

    """

    activations: FitRequestActivationsType0 | None | Unset = UNSET
    """ What values of float32 are kept in for the backward pass, which halves them; by default as is. """
    average: AverageChoice | None | str | Unset = UNSET
    """ ema, swa, or an object with options; by default none. """
    batch_size: int | None | Unset = UNSET
    """ Rows of a step, at least 1; default 32. """
    budget: BudgetChoice | None | Unset = UNSET
    """ Limit of the training, such as floating-point operations. """
    checkpoint: CheckpointChoice | None | Unset = UNSET
    """ When checkpoints are written and which are kept. """
    class_weights: list[float] | Literal["balanced"] | None | Unset = UNSET
    """ A factor from 0 on for each class in the loss, or "balanced"; by default none. """
    classes: FitRequestClassesType0 | None | Unset = UNSET
    """ Input: the class names of its text column in the order of their numbers, or an object that also names the
    class of unknown texts; by default the sorted texts of the training data. Other data are mapped by name. With
    from_checkpoint, null numbers the texts of an input by this fit's own data. """
    clip: ClipChoice | None | Unset = UNSET
    """ Gradient clipping. """
    dataset: InlineDataset | list[str] | str | Unset = UNSET
    """ Id of a dataset; a list of ids, whose rows are joined in their order; or a dataset. """
    divergence: DivergenceChoice | None | Unset = UNSET
    """ What happens when the loss becomes non-finite or grows too large. """
    drop_last: bool | None | Unset = UNSET
    """ Whether the rows of an epoch that fill no batch are left out; default false. """
    early_stopping: EarlyStoppingChoice | None | Unset = UNSET
    """ By default the fit runs to its end. """
    epochs: int | None | Unset = UNSET
    """ Passes over the training rows, 1 to 1000000. """
    feeds: FitRequestFeedsType0 | None | Unset = UNSET
    """ Input: column; by default of equal names. """
    freeze: list[FreezeChoice] | None | Unset = UNSET
    """ Parameters that keep their values in some epochs. """
    from_checkpoint: ForkChoice | None | str | Unset = UNSET
    """ A checkpoint of another fit to begin at: its id, or an object; by default none. """
    graph: GraphDefinition | str | Unset = UNSET
    """ Id of a graph, or a graph. """
    labels: FitRequestLabelsType0 | None | Unset = UNSET
    """ Labels: keys with values, for filtering lists. """
    loss_scaling: LossScalingChoice | None | Unset = UNSET
    """ Loss scaling for float16. """
    memory_budget: int | None | Unset = UNSET
    """ Bytes that a step may take, at least 1; as little is computed again as that needs. """
    metrics: list[MetricChoice | str] | None | Unset = UNSET
    """ Kinds of metrics, or objects with their options. """
    micro_batch_size: int | None | Unset = UNSET
    """ Rows that are computed at a time, 1 to batch_size; their gradients are added up. """
    noise: NoiseChoice | None | Unset = UNSET
    """ Noise on gradients; by default none. """
    normalize: FitRequestNormalizeType0 | None | Unset = UNSET
    """ By input, how it is scaled: standard, minmax, robust, or an object with options. A target is predicted and
    scored in the units of the data; the loss in normalised units is normalized_loss. """
    optimizer: None | OptimizerChoice | Unset = UNSET
    """ By default adam. """
    precision: FitRequestPrecisionType0 | None | Unset = UNSET
    """ Number formats; "mixed_..." computes products in the lower one; default "float32". """
    prefetch: int | None | Unset = UNSET
    """ Batches gathered ahead, 0 to 64; by default two of data that waits for the disk. """
    preset: Literal["ggml_opt_fit"] | None | Unset = UNSET
    """ Where fields come from that are not given; ggml_opt_fit has the semantics of that function. """
    recompute: None | RecomputeChoice | Unset = UNSET
    """ By default nothing is computed again. """
    record: None | RecordChoice | Unset = UNSET
    """ What is recorded besides the losses. """
    resources: None | ResourcesChoice | Unset = UNSET
    """ Threads, replicas, priority and time limits. """
    sampling: None | SamplingChoice | Unset = UNSET
    """ Rows drawn by weights; by default all, once. """
    schedule: None | ScheduleChoice | Unset = UNSET
    """ By default constant. """
    seed: int | None | Unset = UNSET
    """ What splits, orders, first values and draws come from, at least 0; default 0. """
    shuffle: bool | None | ShuffleChoice | Unset = UNSET
    """ Order of rows, drawn for each epoch; default true. """
    start_paused: bool | None | Unset = UNSET
    """ Whether it waits to be resumed; default false. """
    steps: int | None | Unset = UNSET
    """ Training steps, at least 1, in place of epochs. """
    sweep: None | SweepChoice | Unset = UNSET
    """ Variants of this fit; by default it is a single one. """
    validation: None | Unset | ValidationChoice = UNSET
    """ Validation data, or the part of the rows that is held out. """
    windows: None | Unset | WindowsChoice = UNSET
    """ Examples of several rows; by default a row. """

    def to_dict(self) -> dict[str, Any]:
        from ..models.average_choice import AverageChoice  # noqa: PLC0415
        from ..models.budget_choice import BudgetChoice  # noqa: PLC0415
        from ..models.checkpoint_choice import CheckpointChoice  # noqa: PLC0415
        from ..models.clip_choice import ClipChoice  # noqa: PLC0415
        from ..models.divergence_choice import DivergenceChoice  # noqa: PLC0415
        from ..models.early_stopping_choice import EarlyStoppingChoice  # noqa: PLC0415
        from ..models.fit_request_classes_type_0 import FitRequestClassesType0  # noqa: PLC0415
        from ..models.fit_request_feeds_type_0 import FitRequestFeedsType0  # noqa: PLC0415
        from ..models.fit_request_labels_type_0 import FitRequestLabelsType0  # noqa: PLC0415
        from ..models.fit_request_normalize_type_0 import FitRequestNormalizeType0  # noqa: PLC0415
        from ..models.fork_choice import ForkChoice  # noqa: PLC0415
        from ..models.graph_definition import GraphDefinition  # noqa: PLC0415
        from ..models.inline_dataset import InlineDataset  # noqa: PLC0415
        from ..models.loss_scaling_choice import LossScalingChoice  # noqa: PLC0415
        from ..models.metric_choice import MetricChoice  # noqa: PLC0415
        from ..models.noise_choice import NoiseChoice  # noqa: PLC0415
        from ..models.optimizer_choice import OptimizerChoice  # noqa: PLC0415
        from ..models.recompute_choice import RecomputeChoice  # noqa: PLC0415
        from ..models.record_choice import RecordChoice  # noqa: PLC0415
        from ..models.resources_choice import ResourcesChoice  # noqa: PLC0415
        from ..models.sampling_choice import SamplingChoice  # noqa: PLC0415
        from ..models.schedule_choice import ScheduleChoice  # noqa: PLC0415
        from ..models.shuffle_choice import ShuffleChoice  # noqa: PLC0415
        from ..models.sweep_choice import SweepChoice  # noqa: PLC0415
        from ..models.validation_choice import ValidationChoice  # noqa: PLC0415
        from ..models.windows_choice import WindowsChoice  # noqa: PLC0415

        activations: None | str | Unset
        if isinstance(self.activations, Unset):
            activations = UNSET
        elif isinstance(self.activations, str):
            activations = self.activations
        else:
            activations = self.activations

        average: dict[str, Any] | None | str | Unset
        if isinstance(self.average, Unset):
            average = UNSET
        elif isinstance(self.average, AverageChoice):
            average = self.average.to_dict()
        else:
            average = self.average

        batch_size: int | None | Unset
        if isinstance(self.batch_size, Unset):
            batch_size = UNSET
        else:
            batch_size = self.batch_size

        budget: dict[str, Any] | None | Unset
        if isinstance(self.budget, Unset):
            budget = UNSET
        elif isinstance(self.budget, BudgetChoice):
            budget = self.budget.to_dict()
        else:
            budget = self.budget

        checkpoint: dict[str, Any] | None | Unset
        if isinstance(self.checkpoint, Unset):
            checkpoint = UNSET
        elif isinstance(self.checkpoint, CheckpointChoice):
            checkpoint = self.checkpoint.to_dict()
        else:
            checkpoint = self.checkpoint

        class_weights: list[float] | Literal["balanced"] | None | Unset
        if isinstance(self.class_weights, Unset):
            class_weights = UNSET
        elif isinstance(self.class_weights, list):
            class_weights = self.class_weights

        else:
            class_weights = self.class_weights

        classes: dict[str, Any] | None | Unset
        if isinstance(self.classes, Unset):
            classes = UNSET
        elif isinstance(self.classes, FitRequestClassesType0):
            classes = self.classes.to_dict()
        else:
            classes = self.classes

        clip: dict[str, Any] | None | Unset
        if isinstance(self.clip, Unset):
            clip = UNSET
        elif isinstance(self.clip, ClipChoice):
            clip = self.clip.to_dict()
        else:
            clip = self.clip

        dataset: dict[str, Any] | list[str] | str | Unset
        if isinstance(self.dataset, Unset):
            dataset = UNSET
        elif isinstance(self.dataset, list):
            dataset = self.dataset

        elif isinstance(self.dataset, InlineDataset):
            dataset = self.dataset.to_dict()
        else:
            dataset = self.dataset

        divergence: dict[str, Any] | None | Unset
        if isinstance(self.divergence, Unset):
            divergence = UNSET
        elif isinstance(self.divergence, DivergenceChoice):
            divergence = self.divergence.to_dict()
        else:
            divergence = self.divergence

        drop_last: bool | None | Unset
        if isinstance(self.drop_last, Unset):
            drop_last = UNSET
        else:
            drop_last = self.drop_last

        early_stopping: dict[str, Any] | None | Unset
        if isinstance(self.early_stopping, Unset):
            early_stopping = UNSET
        elif isinstance(self.early_stopping, EarlyStoppingChoice):
            early_stopping = self.early_stopping.to_dict()
        else:
            early_stopping = self.early_stopping

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

        freeze: list[dict[str, Any]] | None | Unset
        if isinstance(self.freeze, Unset):
            freeze = UNSET
        elif isinstance(self.freeze, list):
            freeze = []
            for freeze_type_0_item_data in self.freeze:
                freeze_type_0_item = freeze_type_0_item_data.to_dict()
                freeze.append(freeze_type_0_item)

        else:
            freeze = self.freeze

        from_checkpoint: dict[str, Any] | None | str | Unset
        if isinstance(self.from_checkpoint, Unset):
            from_checkpoint = UNSET
        elif isinstance(self.from_checkpoint, ForkChoice):
            from_checkpoint = self.from_checkpoint.to_dict()
        else:
            from_checkpoint = self.from_checkpoint

        graph: dict[str, Any] | str | Unset
        if isinstance(self.graph, Unset):
            graph = UNSET
        elif isinstance(self.graph, GraphDefinition):
            graph = self.graph.to_dict()
        else:
            graph = self.graph

        labels: dict[str, Any] | None | Unset
        if isinstance(self.labels, Unset):
            labels = UNSET
        elif isinstance(self.labels, FitRequestLabelsType0):
            labels = self.labels.to_dict()
        else:
            labels = self.labels

        loss_scaling: dict[str, Any] | None | Unset
        if isinstance(self.loss_scaling, Unset):
            loss_scaling = UNSET
        elif isinstance(self.loss_scaling, LossScalingChoice):
            loss_scaling = self.loss_scaling.to_dict()
        else:
            loss_scaling = self.loss_scaling

        memory_budget: int | None | Unset
        if isinstance(self.memory_budget, Unset):
            memory_budget = UNSET
        else:
            memory_budget = self.memory_budget

        metrics: list[dict[str, Any] | str] | None | Unset
        if isinstance(self.metrics, Unset):
            metrics = UNSET
        elif isinstance(self.metrics, list):
            metrics = []
            for metrics_type_0_item_data in self.metrics:
                metrics_type_0_item: dict[str, Any] | str
                if isinstance(metrics_type_0_item_data, MetricChoice):
                    metrics_type_0_item = metrics_type_0_item_data.to_dict()
                else:
                    metrics_type_0_item = metrics_type_0_item_data
                metrics.append(metrics_type_0_item)

        else:
            metrics = self.metrics

        micro_batch_size: int | None | Unset
        if isinstance(self.micro_batch_size, Unset):
            micro_batch_size = UNSET
        else:
            micro_batch_size = self.micro_batch_size

        noise: dict[str, Any] | None | Unset
        if isinstance(self.noise, Unset):
            noise = UNSET
        elif isinstance(self.noise, NoiseChoice):
            noise = self.noise.to_dict()
        else:
            noise = self.noise

        normalize: dict[str, Any] | None | Unset
        if isinstance(self.normalize, Unset):
            normalize = UNSET
        elif isinstance(self.normalize, FitRequestNormalizeType0):
            normalize = self.normalize.to_dict()
        else:
            normalize = self.normalize

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

        prefetch: int | None | Unset
        if isinstance(self.prefetch, Unset):
            prefetch = UNSET
        else:
            prefetch = self.prefetch

        preset: Literal["ggml_opt_fit"] | None | Unset
        if isinstance(self.preset, Unset):
            preset = UNSET
        else:
            preset = self.preset

        recompute: dict[str, Any] | None | Unset
        if isinstance(self.recompute, Unset):
            recompute = UNSET
        elif isinstance(self.recompute, RecomputeChoice):
            recompute = self.recompute.to_dict()
        else:
            recompute = self.recompute

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

        sampling: dict[str, Any] | None | Unset
        if isinstance(self.sampling, Unset):
            sampling = UNSET
        elif isinstance(self.sampling, SamplingChoice):
            sampling = self.sampling.to_dict()
        else:
            sampling = self.sampling

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

        shuffle: bool | dict[str, Any] | None | Unset
        if isinstance(self.shuffle, Unset):
            shuffle = UNSET
        elif isinstance(self.shuffle, ShuffleChoice):
            shuffle = self.shuffle.to_dict()
        else:
            shuffle = self.shuffle

        start_paused: bool | None | Unset
        if isinstance(self.start_paused, Unset):
            start_paused = UNSET
        else:
            start_paused = self.start_paused

        steps: int | None | Unset
        if isinstance(self.steps, Unset):
            steps = UNSET
        else:
            steps = self.steps

        sweep: dict[str, Any] | None | Unset
        if isinstance(self.sweep, Unset):
            sweep = UNSET
        elif isinstance(self.sweep, SweepChoice):
            sweep = self.sweep.to_dict()
        else:
            sweep = self.sweep

        validation: dict[str, Any] | None | Unset
        if isinstance(self.validation, Unset):
            validation = UNSET
        elif isinstance(self.validation, ValidationChoice):
            validation = self.validation.to_dict()
        else:
            validation = self.validation

        windows: dict[str, Any] | None | Unset
        if isinstance(self.windows, Unset):
            windows = UNSET
        elif isinstance(self.windows, WindowsChoice):
            windows = self.windows.to_dict()
        else:
            windows = self.windows

        field_dict: dict[str, Any] = {}

        field_dict.update({})
        if activations is not UNSET:
            field_dict["activations"] = activations
        if average is not UNSET:
            field_dict["average"] = average
        if batch_size is not UNSET:
            field_dict["batch_size"] = batch_size
        if budget is not UNSET:
            field_dict["budget"] = budget
        if checkpoint is not UNSET:
            field_dict["checkpoint"] = checkpoint
        if class_weights is not UNSET:
            field_dict["class_weights"] = class_weights
        if classes is not UNSET:
            field_dict["classes"] = classes
        if clip is not UNSET:
            field_dict["clip"] = clip
        if dataset is not UNSET:
            field_dict["dataset"] = dataset
        if divergence is not UNSET:
            field_dict["divergence"] = divergence
        if drop_last is not UNSET:
            field_dict["drop_last"] = drop_last
        if early_stopping is not UNSET:
            field_dict["early_stopping"] = early_stopping
        if epochs is not UNSET:
            field_dict["epochs"] = epochs
        if feeds is not UNSET:
            field_dict["feeds"] = feeds
        if freeze is not UNSET:
            field_dict["freeze"] = freeze
        if from_checkpoint is not UNSET:
            field_dict["from_checkpoint"] = from_checkpoint
        if graph is not UNSET:
            field_dict["graph"] = graph
        if labels is not UNSET:
            field_dict["labels"] = labels
        if loss_scaling is not UNSET:
            field_dict["loss_scaling"] = loss_scaling
        if memory_budget is not UNSET:
            field_dict["memory_budget"] = memory_budget
        if metrics is not UNSET:
            field_dict["metrics"] = metrics
        if micro_batch_size is not UNSET:
            field_dict["micro_batch_size"] = micro_batch_size
        if noise is not UNSET:
            field_dict["noise"] = noise
        if normalize is not UNSET:
            field_dict["normalize"] = normalize
        if optimizer is not UNSET:
            field_dict["optimizer"] = optimizer
        if precision is not UNSET:
            field_dict["precision"] = precision
        if prefetch is not UNSET:
            field_dict["prefetch"] = prefetch
        if preset is not UNSET:
            field_dict["preset"] = preset
        if recompute is not UNSET:
            field_dict["recompute"] = recompute
        if record is not UNSET:
            field_dict["record"] = record
        if resources is not UNSET:
            field_dict["resources"] = resources
        if sampling is not UNSET:
            field_dict["sampling"] = sampling
        if schedule is not UNSET:
            field_dict["schedule"] = schedule
        if seed is not UNSET:
            field_dict["seed"] = seed
        if shuffle is not UNSET:
            field_dict["shuffle"] = shuffle
        if start_paused is not UNSET:
            field_dict["start_paused"] = start_paused
        if steps is not UNSET:
            field_dict["steps"] = steps
        if sweep is not UNSET:
            field_dict["sweep"] = sweep
        if validation is not UNSET:
            field_dict["validation"] = validation
        if windows is not UNSET:
            field_dict["windows"] = windows

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        from ..models.average_choice import AverageChoice  # noqa: PLC0415
        from ..models.budget_choice import BudgetChoice  # noqa: PLC0415
        from ..models.checkpoint_choice import CheckpointChoice  # noqa: PLC0415
        from ..models.clip_choice import ClipChoice  # noqa: PLC0415
        from ..models.divergence_choice import DivergenceChoice  # noqa: PLC0415
        from ..models.early_stopping_choice import EarlyStoppingChoice  # noqa: PLC0415
        from ..models.fit_request_classes_type_0 import FitRequestClassesType0  # noqa: PLC0415
        from ..models.fit_request_feeds_type_0 import FitRequestFeedsType0  # noqa: PLC0415
        from ..models.fit_request_labels_type_0 import FitRequestLabelsType0  # noqa: PLC0415
        from ..models.fit_request_normalize_type_0 import FitRequestNormalizeType0  # noqa: PLC0415
        from ..models.fork_choice import ForkChoice  # noqa: PLC0415
        from ..models.freeze_choice import FreezeChoice  # noqa: PLC0415
        from ..models.graph_definition import GraphDefinition  # noqa: PLC0415
        from ..models.inline_dataset import InlineDataset  # noqa: PLC0415
        from ..models.loss_scaling_choice import LossScalingChoice  # noqa: PLC0415
        from ..models.metric_choice import MetricChoice  # noqa: PLC0415
        from ..models.noise_choice import NoiseChoice  # noqa: PLC0415
        from ..models.optimizer_choice import OptimizerChoice  # noqa: PLC0415
        from ..models.recompute_choice import RecomputeChoice  # noqa: PLC0415
        from ..models.record_choice import RecordChoice  # noqa: PLC0415
        from ..models.resources_choice import ResourcesChoice  # noqa: PLC0415
        from ..models.sampling_choice import SamplingChoice  # noqa: PLC0415
        from ..models.schedule_choice import ScheduleChoice  # noqa: PLC0415
        from ..models.shuffle_choice import ShuffleChoice  # noqa: PLC0415
        from ..models.sweep_choice import SweepChoice  # noqa: PLC0415
        from ..models.validation_choice import ValidationChoice  # noqa: PLC0415
        from ..models.windows_choice import WindowsChoice  # noqa: PLC0415

        d = dict(src_dict)

        def _parse_activations(data: object) -> FitRequestActivationsType0 | None | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            try:
                if not isinstance(data, str):
                    raise TypeError()
                activations_type_0 = check_fit_request_activations_type_0(data)

                return activations_type_0
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            return cast(FitRequestActivationsType0 | None | Unset, data)

        activations = _parse_activations(d.pop("activations", UNSET))

        def _parse_average(data: object) -> AverageChoice | None | str | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            try:
                if not isinstance(data, dict):
                    raise TypeError()
                average_type_1 = AverageChoice.from_dict(data)

                return average_type_1
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            return cast(AverageChoice | None | str | Unset, data)

        average = _parse_average(d.pop("average", UNSET))

        def _parse_batch_size(data: object) -> int | None | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(int | None | Unset, data)

        batch_size = _parse_batch_size(d.pop("batch_size", UNSET))

        def _parse_budget(data: object) -> BudgetChoice | None | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            try:
                if not isinstance(data, dict):
                    raise TypeError()
                budget_type_0 = BudgetChoice.from_dict(data)

                return budget_type_0
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            return cast(BudgetChoice | None | Unset, data)

        budget = _parse_budget(d.pop("budget", UNSET))

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

        def _parse_class_weights(data: object) -> list[float] | Literal["balanced"] | None | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            class_weights_type_0 = cast(Literal["balanced"], data)
            if class_weights_type_0 != "balanced":
                raise ValueError(f"class_weights_type_0 must match const 'balanced', got '{class_weights_type_0}'")
            return class_weights_type_0
            try:
                if not isinstance(data, list):
                    raise TypeError()
                class_weights_type_1 = cast(list[float], data)

                return class_weights_type_1
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            return cast(list[float] | Literal["balanced"] | None | Unset, data)

        class_weights = _parse_class_weights(d.pop("class_weights", UNSET))

        def _parse_classes(data: object) -> FitRequestClassesType0 | None | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            try:
                if not isinstance(data, dict):
                    raise TypeError()
                classes_type_0 = FitRequestClassesType0.from_dict(data)

                return classes_type_0
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            return cast(FitRequestClassesType0 | None | Unset, data)

        classes = _parse_classes(d.pop("classes", UNSET))

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

        def _parse_dataset(data: object) -> InlineDataset | list[str] | str | Unset:
            if isinstance(data, Unset):
                return data
            try:
                if not isinstance(data, list):
                    raise TypeError()
                dataset_type_1 = cast(list[str], data)

                return dataset_type_1
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            try:
                if not isinstance(data, dict):
                    raise TypeError()
                dataset_type_2 = InlineDataset.from_dict(data)

                return dataset_type_2
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            return cast(InlineDataset | list[str] | str | Unset, data)

        dataset = _parse_dataset(d.pop("dataset", UNSET))

        def _parse_divergence(data: object) -> DivergenceChoice | None | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            try:
                if not isinstance(data, dict):
                    raise TypeError()
                divergence_type_0 = DivergenceChoice.from_dict(data)

                return divergence_type_0
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            return cast(DivergenceChoice | None | Unset, data)

        divergence = _parse_divergence(d.pop("divergence", UNSET))

        def _parse_drop_last(data: object) -> bool | None | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(bool | None | Unset, data)

        drop_last = _parse_drop_last(d.pop("drop_last", UNSET))

        def _parse_early_stopping(data: object) -> EarlyStoppingChoice | None | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            try:
                if not isinstance(data, dict):
                    raise TypeError()
                early_stopping_type_0 = EarlyStoppingChoice.from_dict(data)

                return early_stopping_type_0
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            return cast(EarlyStoppingChoice | None | Unset, data)

        early_stopping = _parse_early_stopping(d.pop("early_stopping", UNSET))

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

        def _parse_freeze(data: object) -> list[FreezeChoice] | None | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            try:
                if not isinstance(data, list):
                    raise TypeError()
                freeze_type_0 = []
                _freeze_type_0 = data
                for freeze_type_0_item_data in _freeze_type_0:
                    freeze_type_0_item = FreezeChoice.from_dict(freeze_type_0_item_data)

                    freeze_type_0.append(freeze_type_0_item)

                return freeze_type_0
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            return cast(list[FreezeChoice] | None | Unset, data)

        freeze = _parse_freeze(d.pop("freeze", UNSET))

        def _parse_from_checkpoint(data: object) -> ForkChoice | None | str | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            try:
                if not isinstance(data, dict):
                    raise TypeError()
                from_checkpoint_type_0_type_1 = ForkChoice.from_dict(data)

                return from_checkpoint_type_0_type_1
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            return cast(ForkChoice | None | str | Unset, data)

        from_checkpoint = _parse_from_checkpoint(d.pop("from_checkpoint", UNSET))

        def _parse_graph(data: object) -> GraphDefinition | str | Unset:
            if isinstance(data, Unset):
                return data
            try:
                if not isinstance(data, dict):
                    raise TypeError()
                graph_type_1 = GraphDefinition.from_dict(data)

                return graph_type_1
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            return cast(GraphDefinition | str | Unset, data)

        graph = _parse_graph(d.pop("graph", UNSET))

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

        def _parse_loss_scaling(data: object) -> LossScalingChoice | None | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            try:
                if not isinstance(data, dict):
                    raise TypeError()
                loss_scaling_type_0 = LossScalingChoice.from_dict(data)

                return loss_scaling_type_0
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            return cast(LossScalingChoice | None | Unset, data)

        loss_scaling = _parse_loss_scaling(d.pop("loss_scaling", UNSET))

        def _parse_memory_budget(data: object) -> int | None | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(int | None | Unset, data)

        memory_budget = _parse_memory_budget(d.pop("memory_budget", UNSET))

        def _parse_metrics(data: object) -> list[MetricChoice | str] | None | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            try:
                if not isinstance(data, list):
                    raise TypeError()
                metrics_type_0 = []
                _metrics_type_0 = data
                for metrics_type_0_item_data in _metrics_type_0:

                    def _parse_metrics_type_0_item(data: object) -> MetricChoice | str:
                        try:
                            if not isinstance(data, dict):
                                raise TypeError()
                            metrics_type_0_item_type_1 = MetricChoice.from_dict(data)

                            return metrics_type_0_item_type_1
                        except (TypeError, ValueError, AttributeError, KeyError):
                            pass
                        return cast(MetricChoice | str, data)

                    metrics_type_0_item = _parse_metrics_type_0_item(metrics_type_0_item_data)

                    metrics_type_0.append(metrics_type_0_item)

                return metrics_type_0
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            return cast(list[MetricChoice | str] | None | Unset, data)

        metrics = _parse_metrics(d.pop("metrics", UNSET))

        def _parse_micro_batch_size(data: object) -> int | None | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(int | None | Unset, data)

        micro_batch_size = _parse_micro_batch_size(d.pop("micro_batch_size", UNSET))

        def _parse_noise(data: object) -> NoiseChoice | None | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            try:
                if not isinstance(data, dict):
                    raise TypeError()
                noise_type_0 = NoiseChoice.from_dict(data)

                return noise_type_0
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            return cast(NoiseChoice | None | Unset, data)

        noise = _parse_noise(d.pop("noise", UNSET))

        def _parse_normalize(data: object) -> FitRequestNormalizeType0 | None | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            try:
                if not isinstance(data, dict):
                    raise TypeError()
                normalize_type_0 = FitRequestNormalizeType0.from_dict(data)

                return normalize_type_0
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            return cast(FitRequestNormalizeType0 | None | Unset, data)

        normalize = _parse_normalize(d.pop("normalize", UNSET))

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

        def _parse_prefetch(data: object) -> int | None | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(int | None | Unset, data)

        prefetch = _parse_prefetch(d.pop("prefetch", UNSET))

        def _parse_preset(data: object) -> Literal["ggml_opt_fit"] | None | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            preset_type_0 = cast(Literal["ggml_opt_fit"], data)
            if preset_type_0 != "ggml_opt_fit":
                raise ValueError(f"preset_type_0 must match const 'ggml_opt_fit', got '{preset_type_0}'")
            return preset_type_0
            return cast(Literal["ggml_opt_fit"] | None | Unset, data)

        preset = _parse_preset(d.pop("preset", UNSET))

        def _parse_recompute(data: object) -> None | RecomputeChoice | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            try:
                if not isinstance(data, dict):
                    raise TypeError()
                recompute_type_0 = RecomputeChoice.from_dict(data)

                return recompute_type_0
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            return cast(None | RecomputeChoice | Unset, data)

        recompute = _parse_recompute(d.pop("recompute", UNSET))

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

        def _parse_sampling(data: object) -> None | SamplingChoice | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            try:
                if not isinstance(data, dict):
                    raise TypeError()
                sampling_type_0 = SamplingChoice.from_dict(data)

                return sampling_type_0
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            return cast(None | SamplingChoice | Unset, data)

        sampling = _parse_sampling(d.pop("sampling", UNSET))

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

        def _parse_shuffle(data: object) -> bool | None | ShuffleChoice | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            try:
                if not isinstance(data, dict):
                    raise TypeError()
                shuffle_type_1 = ShuffleChoice.from_dict(data)

                return shuffle_type_1
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            return cast(bool | None | ShuffleChoice | Unset, data)

        shuffle = _parse_shuffle(d.pop("shuffle", UNSET))

        def _parse_start_paused(data: object) -> bool | None | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(bool | None | Unset, data)

        start_paused = _parse_start_paused(d.pop("start_paused", UNSET))

        def _parse_steps(data: object) -> int | None | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(int | None | Unset, data)

        steps = _parse_steps(d.pop("steps", UNSET))

        def _parse_sweep(data: object) -> None | SweepChoice | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            try:
                if not isinstance(data, dict):
                    raise TypeError()
                sweep_type_0 = SweepChoice.from_dict(data)

                return sweep_type_0
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            return cast(None | SweepChoice | Unset, data)

        sweep = _parse_sweep(d.pop("sweep", UNSET))

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

        def _parse_windows(data: object) -> None | Unset | WindowsChoice:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            try:
                if not isinstance(data, dict):
                    raise TypeError()
                windows_type_0 = WindowsChoice.from_dict(data)

                return windows_type_0
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            return cast(None | Unset | WindowsChoice, data)

        windows = _parse_windows(d.pop("windows", UNSET))

        fit_request = cls(
            activations=activations,
            average=average,
            batch_size=batch_size,
            budget=budget,
            checkpoint=checkpoint,
            class_weights=class_weights,
            classes=classes,
            clip=clip,
            dataset=dataset,
            divergence=divergence,
            drop_last=drop_last,
            early_stopping=early_stopping,
            epochs=epochs,
            feeds=feeds,
            freeze=freeze,
            from_checkpoint=from_checkpoint,
            graph=graph,
            labels=labels,
            loss_scaling=loss_scaling,
            memory_budget=memory_budget,
            metrics=metrics,
            micro_batch_size=micro_batch_size,
            noise=noise,
            normalize=normalize,
            optimizer=optimizer,
            precision=precision,
            prefetch=prefetch,
            preset=preset,
            recompute=recompute,
            record=record,
            resources=resources,
            sampling=sampling,
            schedule=schedule,
            seed=seed,
            shuffle=shuffle,
            start_paused=start_paused,
            steps=steps,
            sweep=sweep,
            validation=validation,
            windows=windows,
        )

        return fit_request
