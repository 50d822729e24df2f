"""Messages between the server and a worker, one JSON object each. Arrays never travel this way.

JSON is Python's dialect here (NaN and Infinity allowed): a diverged loss must reach the server as it is.
"""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from types import MappingProxyType
from typing import Any, Literal

from app.domain.errors import BadMessage
from app.domain.replicas import Placement

Outcome = Literal["succeeded", "cancelled", "drained"]


@dataclass(frozen=True, slots=True)
class Assignment:
    """To the worker, once: what to fit. Columns map a name to the local paths of its `.npy` files, which are joined.

    `resume_from` is the local path of the checkpoint to go on from; it is a fork's first one if `fork` says how to
    begin with it; one of a step up to `reopened_at` was written before the fit was reopened. `staging` is a folder
    that only this attempt writes;
    `runtime` what to run with, as `Runtime.to_json` writes it; `replicas` how many processes share each batch. With a
    `sweep` (see `SweepShare`) it is executed variant by variant, each with a request and a checkpoint of its own.
    `checkpoint_seconds` is how long it may be to the next checkpoint, if they are cheap; None: as long as it is.
    `memory_bytes` is what each process may take at its peak, None: as much as it likes.
    `recodings` and `validation_recodings` hold, for text columns whose files are numbered otherwise than the model,
    a table for each file, None for one that needs none: the model's number by that of the file.
    `texts` and `validation_texts` hold what the codes of text columns stand for, where these are preprocessed.
    `placement` is where replicas run on a cluster; one on a node of its own has a `replica` (see `ReplicaShare`).
    `kill_at_op` is for tests: the operation on the disk before which the process is killed (see `app.system.durable`).
    """

    fit_id: str
    attempt: int
    token: str
    definition: dict[str, Any]
    request: dict[str, Any]
    columns: dict[str, list[str]]
    validation_columns: dict[str, list[str]] | None
    resume_from: str | None
    staging: str
    runtime: dict[str, Any]
    replicas: int = 1
    placement: Placement = "node"
    replica: dict[str, Any] | None = None
    sweep: dict[str, Any] | None = None
    fork: Literal["all", "parameters"] | None = None
    reopened_at: int | None = None
    kill_at_op: int | None = None
    checkpoint_seconds: float | None = None
    memory_bytes: int | None = None
    recodings: dict[str, list[list[int] | None]] = field(default_factory=dict)
    validation_recodings: dict[str, list[list[int] | None]] = field(default_factory=dict)
    texts: dict[str, list[str]] = field(default_factory=dict)
    validation_texts: dict[str, list[str]] = field(default_factory=dict)

    @property
    def owner_id(self) -> str:
        """What a process is started for."""
        return self.fit_id


@dataclass(frozen=True, slots=True)
class Poison:
    """A step that is answered with an error instead of being executed again, and what is known of the reason."""

    step: str
    starved: bool
    detail: str


@dataclass(frozen=True, slots=True)
class SessionAssignment:
    """To the process of a session, once: what it works on. Its steps come over a line (`app.domain.frames`).

    `definition` is the graph; `request` what the session was asked to be; `start_from` the local path of the checkpoint
    that it began with, if it did, and `restore` what is taken of that. `folder` is where the session keeps its snapshot
    and its log, across all its processes; only one of them at a time holds its lock. `datasets` are those that steps
    have taken rows of so far: for each its columns, as in `Assignment`; `classes` has, for each, the class names of its
    text columns, and the `request` those of the model by input. `saved` are the steps whose checkpoints the
    server has taken over, as far as they are in the log. `poison` is the id of the request that the last processes died
    of, `starved` if they did since they found no memory: it is answered with an error instead of being executed,
    whose detail is `poisoned_by`. `memory_bytes` is the memory limit of the process for all its steps; None: as
    much as it likes; `reserved_bytes` is what it takes before any step. `begun`: whether there was a snapshot in
    the folder before; `is_copy`: whether what counts of the folder is stored elsewhere, so that it need not last.
    """

    session_id: str
    attempt: int
    token: str
    kind: Literal["training", "static"]
    definition: dict[str, Any]
    request: dict[str, Any]
    start_from: str | None
    restore: Literal["all", "parameters"] | None
    folder: str
    datasets: dict[str, dict[str, list[str]]]
    saved: list[int]
    runtime: dict[str, Any]
    begun: bool = False
    poison: str | None = None
    starved: bool = False
    poisoned_by: str = ""
    kill_at_op: int | None = None
    memory_bytes: int | None = None
    classes: dict[str, dict[str, list[str]]] = field(default_factory=dict)
    reserved_bytes: int | None = None
    is_copy: bool = False

    @property
    def owner_id(self) -> str:
        """What a process is started for."""
        return self.session_id


