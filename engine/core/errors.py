"""The engine's error tree: every message names the argument, its value and what to change."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from functools import lru_cache
from itertools import islice
from types import MappingProxyType
from typing import Literal

REFUSALS = (ArithmeticError, ValueError, IndexError, TypeError)
"""What NumPy raises for numbers, shapes and types that do not suit it."""

CANDIDATES = 1000
"""Limit of names that are searched for the nearest one, so that an error in a large graph costs milliseconds."""


MOST_LISTED = 40
"""Up to this many accepted names are listed in full in an error."""

GGML_PREFIX = re.compile(r"^ggml_opt_(loss|optimizer)_type_")


Severity = Literal["error", "warning", "info"]


@dataclass(frozen=True, slots=True)
class Finding:
    """One fault in a document: a JSON pointer to the place, a stable code and a sentence that says what to change.

    `severity` distinguishes a fault that is refused ("error") from what is accepted: "warning" if the result is
    probably not what was meant, "info" otherwise. `line` and `column`, counted from 1, are the place in a text that
    the pointer names.
    """

    pointer: str
    code: str
    detail: str
    severity: Severity = "error"
    line: int | None = None
    column: int | None = None


def escape(name: object) -> str:
    """Write a field name as one token of a JSON pointer (RFC 6901), cut to 64 characters."""
    return str(name)[:64].replace("~", "~0").replace("/", "~1")


class EngineError(Exception):
    """Anything the engine refuses; `place` is a JSON pointer from that to the part of it that is at fault."""

    code = "engine_error"
    place = ""

    def __init_subclass__(cls, *, code: str | None = None) -> None:
        """Set the code of a kind of error, by which clients recognise it; by default it is that of its base."""
        if code is not None:
            cls.code = code


class ShapeError(EngineError, code="shape_mismatch"):
    """Shapes that do not fit an operation."""


class DTypeError(EngineError, code="dtype_mismatch"):
    """An element type that an operation does not take."""


class MissingExtra(EngineError, code="extra_missing"):  # noqa: N818 - a shorter name that reads as well
    """Something that needs an optional package which is not installed."""


class DeviceError(EngineError, code="device_unavailable"):
    """A device that this engine does not compute on."""


class AttributeValueError(EngineError, code="attribute_invalid"):
    """An unknown attribute, or one whose value is outside its domain; `attribute` names it where one is at fault."""

    def __init__(self, message: str, attribute: str | None = None) -> None:
        """Say what is wrong."""
        super().__init__(message)
        if attribute is not None:
            self.place = f"/{escape(attribute)}"


class UnknownName(EngineError, code="unknown_name"):  # noqa: N818 - a shorter name that reads as well
    """An unknown name of an op, a node, a layer or an optimizer."""


class UnsupportedOp(UnknownName, code="not_supported"):
    """An operation that other engines have and this one does not."""


class GradientError(EngineError, code="no_gradient"):
    """A requested gradient that does not exist or cannot be computed."""


class NumericalError(EngineError, code="no_result"):
    """Numbers for which an operation has no result, such as the inverse of a singular matrix."""


class LimitError(EngineError, code="limit_exceeded"):
    """Something larger than the engine is set to take."""


class GraphError(EngineError, code="graph_invalid"):
    """A static graph that is not set up for what is asked of it."""


class GraphFull(LimitError, code="graph_full"):  # noqa: N818 - a shorter name that reads as well
    """More nodes or leafs than a static graph was made for; the graph is as it was before."""


class OutOfContextMemory(LimitError, code="out_of_context_memory"):  # noqa: N818 - a shorter name that reads as well
    """More bytes than are left in a context."""


class PlanError(EngineError, code="plan_unsound"):
    """A plan that does not compute its graph: a defect of the planner, found before the plan runs."""


class ComputeError(EngineError, code="node_failed"):
    """A node of a static graph that could not be computed; `status` is ggml's number for it."""

    def __init__(self, message: str, status: int = -1) -> None:
        """Keep the status beside the message."""
        super().__init__(message)
        self.status = status


