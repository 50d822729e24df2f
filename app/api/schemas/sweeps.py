"""Sweeps on the wire."""

from math import isfinite
from typing import Annotated, Any, Literal, Self

from pydantic import Field

from app.api.schemas.values import DescribedBy, OneOf, RequestShape, ResourceShape, nonfinite_name
from app.domain.fit import FitState, sweep_config_of
from app.service.fits.sweeps import RankingEntry, ranking
from app.service.fits.view import FitView

PARAMETERS_MAX = 32
VARIANTS_MAX = 1024
RANKING_MAX = 100
"""How many variants a fit shows of its ranking; the route of its variants shows all."""


class IntervalChoice(RequestShape):
    """Numbers from min to max, both included, any of which may be drawn."""

    min: float = Field(description="Smallest value, any finite number below max; with log greater than 0.")
    max: float = Field(description="Largest value, any finite number above min.")
    log: bool | None = Field(default=None, description="Whether their logarithms are equally likely; default false.")
    integer: bool | None = Field(default=None, description="Whether they are whole numbers; default false.")


ValuesList = Annotated[list[Any], Field(min_length=1, max_length=VARIANTS_MAX)]
Values = Annotated[
    list[Any] | dict[str, Any],
    DescribedBy(IntervalChoice, also=OneOf(ValuesList, f"a list of 1 to {VARIANTS_MAX} values")),
]


class SweepChoice(RequestShape):
    """Variants of one fit, which differ in a few fields; each is a fit of its own."""

    kind: Literal["grid", "random", "halving"] = Field(
        description=(
            '"grid": every combination, the last parameter varying fastest; "random": samples of them; "halving": a '
            "grid, or samples, of which the best of every eta go on from rung to rung."
        )
    )
    parameters: dict[str, Values] = Field(
        min_length=1,
        max_length=PARAMETERS_MAX,
        description=(
            "By path into this request, as optimizer.lr or optimizer.groups.0.lr: a list of values, or a range "
            "{min, max, log, integer} to draw from."
        ),
    )
    samples: int | None = Field(
        default=None,
        description=(
            f"Number of combinations to draw, 1 to {VARIANTS_MAX}; no two are equal. Required with kind random, and "
            "where a range is given; default: all combinations."
        ),
    )
    seed: int | None = Field(default=None, description="Seed of the samples, at least 0; default 0.")
    eta: int | None = Field(
        default=None, description="halving: one of this many variants advances to the next rung, 2 to 100; default 3."
    )
    min_steps: int | None = Field(
        default=None,
        description="halving: steps of the first rung, at least 1; by default so that the last variant left ends.",
    )
    monitor: str | None = Field(
        default=None,
        description=(
            "The metric to rank by: loss, val_loss, or a metric as val_accuracy. Default that of early_stopping, "
            "else loss."
        ),
    )
    mode: Literal["min", "max"] | None = Field(default=None, description="Which is better; by default as the metric.")


class VariantInfo(ResourceShape):
    """Which variant of a sweep a fit is."""

    index: int
    parameters: dict[str, Any]


class RankedVariant(ResourceShape):
    """A variant of a sweep with its rank."""

    fit: str
    rank: int
    value: float | None = Field(description="The metric that variants are ranked by: its best value if the fit has it.")
    nonfinite: str | None = Field(description="The value if it is not finite: nan, inf or -inf.")
    index: int
    parameters: dict[str, Any]
    state: FitState
    step: int
    total_steps: int

    @classmethod
    def show(cls, ranked: RankingEntry) -> Self:
        """Build from an entry of the ranking."""
        value, standing = ranked.value, ranked.standing
        finite = value is None or isfinite(value)
        return cls.from_record(
            standing,
            fit=standing.fit_id,
            rank=ranked.rank,
            value=value if finite else None,
            nonfinite=None if value is None or finite else nonfinite_name(value),
            index=standing.terms.index,
            parameters=standing.terms.parameters,
        )


class SweepSummary(ResourceShape):
    """Progress of the variants of a fit."""

    kind: Literal["grid", "random", "halving"]
    monitor: str
    mode: Literal["min", "max"]
    rungs: list[int] = Field(description="Steps after which variants are compared; none but for halving.")
    variants: int
    states: dict[FitState, int] = Field(description="Number of variants in each state that occurs.")
    ranking: list[RankedVariant] = Field(description=f"The best {RANKING_MAX} variants, the best first.")

    @classmethod
    def show(cls, view: FitView) -> Self:
        """Build from a fit with a sweep."""
        states = [standing.state for standing in view.standings]
        return cls.from_record(
            sweep_config_of(view.fit),
            variants=len(states),
            states={state: states.count(state) for state in FitState if state in states},
            ranking=[RankedVariant.show(ranked) for ranked in ranking(view.fit, view.standings)[:RANKING_MAX]],
        )


class VariantList(ResourceShape):
    """All variants of a sweep, the best first."""

    object: Literal["list"] = "list"
    data: list[RankedVariant]
    has_more: bool = False
    next_cursor: str | None = None

    @classmethod
    def show(cls, view: FitView) -> Self:
        """Build from a fit with a sweep."""
        return cls(data=[RankedVariant.show(ranked) for ranked in ranking(view.fit, view.standings)])
