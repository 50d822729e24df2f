"""Recipe: how a graph is to be fitted, read from the body of a fit request and checked in full."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from engine.documents import Reader
from engine.errors import DocumentError, EngineError, Finding
from engine.optim import Optimizer, Schedule, make_optimizer, read_schedule

FIELDS = (
    "optimizer",
    "schedule",
    "clip",
    "epochs",
    "steps",
    "batch_size",
    "shuffle",
    "drop_last",
    "seed",
    "precision",
    "metrics",
    "validation",
    "checkpoint",
    "record",
    "feeds",
)
METRICS = ("accuracy",)


@dataclass(frozen=True, slots=True)
class Clip:
    """Limits on gradients: the global norm, or each element."""

    norm: float | None = None
    value: float | None = None


@dataclass(frozen=True, slots=True)
class CheckpointPolicy:
    """When to write checkpoints (besides the last one), and how many to keep."""

    every_steps: int | None = None
    every_epochs: int | None = 1
    keep_last: int = 3
    keep_best: bool = True


@dataclass(frozen=True, slots=True)
class Record:
    """Which training steps become metric rows, and whether each parameter's gradient norm is in them."""

    every_steps: int = 1
    gradient_norms: bool = True


@dataclass(frozen=True, slots=True)
class Recipe:
    """Everything about a fit but the graph and the data."""

    optimizer: Optimizer
    schedule: Schedule
    epochs: int | None
    steps: int | None
    batch_size: int = 32
    shuffle: bool = True
    drop_last: bool = False
    seed: int = 0
    precision: Literal["float32", "float64"] = "float32"
    clip: Clip = Clip()
    metrics: tuple[str, ...] = ()
    validation_split: float = 0.0
    checkpoint: CheckpointPolicy = CheckpointPolicy()
    record: Record = Record()
    feeds: Mapping[str, str] = field(default_factory=dict)

    def check_schedule(self, rows: int, steps_per_epoch: int) -> None:
        """Check that the schedule serves the whole fit, with `rows` to validate on.

        Raises:
            DocumentError: it ends before the fit does, or goes by a metric that there is not.
        """
        steps = self.steps or (self.epochs or 0) * steps_per_epoch
        faults = self.schedule.faults(steps=steps, steps_per_epoch=steps_per_epoch, validated=rows > 0)
        findings = [Finding(f"/schedule{place}", "attribute_invalid", detail) for place, detail in faults]
        if findings:
            raise DocumentError(findings)


def read_recipe(document: Mapping[str, Any]) -> Recipe:
    """Read a recipe from a request's fields.

    Raises:
        DocumentError: every fault found, each with its JSON pointer.
    """
    reader = Reader()
    document = reader.mapping(document, "")
    reader.fields(document, "", FIELDS)
    get = document.get
    epochs = reader.typed(get("epochs"), int | None, "/epochs", "epochs")
    steps = reader.typed(get("steps"), int | None, "/steps", "steps")
    if (get("epochs") is None) == (get("steps") is None):
        reader.fault("/epochs", "missing_field", "give exactly one of 'epochs' and 'steps'")
    recipe = Recipe(
        optimizer=_made(reader, make_optimizer, _given(document, "optimizer", {"kind": "adam"}), "/optimizer"),
        schedule=_read_schedule(reader, _given(document, "schedule", {"kind": "constant"})),
        epochs=_at_least(reader, epochs, 1, 10**6, "/epochs"),
        steps=_at_least(reader, steps, 1, 10**9, "/steps"),
        batch_size=_number(reader, get("batch_size", 32), 1, 2**31, "/batch_size"),
        shuffle=reader.typed(get("shuffle", True), bool, "/shuffle", "shuffle", True),
        drop_last=reader.typed(get("drop_last", False), bool, "/drop_last", "drop_last", False),
        seed=_number(reader, get("seed", 0), 0, 2**63 - 1, "/seed"),
        precision=reader.typed(get("precision", "float32"), Literal["float32", "float64"], "/precision", "precision"),
        clip=_read_clip(reader, _given(document, "clip", {})),
        metrics=_read_metrics(reader, _given(document, "metrics", [])),
        validation_split=_read_split(reader, _given(document, "validation", {})),
        checkpoint=_read_checkpoint(reader, _given(document, "checkpoint", {})),
        record=_read_record(reader, _given(document, "record", {})),
        feeds=reader.mapping(_given(document, "feeds", {}), "/feeds"),
    )
    reader.finish()
    return recipe