@dataclass(frozen=True, slots=True)
class ComputeAssignment:
    """To a process that computes for requests, once. Its orders come over a line (`app.domain.frames`).

    `memory_bytes` is what it may take without being granted more; models that it keeps between orders are forgotten
    when they are more than `models_bytes`. An answer has at most `answer_bytes`; a long one is a file in `folder`, on
    a disk of which `min_free_bytes` stay free. One order is at most `operations`.
    """

    worker_id: str
    attempt: int
    token: str
    runtime: dict[str, Any]
    memory_bytes: int
    models_bytes: int
    answer_bytes: int
    operations: int
    folder: str
    min_free_bytes: int
    kill_at_op: int | None = None

    @property
    def owner_id(self) -> str:
        """What a process is started for."""
        return self.worker_id


@dataclass(frozen=True, slots=True)
class VariantShare:
    """Of one variant of a sweep: its fit, its recipe, the checkpoint to go on from, and how far it has come.

    `reached` holds the metric at the rungs that it has come to; one that has `ended` does not run any more;
    `reopened_at` is the step at which it was last reopened after its end.
    """

    fit_id: str
    request: dict[str, Any]
    resume_from: str | None
    reached: list[float | None]
    ended: bool
    reopened_at: int | None = None


@dataclass(frozen=True, slots=True)
class SweepShare:
    """The `sweep` of an assignment: how variants are ranked, and how many of them are worked on at a time."""

    monitor: str
    mode: Literal["min", "max"]
    eta: int
    rungs: list[int]
    threads: int
    variants: list[VariantShare]

    def to_json(self) -> dict[str, Any]:
        """Write it as plain data."""
        return asdict(self)

    @classmethod
    def from_json(cls, document: Mapping[str, Any]) -> "SweepShare":
        """Read what `to_json` wrote."""
        return cls(**{**document, "variants": [VariantShare(**share) for share in document["variants"]]})


@dataclass(frozen=True, slots=True)
class Control:
    """To the worker: write a checkpoint at the next step, then stop (`cancel`) or free the worker (`drain`).

    With a `fit_id` only that variant of a sweep is meant.
    """

    kind: Literal["cancel", "drain"]
    fit_id: str | None = None


@dataclass(frozen=True, slots=True)
class Started:
    """From the worker: its process is up."""

    pid: int


