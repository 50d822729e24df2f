"""What a sweep keeps about itself, and about each of its variants."""

from dataclasses import dataclass
from typing import Any, Literal

from app.domain.errors import Conflict
from app.domain.fit import FitRecord, FitState

WAITING = "waiting"
"""The phase of a variant that has come to a rung and waits for the others: no thread works on it."""


@dataclass(frozen=True, slots=True)
class SweepConfig:
    """How the variants of a sweep are run and ranked; part of the parent's record.

    Attributes:
        kind: how they were chosen.
        monitor: the metric that they are ranked by.
        mode: which values of it are better.
        eta: of how many one goes on to the next rung.
        rungs: the steps after which they are compared; none but for halving.
        fit_bytes: the memory that one of them needs.
        progressed_in: the last attempt in which one of them got any further, or the first since it was taken up again.
        variants: how many there were; None for a sweep from before this was kept.
    """

    kind: Literal["grid", "random", "halving"]
    monitor: str
    mode: Literal["min", "max"]
    eta: int
    rungs: list[int]
    fit_bytes: int
    progressed_in: int = 0
    variants: int | None = None


@dataclass(frozen=True, slots=True)
class VariantConfig:
    """Which variant a fit is; part of its record.

    Attributes:
        index: its place among them.
        parameters: the values that make it different, by their paths in the request.
        reached: the metric at the rungs that it has come to.
        withdrawn: whether it was cancelled by itself, and not with the sweep: then it does not go on with that.
    """

    index: int
    parameters: dict[str, Any]
    reached: list[float | None]
    withdrawn: bool = False


@dataclass(frozen=True, slots=True)
class VariantState:
    """How far a variant is: what its ranking and a resumption need of its record."""

    fit_id: str
    state: FitState
    step: int
    total_steps: int
    latest: dict[str, Any]
    best: dict[str, Any] | None
    variant: dict[str, Any]

    @property
    def terms(self) -> VariantConfig:
        """Which variant it is."""
        return VariantConfig(**self.variant)


def sweep_config_of(parent: FitRecord) -> SweepConfig:
    """Return how a sweep runs."""
    assert parent.sweep is not None
    return SweepConfig(**parent.sweep)


def check_whole(fit: FitRecord) -> None:
    """Conflict if the fit is a variant: some things are for a sweep as a whole."""
    if fit.parent_id is not None:
        raise Conflict(
            f"fit {fit.id} is a variant of {fit.parent_id} and goes as that does; ask for this of {fit.parent_id}",
            code="is_variant",
        )