def _given(document: Mapping[str, Any], name: str, default: Any) -> Any:
    """Return a field; null stands for the default, as if it were left out."""
    value = document.get(name)
    return default if value is None else value


def _made(reader: Reader, make: Any, document: Any, pointer: str) -> Any:
    document = {"kind": document} if isinstance(document, str) else document
    if not isinstance(document, Mapping):
        reader.mapping(document, pointer)
        return None
    try:
        return make(document)
    except EngineError as error:
        reader.error(pointer, error)
        return None


def _read_schedule(reader: Reader, document: Any) -> Schedule:
    """Return the schedule; after a fault, which `Reader.finish` raises, one that stands in for it."""
    return read_schedule(reader, document, "/schedule") or Schedule("constant", {}, "epoch")


def _number(reader: Reader, value: Any, low: int, high: int, pointer: str) -> int:
    name = pointer.rpartition("/")[2]
    number: int = reader.typed(value, int, pointer, name, low)
    return _at_least(reader, number, low, high, pointer) or low


def _at_least(reader: Reader, number: int | None, low: int, high: int, pointer: str) -> int | None:
    if number is not None and not low <= number <= high:
        reader.fault(pointer, "out_of_range", f"must lie between {low} and {high}, not {number}")
    return number


def _optional(reader: Reader, document: Mapping[str, Any], name: str, pointer: str, default: int | None) -> int | None:
    if name not in document:
        return default
    return _at_least(
        reader, reader.typed(document[name], int | None, f"{pointer}/{name}", name), 1, 10**9, f"{pointer}/{name}"
    )


def _read_clip(reader: Reader, document: Any) -> Clip:
    document = reader.mapping(document, "/clip")
    reader.fields(document, "/clip", ("norm", "value"))
    limits = {}
    for name in ("norm", "value"):
        limit = reader.typed(document.get(name), float | None, f"/clip/{name}", name)
        if limit is not None and not limit > 0:
            reader.fault(f"/clip/{name}", "out_of_range", f"must be greater than 0, not {limit}")
        limits[name] = limit
    return Clip(**limits)


def _read_metrics(reader: Reader, names: Any) -> tuple[str, ...]:
    metrics = []
    for index, name in enumerate(reader.sequence(names, "/metrics")):
        if name in METRICS:
            metrics.append(name)
        else:
            reader.fault(f"/metrics/{index}", "unknown_name", f"metrics are {', '.join(METRICS)}")
    return tuple(dict.fromkeys(metrics))


def _read_split(reader: Reader, document: Any) -> float:
    document = reader.mapping(document, "/validation")
    reader.fields(document, "/validation", ("split", "dataset"))
    split: float = reader.typed(document.get("split", 0.0), float, "/validation/split", "split", 0.0)
    if not 0 <= split < 1:
        reader.fault("/validation/split", "out_of_range", f"must lie in 0 <= split < 1, not {split}")
    if split and document.get("dataset"):
        reader.fault("/validation", "conflict", "give 'split' or 'dataset', not both")
    return split


def _read_checkpoint(reader: Reader, document: Any) -> CheckpointPolicy:
    document = reader.mapping(document, "/checkpoint")
    reader.fields(document, "/checkpoint", ("every_steps", "every_epochs", "keep_last", "keep_best"))
    at = "/checkpoint"
    return CheckpointPolicy(
        every_steps=_optional(reader, document, "every_steps", at, None),
        every_epochs=_optional(reader, document, "every_epochs", at, 1),
        keep_last=_optional(reader, document, "keep_last", at, 3) or 3,
        keep_best=reader.typed(document.get("keep_best", True), bool, f"{at}/keep_best", "keep_best", True),
    )


def _read_record(reader: Reader, document: Any) -> Record:
    document = reader.mapping(document, "/record")
    reader.fields(document, "/record", ("every_steps", "gradient_norms"))
    norms = reader.typed(document.get("gradient_norms", True), bool, "/record/gradient_norms", "gradient_norms", True)
    return Record(every_steps=_optional(reader, document, "every_steps", "/record", 1) or 1, gradient_norms=norms)
