"""What the verbs of a session answer."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from engine.core.value import Array
from engine.session.tape import Tape


@dataclass(frozen=True, slots=True)
class Forward:
    """A forward pass: each declared output, each loss, and what `backward` takes if it was to be kept."""

    outputs: Mapping[str, Array]
    losses: Mapping[str, float]
    tape: Tape | None = None


@dataclass(frozen=True, slots=True)
class Gradients:
    """The gradients as they are added up by now, before clipping: the norm of all together and of each parameter's."""

    norm: float
    norms: Mapping[str, float]


@dataclass(frozen=True, slots=True)
class Stepped:
    """A forward and backward pass: each loss and their sum by the reduction asked for, and norms as in `Gradients`.

    `outputs` are the declared ones if they were asked for.
    """

    losses: Mapping[str, float]
    loss: float
    norm: float
    norms: Mapping[str, float]
    outputs: Mapping[str, Array] | None = None


@dataclass(frozen=True, slots=True)
class Updated:
    """A step of the optimizer.

    Attributes:
        step: steps taken by now.
        norm: of all gradients together, before clipping.
        norms: of each parameter's.
        clipped: whether a limit has changed a gradient.
        taken: whether parameters were stepped: not without a gradient, and not where a step that is not finite is to be
            left out.
    """

    step: int
    norm: float
    norms: Mapping[str, float]
    clipped: bool
    taken: bool
