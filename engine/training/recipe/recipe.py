"""Recipe: how a graph is to be fitted, read from the body of a fit request and checked in full."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from types import MappingProxyType
from typing import Annotated, Any, Literal

import numpy as np

from engine.core.attributes import Range
from engine.core.dtypes import BFLOAT16
from engine.core.errors import DocumentError, Finding, escape
from engine.core.options import Reader, Reads, read_options
from engine.data.batches import Shuffle, read_shuffle
from engine.data.class_encoding import ClassEncoding, read_classes
from engine.data.normalization import Normalization, read_normalize
from engine.data.sampling import Sampling
from engine.data.splitting import Split
from engine.data.table.section import Section, read_section
from engine.data.windows import Windows
from engine.graph.rematerialization import RematOptions
from engine.optim.adam import Adam
from engine.optim.groups import ParameterGroups, one_group, read_groups
from engine.optim.lbfgs import LBFGS
from engine.optim.schedules.schedule import Schedule, read_schedule
from engine.optim.transforms.clipping import Clip, GradientNoise
from engine.training.metrics.metric import Metric
from engine.training.metrics.table import read_metrics
from engine.training.recipe.options import (
    Activations,
    Average,
    Budget,
    CheckpointPolicy,
    Divergence,
    EarlyStopping,
    Freeze,
    LossScaling,
    Precision,
    Record,
)

ClassWeights = Literal["balanced"] | tuple[float, ...] | None


def _read_class_weights(reader: Reader, value: Any, pointer: str) -> ClassWeights:
    weights: ClassWeights = reader.typed(value, Literal["balanced"] | tuple[float, ...], pointer, "class_weights")
    if isinstance(weights, tuple) and not all(0 <= weight < math.inf for weight in weights):
        reader.fault(pointer, "out_of_range", "class weights must be finite and at least 0")
    return weights


@dataclass(frozen=True, kw_only=True)
class Validation(Split):
    """Rows to validate on: a share of the dataset, or another dataset; validated at the end of each epoch.

    `every_steps` adds validations after that many steps, `every_epochs` validates only at the end of that many epochs;
    the last step is always validated.
    """

    dataset: str | None = None
    every_steps: Annotated[int | None, Range(1, 10**9)] = None
    every_epochs: Annotated[int | None, Range(1, 10**6)] = 1

    def faults(self) -> Iterator[tuple[str, str]]:
        yield from super().faults()
        if self.split and self.dataset:
            yield "", "give 'split' or 'dataset', not both"

    def due(self, step: int, steps_per_epoch: int) -> bool:
        """Return whether to validate after `step` steps, besides the last one."""
        epochs, position = divmod(step, steps_per_epoch)
        by_epoch = self.every_epochs is not None and position == 0 and epochs % self.every_epochs == 0
        return by_epoch or (self.every_steps is not None and step % self.every_steps == 0)


MADE = "/columns/"
"""What the names of columns that preprocessing makes begin with."""


@dataclass(frozen=True, kw_only=True)
class Recipe:
    """Everything about a fit but the graph and the data.

    Attributes:
        optimizer: steps the parameters, by groups; see the catalogue of optimizers.
        schedule: the learning rate along the fit, see the catalogue of schedules.
        epochs: passes over the training rows; give this or `steps`.
        steps: training steps.
        batch_size: rows of a step.
        micro_batch_size: rows computed at a time; their gradients are accumulated to those of the batch.
        shuffle: the order in which rows are visited.
        sampling: the rows that an epoch visits, if they are drawn.
        windows: examples that are windows over ordered rows.
        normalize: inputs that are shifted and scaled by statistics of the training rows.
        class_weights: a factor for each class in the loss of classes.
        drop_last: whether to drop the rows of an epoch that do not fill a batch.
        prefetch: batches gathered ahead in the background; by default two for data on disk.
        seed: determines splits, orders, initial values and random draws.
        precision: number formats.
        loss_scaling: the scale of the loss under "mixed_float16".
        clip: limits on gradients.
        noise: noise that is added to gradients.
        recompute: segments of the graph that are recomputed in the backward pass, to save memory.
        memory_budget: limit of the bytes of a step's plan; activations are recomputed until it fits.
        activations: the half type in which activations are saved for the backward pass; by default their own type.
        average: an average of the weights, which validation and predictions use.
        freeze: parameters that keep their values in some epochs.
        metrics: metrics beside the loss, see the catalogue of metrics.
        validation: rows to validate on.
        early_stopping: when to end because a metric no longer improves.
        divergence: the reaction to a loss or gradient that is not finite; None is "stop", unless `clip` decides it.
        budget: limits of seconds and steps.
        checkpoint: when to write checkpoints, and how many to retain.
        record: which steps become metric rows.
        feeds: the column of each input, where it has another name.
        columns: the raw columns of inputs that are preprocessed, and what is done to them.
        classes: the class names of each input whose data were text, in the order of their numbers.
        images: how files of images became the columns of inputs, see `ImageEncoding`; kept in checkpoints.
        preset: defaults of other fields; "ggml_opt_fit" has the semantics of that function: adamw without decay, rows
            with uncertainties, and whole batches in training and validation.
    """

    optimizer: Annotated[ParameterGroups, Reads(read_groups, "an optimizer: its kind, or an object with options")] = (
        field(default_factory=lambda: one_group(Adam()))
    )
    schedule: Annotated[Schedule, Reads(read_schedule, "a schedule: its kind, or an object with options")] = field(
        default_factory=lambda: Schedule("constant", {}, "epoch")
    )
    epochs: Annotated[int | None, Range(1, 10**6)] = None
    steps: Annotated[int | None, Range(1, 10**9)] = None
    batch_size: Annotated[int, Range(1, 2**31)] = 32
    micro_batch_size: Annotated[int | None, Range(1, 2**31)] = None
    shuffle: Annotated[Shuffle, Reads(read_shuffle, "true, false or an object with its kind")] = field(
        default_factory=Shuffle
    )
    sampling: Sampling | None = None
    windows: Windows | None = None
    normalize: Annotated[
        Mapping[str, Normalization], Reads(read_normalize, "an object: for each input how it is normalised")
    ] = field(default_factory=dict)
    class_weights: Annotated[ClassWeights, Reads(_read_class_weights, '"balanced" or a list of numbers')] = None
    drop_last: bool = False
    prefetch: Annotated[int | None, Range(0, 64)] = None
    seed: Annotated[int, Range(0, 2**63 - 1)] = 0
    precision: Precision = "float32"
    loss_scaling: LossScaling = field(default_factory=LossScaling)
    clip: Clip = field(default_factory=Clip)
    noise: GradientNoise | None = None
    recompute: RematOptions | None = None
    memory_budget: Annotated[int | None, Range(1, 2**63 - 1)] = None
    activations: Activations = None
    average: Average = None
    freeze: tuple[Freeze, ...] = ()
    metrics: Annotated[tuple[Metric, ...], Reads(read_metrics, "a list of metrics")] = ()
    validation: Validation = field(default_factory=Validation)
    early_stopping: EarlyStopping | None = None
    divergence: Divergence | None = None
    budget: Budget = field(default_factory=Budget)
    checkpoint: CheckpointPolicy = field(default_factory=CheckpointPolicy)
    record: Record = field(default_factory=Record)
    feeds: dict[str, Any] = field(default_factory=dict)
    columns: Annotated[
        Section, Reads(read_section, "an object: for each input a raw column or a list of them, with their transforms")
    ] = field(default_factory=dict)
    classes: Annotated[
        Mapping[str, ClassEncoding], Reads(read_classes, "an object: for each input its class names")
    ] = field(default_factory=dict)
    images: dict[str, Any] = field(default_factory=dict)
    preset: Literal["ggml_opt_fit"] | None = None

    def column_of(self, name: str) -> str:
        """Return the column that an input takes; one that `columns` makes has a name that no raw column has."""
        return f"{MADE}{name}" if name in self.columns else self.feeds.get(name, name)

    def on(self, examples: int) -> Recipe:
        """Return the recipe adapted to a number of examples.

        Raises:
            DocumentError: the preset requires whole batches, and these are not.
        """
        if self.preset is None:
            return self
        size = min(self.batch_size, examples)
        found = [Finding(p, "out_of_range", d) for p, d in whole_batches(examples, size, self.micro_batch_size)]
        if found:
            raise DocumentError(found)
        share = held_out_share(examples, size, self.validation.split)
        if self.validation.split and share == 1:
            raise DocumentError([Finding("/validation/split", "out_of_range", "no batch is left to train on")])
        return replace(self, validation=replace(self.validation, split=share))

    @cached_property
    def groups(self) -> ParameterGroups:
        """The optimizers of the parameters, with slots of momentum if the schedule cycles it."""
        momentum = self.schedule.momentum(epoch=0, step=0)
        if momentum is None:
            return self.optimizer
        return self.optimizer.with_momentum(momentum)

    @cached_property
    def closure(self) -> bool:
        """Whether the optimizer evaluates the loss several times a step."""
        return isinstance(self.optimizer.rest, LBFGS)

    @cached_property
    def nonfinite(self) -> Literal["continue", "stop", "skip", "roll_back"]:
        """The reaction to a gradient that is not finite."""
        if self.clip.nonfinite == "error":
            return "stop"
        if self.clip.nonfinite == "skip":
            return "skip"
        return (self.divergence or Divergence()).action

    @cached_property
    def scaled(self) -> bool:
        """Whether the loss is scaled, and steps that overflow are skipped."""
        return self.precision == "mixed_float16"

    @cached_property
    def guarded(self) -> bool:
        """Whether the plan of a step leaves the arrays unchanged if its gradients are not finite."""
        return self.scaled or self.nonfinite in ("skip", "roll_back") or self.clip.nonfinite == "error"

    @cached_property
    def watched(self) -> bool:
        """Whether the fit checks the loss and the norm of the gradients after each step, and fails by them."""
        return self.nonfinite == "stop" and not self.guarded

    @cached_property
    def reports_skipped(self) -> bool:
        """Whether metric rows say if their step was skipped."""
        chosen = self.divergence is not None and self.divergence.action != "continue"
        return self.scaled or self.clip.nonfinite != "apply" or chosen

    @cached_property
    def higher_is_better(self) -> dict[str, bool]:
        """Whether larger values are better, for each metric by its name in rows."""
        return {metric.row_name: metric.goal == "max" for metric in self.metrics}

    def total_steps(self, steps_per_epoch: int) -> int:
        """Return the training steps of the whole fit."""
        return self.steps or (self.epochs or 0) * steps_per_epoch

    def check_schedule(self, rows: int, steps_per_epoch: int) -> None:
        """Check that the schedule fits the whole fit, with `rows` validation rows.

        Raises:
            DocumentError: it ends before the fit does, or depends on a metric that does not exist.
        """
        steps = self.total_steps(steps_per_epoch)
        faults = self.schedule.faults(steps=steps, steps_per_epoch=steps_per_epoch, validated=rows > 0)
        findings = [Finding(f"/schedule{place}", "attribute_invalid", detail) for place, detail in faults]
        if findings:
            raise DocumentError(findings)

    def faults(self) -> list[tuple[str, str]]:
        """Find fields that exclude each other."""
        found = []
        if (self.epochs is None) == (self.steps is None):
            found.append(("/epochs", "give exactly one of 'epochs' and 'steps'"))
        for table in ("feeds", "classes"):
            made = [name for name in getattr(self, table) if name in self.columns]
            found += [(f"/{table}/{escape(name)}", "the input is made by 'columns'; leave this out") for name in made]
        if self.micro_batch_size is not None and self.micro_batch_size > self.batch_size:
            found.append(("/micro_batch_size", f"must be at most batch_size, {self.batch_size}"))
        return [*found, *self._conflicts(), *self._clashes_of_closure()]

    def _conflicts(self) -> Iterator[tuple[str, str]]:
        """Yield conflicts with the precision, the schedule and limits on gradients."""
        if self.precision == "mixed_bfloat16" and BFLOAT16 is None:
            yield "/precision", "bfloat16 needs the package ml_dtypes on the server; take mixed_float16"
        if self.recompute is not None and self.memory_budget is not None:
            yield "/memory_budget", "it selects what is recomputed; give this or 'recompute', not both"
        if self.activations is not None and self.precision != "float32":
            yield (
                "/activations",
                f"only float32 activations are saved in a half type, and the precision is {self.precision}",
            )
        if self.activations == "bfloat16" and BFLOAT16 is None:
            yield "/activations", "bfloat16 needs the package ml_dtypes on the server; take float16"
        if self.clip.nonfinite != "apply" and self.divergence is not None and self.divergence.action != "continue":
            yield "/clip/nonfinite", "conflicts with divergence.action; give only one of them"
        if self.schedule.cycles_momentum:
            for group in self.optimizer.groups:
                if not group.frozen and not group.optimizer.has_momentum:
                    detail = f"{group.optimizer.kind} has no momentum to cycle; give the schedule cycle_momentum false"
                    yield "/schedule", detail

    def _clashes_of_closure(self) -> Iterator[tuple[str, str]]:
        """Yield conflicts with an optimizer that evaluates the loss itself."""
        if not self.closure:
            return
        clashes = {
            "/precision": self.precision.startswith("mixed"),
            "/clip": self.clip != Clip(),
            "/noise": self.noise is not None,
            "/average": self.average is not None,
            "/freeze": bool(self.freeze),
            "/activations": self.activations is not None,
            "/divergence/action": self.divergence is not None and self.divergence.action == "skip",
        }
        for place, clash in clashes.items():
            if clash:
                yield place, "lbfgs takes steps of its own along the plain gradient; leave this out or take another"


def read_recipe(document: Mapping[str, Any]) -> Recipe:
    """Read a recipe from a request's fields.

    Raises:
        DocumentError: every fault found, each with its JSON pointer.
    """
    reader = Reader()
    recipe = read_options(reader, apply_preset(reader.mapping(document, "")), "", Recipe)
    reader.finish()
    assert recipe is not None
    return recipe


GGML = "ggml_opt_fit"

PRESETS: Mapping[str, Mapping[str, Any]] = MappingProxyType(
    {GGML: {"optimizer": {"kind": "adamw", "weight_decay": 0.0}, "record": {"epochs": True}, "batch_size": 32}}
)
"""The fields that a preset sets. "ggml_opt_fit" also requires whole batches, and holds out a whole number of them."""


def apply_preset(document: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return a document with the fields of its preset as defaults."""
    preset = document.get("preset")
    if not isinstance(preset, str) or preset not in PRESETS:
        return document
    filled = {**PRESETS[preset], **{name: value for name, value in document.items() if value is not None}}
    if isinstance(filled["record"], Mapping):
        filled["record"] = {**PRESETS[preset]["record"], **filled["record"]}
    return filled


