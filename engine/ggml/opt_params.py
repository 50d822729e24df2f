"""Parameters of ggml-style training: loss type, optimizer type, build type, step parameters."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import IntEnum
from typing import TypeVar

from engine.core.errors import AttributeValueError, UnknownName, accepted_names


class LossType(IntEnum):
    """Loss of the outputs (GGML_OPT_LOSS_TYPE_*).

    With p physical batches in a logical one and n elements in the outputs of one physical batch:
    MEAN is sum(outputs) / (p n), SUM is sum(outputs), CROSS_ENTROPY is the mean over rows of
    -sum(labels log_softmax(outputs)) / p, MEAN_SQUARED_ERROR is sum((outputs - labels)²) / (p n).
    """

    MEAN = 0
    SUM = 1
    CROSS_ENTROPY = 2
    MEAN_SQUARED_ERROR = 3

    @property
    def takes_labels(self) -> bool:
        """Whether the outputs are compared with labels."""
        return self in (LossType.CROSS_ENTROPY, LossType.MEAN_SQUARED_ERROR)

    @property
    def per_datapoint(self) -> bool:
        """Whether it is an average over datapoints, and not a sum of them (ggml's loss_per_datapoint)."""
        return self is not LossType.SUM


class OptimizerType(IntEnum):
    """Optimizer (GGML_OPT_OPTIMIZER_TYPE_*)."""

    ADAMW = 0
    SGD = 1


class BuildType(IntEnum):
    """What is computed: losses, also gradients, or also optimizer steps (GGML_OPT_BUILD_TYPE_*)."""

    FORWARD = 10
    GRAD = 20
    OPT = 30


Kind = TypeVar("Kind", LossType, OptimizerType, BuildType)

PREFIXES: Mapping[type[IntEnum], str] = {
    LossType: "GGML_OPT_LOSS_TYPE_",
    OptimizerType: "GGML_OPT_OPTIMIZER_TYPE_",
    BuildType: "GGML_OPT_BUILD_TYPE_",
}


def parse_kind(kinds: type[Kind], given: object) -> Kind:
    """Return the member of `kinds` that `given` is, counts or names (in any case, with or without ggml's prefix).

    Raises:
        UnknownName: there is none; the message lists them.
    """
    if isinstance(given, str):
        name = given.upper().removeprefix(PREFIXES[kinds])
        if name in kinds.__members__:
            return kinds[name]
    elif isinstance(given, kinds) or type(given) is int:
        for kind in kinds:
            if kind == given:
                return kind
    what = PREFIXES[kinds].removeprefix("GGML_OPT_").removesuffix("_").replace("_", " ").lower()
    raise UnknownName(f"there is no {what} {str(given)[:64]!r}{accepted_names(given, kinds.__members__)}")


@dataclass(frozen=True, kw_only=True)
class AdamWParameters:
    """The numbers of a step of AdamW: alpha > 0, betas in 0..1, eps >= 0, decoupled weight decay wd in 0..1."""

    alpha: float = 1e-3
    beta1: float = 0.9
    beta2: float = 0.999
    eps: float = 1e-8
    wd: float = 0.0

    def __post_init__(self) -> None:
        """Check the domains."""
        _require(self.alpha > 0, "adamw.alpha", self.alpha, "greater than 0")
        _require(0 <= self.beta1 <= 1, "adamw.beta1", self.beta1, "in 0..1")
        _require(0 <= self.beta2 <= 1, "adamw.beta2", self.beta2, "in 0..1")
        _require(self.eps >= 0, "adamw.eps", self.eps, "at least 0")
        _require(0 <= self.wd <= 1, "adamw.wd", self.wd, "in 0..1")


@dataclass(frozen=True, kw_only=True)
class SGDParameters:
    """The numbers of a step of SGD without momentum: alpha > 0, decoupled weight decay wd in 0..1."""

    alpha: float = 1e-3
    wd: float = 0.0

    def __post_init__(self) -> None:
        """Check the domains."""
        _require(self.alpha > 0, "sgd.alpha", self.alpha, "greater than 0")
        _require(0 <= self.wd <= 1, "sgd.wd", self.wd, "in 0..1")


@dataclass(frozen=True, kw_only=True)
class OptimizerParameters:
    """The numbers of a step for either optimizer, of which the one in use is read (ggml_opt_optimizer_params)."""

    adamw: AdamWParameters = field(default_factory=AdamWParameters)
    sgd: SGDParameters = field(default_factory=SGDParameters)


GetOptPars = Callable[[int], OptimizerParameters]
"""Returns the parameters of the next step, given the epoch, from 1 (ggml_opt_get_optimizer_params)."""


def default_opt_pars(epoch: int) -> OptimizerParameters:  # noqa: ARG001 - every callback of this kind gets the epoch
    """Return ggml's defaults in every epoch (ggml_opt_get_default_optimizer_params)."""
    return OptimizerParameters()


def constant_opt_pars(parameters: OptimizerParameters) -> GetOptPars:
    """Return a callback that returns `parameters` in every epoch (ggml_opt_get_constant_optimizer_params)."""
    return lambda epoch: parameters  # noqa: ARG005 - every callback of this kind gets the epoch


def _require(good: bool, name: str, value: float, wanted: str) -> None:
    if not good:
        raise AttributeValueError(f"{name} {value} must be {wanted}")
