from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeVar, cast

from attrs import define as _attrs_define

from ..types import UNSET, Unset

if TYPE_CHECKING:
    from ..models.fit_changes_labels_type_0 import FitChangesLabelsType0
    from ..models.resource_changes import ResourceChanges


T = TypeVar("T", bound="FitChanges")


@_attrs_define
class FitChanges:
    """Changes to a fit, merged into its request field by field, as RFC 7396 has it: null takes back to the default.

    Labels, priority, timeout_seconds and deadline may change whenever; the other fields before the first process, and
    those that training can go on with (the optimizer's options, schedule, clip, noise, epochs, steps and the like)
    also while the fit is paused.

    """

    activations: Any | Unset = UNSET
    """ What values of float32 are kept in for the backward pass, which halves them; by default as is. """
    average: Any | Unset = UNSET
    """ ema, swa, or an object with options; by default none. """
    batch_size: Any | Unset = UNSET
    """ Rows of a step, at least 1; default 32. """
    budget: Any | Unset = UNSET
    """ Limit of the training, such as floating-point operations. """
    checkpoint: Any | Unset = UNSET
    """ When checkpoints are written and which are kept. """
    class_weights: Any | Unset = UNSET
    """ A factor from 0 on for each class in the loss, or "balanced"; by default none. """
    classes: Any | Unset = UNSET
    """ Input: the class names of its text column in the order of their numbers, or an object that also names the
    class of unknown texts; by default the sorted texts of the training data. Other data are mapped by name. With
    from_checkpoint, null numbers the texts of an input by this fit's own data. """
    clip: Any | Unset = UNSET
    """ Gradient clipping. """
    divergence: Any | Unset = UNSET
    """ What happens when the loss becomes non-finite or grows too large. """
    drop_last: Any | Unset = UNSET
    """ Whether the rows of an epoch that fill no batch are left out; default false. """
    early_stopping: Any | Unset = UNSET
    """ By default the fit runs to its end. """
    epochs: Any | Unset = UNSET
    """ Passes over the training rows, 1 to 1000000. """
    feeds: Any | Unset = UNSET
    """ Input: column; by default of equal names. """
    freeze: Any | Unset = UNSET
    """ Parameters that keep their values in some epochs. """
    labels: FitChangesLabelsType0 | None | Unset = UNSET
    """ Labels to set, and null for those to remove. """
    loss_scaling: Any | Unset = UNSET
    """ Loss scaling for float16. """
    memory_budget: Any | Unset = UNSET
    """ Bytes that a step may take, at least 1; as little is computed again as that needs. """
    metrics: Any | Unset = UNSET
    """ Kinds of metrics, or objects with their options. """
    micro_batch_size: Any | Unset = UNSET
    """ Rows that are computed at a time, 1 to batch_size; their gradients are added up. """
    noise: Any | Unset = UNSET
    """ Noise on gradients; by default none. """
    normalize: Any | Unset = UNSET
    """ By input, how it is scaled: standard, minmax, robust, or an object with options. A target is predicted and
    scored in the units of the data; the loss in normalised units is normalized_loss. """
    optimizer: Any | Unset = UNSET
    """ By default adam. """
    precision: Any | Unset = UNSET
    """ Number formats; "mixed_..." computes products in the lower one; default "float32". """
    prefetch: Any | Unset = UNSET
    """ Batches gathered ahead, 0 to 64; by default two of data that waits for the disk. """
    preset: Any | Unset = UNSET
    """ Where fields come from that are not given; ggml_opt_fit has the semantics of that function. """
    recompute: Any | Unset = UNSET
    """ By default nothing is computed again. """
    record: Any | Unset = UNSET
    """ What is recorded besides the losses. """
    resources: None | ResourceChanges | Unset = UNSET
    """ Threads, replicas, priority and time limits. """
    sampling: Any | Unset = UNSET
    """ Rows drawn by weights; by default all, once. """
    schedule: Any | Unset = UNSET
    """ By default constant. """
    seed: Any | Unset = UNSET
    """ What splits, orders, first values and draws come from, at least 0; default 0. """
    shuffle: Any | Unset = UNSET
    """ Order of rows, drawn for each epoch; default true. """
    steps: Any | Unset = UNSET
    """ Training steps, at least 1, in place of epochs. """
    validation: Any | Unset = UNSET
    """ Validation data, or the part of the rows that is held out. """
    windows: Any | Unset = UNSET
    """ Examples of several rows; by default a row. """

    def to_dict(self) -> dict[str, Any]:
        from ..models.fit_changes_labels_type_0 import FitChangesLabelsType0  # noqa: PLC0415
        from ..models.resource_changes import ResourceChanges  # noqa: PLC0415

        activations = self.activations

        average = self.average

        batch_size = self.batch_size

        budget = self.budget

        checkpoint = self.checkpoint

        class_weights = self.class_weights

        classes = self.classes

        clip = self.clip

        divergence = self.divergence

        drop_last = self.drop_last

        early_stopping = self.early_stopping

        epochs = self.epochs

        feeds = self.feeds

        freeze = self.freeze

        labels: dict[str, Any] | None | Unset
        if isinstance(self.labels, Unset):
            labels = UNSET
        elif isinstance(self.labels, FitChangesLabelsType0):
            labels = self.labels.to_dict()
        else:
            labels = self.labels

        loss_scaling = self.loss_scaling

        memory_budget = self.memory_budget

        metrics = self.metrics

        micro_batch_size = self.micro_batch_size

        noise = self.noise

        normalize = self.normalize

        optimizer = self.optimizer

        precision = self.precision

        prefetch = self.prefetch

        preset = self.preset

        recompute = self.recompute

        record = self.record

        resources: dict[str, Any] | None | Unset
        if isinstance(self.resources, Unset):
            resources = UNSET
        elif isinstance(self.resources, ResourceChanges):
            resources = self.resources.to_dict()
        else:
            resources = self.resources

        sampling = self.sampling

        schedule = self.schedule

        seed = self.seed

        shuffle = self.shuffle

        steps = self.steps

        validation = self.validation

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
        if steps is not UNSET:
            field_dict["steps"] = steps
        if validation is not UNSET:
            field_dict["validation"] = validation
        if windows is not UNSET:
            field_dict["windows"] = windows

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        from ..models.fit_changes_labels_type_0 import FitChangesLabelsType0  # noqa: PLC0415
        from ..models.resource_changes import ResourceChanges  # noqa: PLC0415

        d = dict(src_dict)
        activations = d.pop("activations", UNSET)

        average = d.pop("average", UNSET)

        batch_size = d.pop("batch_size", UNSET)

        budget = d.pop("budget", UNSET)

        checkpoint = d.pop("checkpoint", UNSET)

        class_weights = d.pop("class_weights", UNSET)

        classes = d.pop("classes", UNSET)

        clip = d.pop("clip", UNSET)

        divergence = d.pop("divergence", UNSET)

        drop_last = d.pop("drop_last", UNSET)

        early_stopping = d.pop("early_stopping", UNSET)

        epochs = d.pop("epochs", UNSET)

        feeds = d.pop("feeds", UNSET)

        freeze = d.pop("freeze", UNSET)

        def _parse_labels(data: object) -> FitChangesLabelsType0 | None | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            try:
                if not isinstance(data, dict):
                    raise TypeError()
                labels_type_0 = FitChangesLabelsType0.from_dict(data)

                return labels_type_0
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            return cast(FitChangesLabelsType0 | None | Unset, data)

        labels = _parse_labels(d.pop("labels", UNSET))

        loss_scaling = d.pop("loss_scaling", UNSET)

        memory_budget = d.pop("memory_budget", UNSET)

        metrics = d.pop("metrics", UNSET)

        micro_batch_size = d.pop("micro_batch_size", UNSET)

        noise = d.pop("noise", UNSET)

        normalize = d.pop("normalize", UNSET)

        optimizer = d.pop("optimizer", UNSET)

        precision = d.pop("precision", UNSET)

        prefetch = d.pop("prefetch", UNSET)

        preset = d.pop("preset", UNSET)

        recompute = d.pop("recompute", UNSET)

        record = d.pop("record", UNSET)

        def _parse_resources(data: object) -> None | ResourceChanges | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            try:
                if not isinstance(data, dict):
                    raise TypeError()
                resources_type_0 = ResourceChanges.from_dict(data)

                return resources_type_0
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            return cast(None | ResourceChanges | Unset, data)

        resources = _parse_resources(d.pop("resources", UNSET))

        sampling = d.pop("sampling", UNSET)

        schedule = d.pop("schedule", UNSET)

        seed = d.pop("seed", UNSET)

        shuffle = d.pop("shuffle", UNSET)

        steps = d.pop("steps", UNSET)

        validation = d.pop("validation", UNSET)

        windows = d.pop("windows", UNSET)

        fit_changes = cls(
            activations=activations,
            average=average,
            batch_size=batch_size,
            budget=budget,
            checkpoint=checkpoint,
            class_weights=class_weights,
            classes=classes,
            clip=clip,
            divergence=divergence,
            drop_last=drop_last,
            early_stopping=early_stopping,
            epochs=epochs,
            feeds=feeds,
            freeze=freeze,
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
            steps=steps,
            validation=validation,
            windows=windows,
        )

        return fit_changes