class PoolError(EngineError, code="pool_invalid"):
    """A thread pool that cannot be created with these parameters, or that has been freed."""


class PoolPaused(PoolError, code="pool_paused"):  # noqa: N818 - a shorter name that reads as well
    """Work for a thread pool that is paused."""


class PoolMissing(PoolError, code="pool_missing"):  # noqa: N818 - a shorter name that reads as well
    """Something that needs a thread pool, and there is none."""


class PoolBusy(PoolError, code="pool_busy"):  # noqa: N818 - a shorter name that reads as well
    """A thread pool that is computing and cannot be freed or given more work."""


class NonfiniteError(NumericalError, code="numerics_nonfinite"):
    """A loss, gradient or parameter of a fit that is NaN or infinite.

    Attributes:
        step: number of the training step, from 1.
        found: the first leaf or node that held such a number, an `engine.diagnostics.Nonfinite`; None if unknown.
    """

    def __init__(self, message: str, step: int, found: object | None = None) -> None:
        """Keep the step and what was found beside the message."""
        super().__init__(message)
        self.step = step
        self.found = found


class DataError(EngineError, code="data_invalid"):
    """Rows that do not fit the graph they should feed."""


class CheckpointError(EngineError, code="checkpoint_invalid"):
    """A checkpoint that cannot be read or does not belong to this graph."""


class CollectiveError(EngineError, code="ranks_disagree"):
    """Ranks that should do the same and do not."""


class RankLost(CollectiveError, code="rank_lost"):  # noqa: N818 - a shorter name that reads as well
    """A rank that has exited, so that the others cannot continue; `rank` is its number."""

    def __init__(self, rank: int) -> None:
        """Say which rank it was."""
        super().__init__(f"rank {rank} is gone, and no rank goes on without it; resume the fit from a checkpoint")
        self.rank = rank


class RankAborted(CollectiveError, code="rank_aborted"):  # noqa: N818 - a shorter name that reads as well
    """A rank that gave up, and its `reason` in its own words."""

    def __init__(self, rank: int, reason: bytes) -> None:
        """Keep the rank and its reason."""
        super().__init__(f"rank {rank} gave up: {reason.decode(errors='replace')}")
        self.rank = rank
        self.reason = reason


class DocumentError(EngineError, code="document_invalid"):
    """A document (graph, fit configuration) with one or more faults, each with its JSON pointer."""

    def __init__(self, findings: Sequence[Finding]) -> None:
        """Collect the faults; the message joins them."""
        self.findings = tuple(findings)
        super().__init__("; ".join(f"{finding.pointer or '/'}: {finding.detail}" for finding in self.findings))


def name_op(error: EngineError, name: str) -> None:
    """Put the name of an op in front of the message of `error`, unless the message has it."""
    if not re.search(rf"\b{re.escape(name)}\b", str(error)):
        error.args = (f"{name}: {error}", *error.args[1:])