@dataclass(frozen=True, slots=True)
class Phase:
    """From the worker: what it is doing now, in a word.

    And how many steps there are, once the data are read, and what it runs with, as `Runtime.to_json` writes it.
    """

    phase: str
    total_steps: int | None = None
    runtime: dict[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class MetricRows:
    """From the worker: metric rows as JSON text (each with its `seq`), and where the fit stands after them.

    `best` says which step was the best so far, by which metric and value; None as long as none was.
    """

    rows: list[str]
    step: int
    epoch: int
    latest: dict[str, Any]
    best: dict[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class CheckpointWritten:
    """From the worker: a finished checkpoint file in its staging folder. `metric_seq` is the last row before it."""

    path: str
    step: int
    epoch: int
    metric_seq: int
    metrics: dict[str, Any]
    digest: str
    size_bytes: int
    is_best: bool


@dataclass(frozen=True, slots=True)
class Log:
    """From the worker: a line for the fit's journal, with a `code` where a program may want to act on it.

    One about progress says how many (`count`) of how many (`total`) are done.
    """

    level: str
    text: str
    code: str | None = None
    count: int | None = None
    total: int | None = None


@dataclass(frozen=True, slots=True)
class Heartbeat:
    """From the worker: it is alive and has nothing to report."""


@dataclass(frozen=True, slots=True)
class NumericsChanged:
    """From the worker: the checkpoint that it goes on from was computed with another fingerprint."""

    before: dict[str, Any]
    now: dict[str, Any]


@dataclass(frozen=True, slots=True)
class GradientWritten:
    """From the worker: a captured gradient as a finished .npy file in its staging folder."""

    path: str
    step: int
    parameter: str
    dtype: str
    shape: list[int]
    digest: str
    size_bytes: int


@dataclass(frozen=True, slots=True)
class Finished:
    """From the worker, last: it ended as it should. `stop_reason` says why, if it did so before the last step."""

    outcome: Outcome
    stop_reason: str | None = None


@dataclass(frozen=True, slots=True)
class Failed:
    """From the worker, last: it cannot go on, and starting it again would not help.

    `blob` is the digest of the one whose file it has found to be damaged, if that is why.
    """

    code: str
    detail: str
    blob: str | None = None


OUT_OF_MEMORY = Failed(
    "out_of_memory", "the fit needs more memory than it was given; try a smaller batch_size, or a smaller model"
)
"""The verdict on a fit that ran out of the memory that it was granted; another attempt would not help."""


@dataclass(frozen=True, slots=True)
class Reached:
    """From the worker: a variant has come to its rung at `step`, where the metric it is ranked by is `value`."""

    step: int
    value: float | None


@dataclass(frozen=True, slots=True)
class About:
    """From the worker: a message that is not about the sweep as a whole, but about the variant `fit_id`."""

    fit_id: str
    message: "Message"


AnyAssignment = Assignment | SessionAssignment | ComputeAssignment
"""What a process is started for."""

Message = (
    Assignment
    | SessionAssignment
    | ComputeAssignment
    | Control
    | Started
    | Phase
    | MetricRows
    | CheckpointWritten
    | GradientWritten
    | NumericsChanged
    | Heartbeat
    | Log
    | Finished
    | Failed
    | Reached
    | About
)

_TAGS: Mapping[str, type[Message]] = MappingProxyType(
    {
        "assignment": Assignment,
        "session": SessionAssignment,
        "compute": ComputeAssignment,
        "control": Control,
        "started": Started,
        "phase": Phase,
        "points": MetricRows,
        "checkpoint": CheckpointWritten,
        "gradient": GradientWritten,
        "numerics_changed": NumericsChanged,
        "heartbeat": Heartbeat,
        "log": Log,
        "finished": Finished,
        "failed": Failed,
        "reached": Reached,
        "about": About,
    }
)
_TAG_OF = MappingProxyType({message: tag for tag, message in _TAGS.items()})


def encode(message: Message) -> bytes:
    """Encode `message` as UTF-8 JSON with its `type`."""
    return json.dumps(_to_json(message), separators=(",", ":")).encode()


def _to_json(message: Message) -> dict[str, Any]:
    document: dict[str, Any] = {"type": _TAG_OF[type(message)]}
    document.update((each.name, getattr(message, each.name)) for each in fields(message))
    if isinstance(message, About):
        document["message"] = _to_json(message.message)
    return document


def decode(data: bytes) -> Message:
    """Read what `encode` wrote; BadMessage if it is not exactly that."""
    try:
        document = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise BadMessage(f"a message of {len(data)} bytes is not JSON: {error}") from error
    return _from_json(document)


def _from_json(document: Any) -> Message:
    if not isinstance(document, dict):
        raise BadMessage(f"a message is a JSON object, not {type(document).__name__}")
    tag = document.pop("type", None)
    kind = _TAGS.get(tag) if isinstance(tag, str) else None
    if kind is None:
        raise BadMessage(f"unknown message type {tag!r}; known: {', '.join(_TAGS)}")
    expected = {each.name for each in fields(kind)}
    if document.keys() != expected:
        wrong = sorted(document.keys() ^ expected)
        raise BadMessage(f"a {tag} message has these fields missing or too many: {', '.join(wrong)}")
    return About(document["fit_id"], _from_json(document["message"])) if kind is About else kind(**document)


@dataclass(frozen=True, slots=True)
class Died:
    """The process is gone and gave no verdict. `reason` is a word, `detail` a sentence."""

    reason: str
    detail: str


@dataclass(frozen=True, slots=True)
class Expired:
    """The process was stopped, with a checkpoint if it could, since the fit has come to the limit `code`."""

    code: str
    detail: str


Verdict = Finished | Failed | Died | Expired
