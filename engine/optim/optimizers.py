"""Optimizers: each is a set of slots and an update written in ops, so that it becomes part of the training graph."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol

from engine.attributes import attributes_of, bind
from engine.dtypes import FLOAT64, INT64
from engine.errors import AttributeValueError, UnknownName, nearest
from engine.ops.casting import cast
from engine.ops.compare import eq, where
from engine.ops.elementwise import power, sqrt, square
from engine.value import Spec, Value

Slots = Mapping[str, Value]


class Optimizer(Protocol):
    """What turns gradients into steps.

    `update` gives the new parameter and slots; `slots` tells what it remembers for a parameter (all start at 0).
    `lr` is the learning rate the run starts from; a schedule may feed another one each step.
    """

    @property
    def lr(self) -> float:
        """The learning rate the run starts from."""

    def slots(self, parameter: Spec) -> dict[str, Spec]:
        """Return shape and dtype of every slot for a parameter."""

    def update(self, gradient: Value, parameter: Value, slots: Slots, lr: Value) -> tuple[Value, dict[str, Value]]:
        """Return the parameter and the slots after one step."""


def _positive(options: Mapping[str, float]) -> None:
    for name, value in options.items():
        if value < 0:
            raise AttributeValueError(f"{name} must be at least 0, not {value}")


def _fraction(options: Mapping[str, float]) -> None:
    for name, value in options.items():
        if not 0 <= value < 1:
            raise AttributeValueError(f"{name} must lie in 0 <= {name} < 1, not {value}")


@dataclass(frozen=True, kw_only=True)
class SGD:
    """Stochastic gradient descent with momentum (Polyak 1964), semantics of torch.optim.SGD.

    The first step takes the gradient itself as momentum; weight decay is added to the gradient.
    """

    kind: ClassVar[str] = "sgd"
    lr: float = 1e-3
    momentum: float = 0.0
    dampening: float = 0.0
    weight_decay: float = 0.0
    nesterov: bool = False

    def __post_init__(self) -> None:
        """Check the domains of the options."""
        _positive({"lr": self.lr, "momentum": self.momentum, "weight_decay": self.weight_decay})
        if self.nesterov and (self.momentum <= 0 or self.dampening != 0):
            raise AttributeValueError("nesterov needs momentum > 0 and dampening 0")

    def slots(self, parameter: Spec) -> dict[str, Spec]:
        """The momentum buffer and the step count, when there is momentum."""
        return {"step": Spec((), INT64), "momentum": parameter} if self.momentum else {}

    def update(self, gradient: Value, parameter: Value, slots: Slots, lr: Value) -> tuple[Value, dict[str, Value]]:
        """Step against the gradient or the momentum."""
        if self.weight_decay:
            gradient = gradient + parameter * self.weight_decay
        if not self.momentum:
            return parameter - gradient * lr, {}
        step, fresh = slots["step"], gradient
        if self.dampening:
            fresh = where(eq(step, 0), gradient, gradient * (1.0 - self.dampening))
        momentum = slots["momentum"] * self.momentum + fresh
        direction = gradient + momentum * self.momentum if self.nesterov else momentum
        return parameter - direction * lr, {"step": step + 1, "momentum": momentum}


@dataclass(frozen=True, kw_only=True)
class Adam:
    """Adam (Kingma and Ba 2015), semantics of torch.optim.Adam: weight decay is added to the gradient."""

    kind: ClassVar[str] = "adam"
    decoupled: ClassVar[bool] = False
    lr: float = 1e-3
    betas: tuple[float, float] = (0.9, 0.999)
    eps: float = 1e-8
    weight_decay: float = 0.0

    def __post_init__(self) -> None:
        """Check the domains of the options."""
        _positive({"lr": self.lr, "eps": self.eps, "weight_decay": self.weight_decay})
        _fraction({"betas[0]": self.betas[0], "betas[1]": self.betas[1]})

    def slots(self, parameter: Spec) -> dict[str, Spec]:
        """First and second moments, and the step count."""
        return {"step": Spec((), INT64), "moment1": parameter, "moment2": parameter}

    def update(self, gradient: Value, parameter: Value, slots: Slots, lr: Value) -> tuple[Value, dict[str, Value]]:
        """Step by the bias-corrected ratio of the moments."""
        if self.weight_decay and self.decoupled:
            parameter = parameter * (1.0 - lr * self.weight_decay)
        elif self.weight_decay:
            gradient = gradient + parameter * self.weight_decay
        beta1, beta2 = self.betas
        step = slots["step"] + 1
        count = cast(step, dtype=FLOAT64)
        moment1 = slots["moment1"] * beta1 + gradient * (1.0 - beta1)
        moment2 = slots["moment2"] * beta2 + square(gradient) * (1.0 - beta2)
        root = sqrt(moment2) * (1.0 / sqrt(1.0 - power(beta2, count))) + self.eps
        parameter = parameter - (moment1 / root) * (lr / (1.0 - power(beta1, count)))
        return parameter, {"step": step, "moment1": moment1, "moment2": moment2}


@dataclass(frozen=True, kw_only=True)
class AdamW(Adam):
    """Adam with decoupled weight decay (Loshchilov and Hutter 2019), semantics of torch.optim.AdamW."""

    kind: ClassVar[str] = "adamw"
    decoupled: ClassVar[bool] = True
    weight_decay: float = 0.01


OPTIMIZERS: dict[str, type[SGD | Adam]] = {kind.kind: kind for kind in (SGD, Adam, AdamW)}
"""Every optimizer by its kind."""


def make_optimizer(document: Mapping[str, Any]) -> Optimizer:
    """Make an optimizer from {"kind": ..., options}; unknown kinds and options are errors that name the nearest."""
    kind = document.get("kind")
    if not isinstance(kind, str) or kind not in OPTIMIZERS:
        shown = str(kind)[:64]
        raise UnknownName(f"there is no optimizer called {shown!r}{nearest(shown, OPTIMIZERS)}")
    options = {key: value for key, value in document.items() if key != "kind"}
    chosen = OPTIMIZERS[kind]
    return chosen(**bind(kind, {a.name: a for a in attributes_of(chosen)}, options))


def optimizer_catalogue() -> list[dict[str, Any]]:
    """Describe every optimizer for a client: kind, documentation, options."""
    return [
        {"kind": kind, "doc": inspect.getdoc(chosen) or "", "attrs": [a.to_json() for a in attributes_of(chosen)]}
        for kind, chosen in OPTIMIZERS.items()
    ]