OTHER_NAMES: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "dense": ("linear",),
        "fc": ("linear",),
        "fullyconnected": ("linear",),
        "gemm": ("linear", "matmul"),
        "concatenate": ("concat",),
        "cat": ("concat",),
        "batchnormalization": ("batch_norm",),
        "batchnorm1d": ("batch_norm",),
        "batchnorm2d": ("batch_norm",),
        "layernormalization": ("layer_norm",),
        "maxpooling1d": ("max_pool1d",),
        "maxpooling2d": ("max_pool2d",),
        "averagepooling2d": ("avg_pool2d",),
        "globalaveragepooling2d": ("global_avg_pool",),
        "cutout": ("random_erasing",),
        "randomflip": ("random_horizontal_flip",),
        "randomtranslation": ("random_affine",),
        "randomzoom": ("random_affine",),
        "timemask": ("time_masking",),
        "swish": ("silu",),
        "sparsecategoricalcrossentropy": ("cross_entropy",),
        "categoricalcrossentropy": ("cross_entropy",),
        "binarycrossentropy": ("bce_with_logits_loss", "bce_loss"),
        "meansquarederror": ("mse_loss", "rmse"),
        "meanabsoluteerror": ("l1_loss", "mae"),
        "mse": ("mse_loss", "rmse"),
        "acc": ("accuracy",),
        "glorotuniform": ("xavier_uniform",),
        "glorotnormal": ("xavier_normal",),
        "heuniform": ("kaiming_uniform",),
        "henormal": ("kaiming_normal",),
        "cosineannealing": ("cosine",),
        "cosineannealinglr": ("cosine",),
        "steplr": ("step",),
        "exponentiallr": ("exponential",),
        "learningrate": ("lr",),
        "epsilon": ("eps",),
        "l2": ("weight_decay",),
        "filters": ("channels",),
        "outchannels": ("channels",),
        "outfeatures": ("units",),
        "kernelsize": ("kernel",),
        "rate": ("p", "lr"),
        "fp16": ("float16", "mixed_float16"),
        "bf16": ("bfloat16", "mixed_bfloat16"),
        "fp32": ("float32",),
        "zscore": ("standard",),
        "int": ("int64",),
        "long": ("int64",),
        "integer": ("int64",),
        "short": ("int16",),
        "byte": ("uint8",),
        "float": ("float32",),
        "single": ("float32",),
        "double": ("float64",),
        "half": ("float16",),
        "boolean": ("bool",),
    }
)
"""Names of layers, losses, metrics, initializers, schedules and dtypes in other frameworks, in lower case without
separators, and the names here that may be meant; the first one that is accepted is suggested."""

_SEPARATORS = re.compile(r"[^a-z0-9]+")


def _meant(name: str, names: Iterable[str]) -> str | None:
    """Return the name that another spelling, or another framework's name, stands for."""
    asked = _SEPARATORS.sub("", name.lower())
    plain = {_SEPARATORS.sub("", each.lower()): each for each in names}
    if asked in plain:
        return plain[asked]
    return next((each for each in OTHER_NAMES.get(asked, ()) if each in plain.values()), None)


def accepted_names(name: object, known: Iterable[str], catalogue: str = "") -> str:
    """Return what to say behind an unknown name of a choice: the nearest name, and those that are accepted.

    Of more than `MOST_LISTED` names the nearest three are given, and `catalogue`, where the others are listed.
    Prefixes of ggml's constants, as GGML_OPT_LOSS_TYPE_, are left out of the comparison.
    """
    return _accepted_names(str(name)[:64], tuple(dict.fromkeys(known)), catalogue)


@lru_cache(maxsize=64)  # a document repeats its mistakes, and each search takes milliseconds
def _accepted_names(name: str, names: tuple[str, ...], catalogue: str) -> str:
    asked = GGML_PREFIX.sub("", name.lower())
    by_lower = {each.lower(): each for each in names}
    meant = _meant(asked, names)
    if len(names) <= MOST_LISTED:
        matches = get_close_matches(asked, by_lower, n=1, cutoff=0.6)
        guess = meant or (by_lower[matches[0]] if matches else None)
        guess = f"; did you mean {guess!r}?" if guess else ""
        return f"{guess}; accepted are {', '.join(names) or 'none'}"
    matches = get_close_matches(asked, by_lower, n=3, cutoff=0.0)
    first = f"; did you mean {meant or by_lower[matches[0]]!r}?"
    others = ", ".join(by_lower[match] for match in matches)
    return f"{first}; of {len(names)} accepted names the nearest are {others}; {catalogue} lists all"


def nearest(name: str, known: Iterable[str]) -> str:
    """Return "; did you mean 'x'?" for the known name closest to `name`, or the empty string."""
    return _nearest(name[:64], tuple(islice(known, CANDIDATES)))


@lru_cache(maxsize=64)  # likewise
def _nearest(name: str, known: tuple[str, ...]) -> str:
    meant = _meant(name, known)
    matches = [meant] if meant else get_close_matches(name, known, n=1, cutoff=0.6)
    return f"; did you mean {matches[0]!r}?" if matches else ""