def whole_batches(examples: int, batch_size: int, micro_batch_size: int | None) -> Iterator[tuple[str, str]]:
    """Yield what keeps batches from being whole, as ggml_opt_fit requires: a pointer and a sentence."""
    if examples % batch_size:
        yield "/batch_size", f"{GGML} takes whole batches: {examples} examples do not divide into {batch_size}"
    if micro_batch_size is not None and batch_size % micro_batch_size:
        detail = f"{GGML} takes whole parts of batches: {batch_size} does not divide into {micro_batch_size}"
        yield "/micro_batch_size", detail


def held_out_share(examples: int, batch_size: int, split: float) -> float:
    """Return the share of the examples that ggml_opt_fit holds out: whole batches, computed in float32 as there."""
    batches = examples // batch_size
    trained = int(np.float32(1.0 - np.float32(split)) * np.float32(batches))
    return (batches - trained) / batches if batches else split


SCALES = frozenset({"optimizer", "clip", "noise", "loss_scaling"})
"""Fields whose fractional numbers change neither the plan of a step nor its memory."""


def form_of_recipe(recipe: Mapping[str, Any]) -> str:
    """Return a text that is equal for recipes with the same steps and bytes: without seed and numeric factors.

    The recipe is one that `read_recipe` takes.
    """
    plain = {name: _shape_of(value) if name in SCALES else value for name, value in recipe.items() if name != "seed"}
    return json.dumps(plain, sort_keys=True, default=str)


def _shape_of(value: Any) -> Any:
    """Return the document with all nonzero fractional numbers replaced by one; zero may disable something."""
    if isinstance(value, Mapping):
        return {name: _shape_of(inner) for name, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_shape_of(inner) for inner in value]
    if isinstance(value, float) and value != 0 and math.isfinite(value):
        return "a number"
    return value
