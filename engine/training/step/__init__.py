"""Training steps and evaluations of a model as plans."""

from engine.training.step.plan_cache import PlanCache, cached_plan
from engine.training.step.plans import (
    plan_evaluation,
    plan_gradients,
    plan_part,
    plan_training,
    plan_update,
    trained_in,
    trained_parameters,
)
from engine.training.step.trial import batch_reduction

__all__ = [
    "PlanCache",
    "batch_reduction",
    "cached_plan",
    "plan_evaluation",
    "plan_gradients",
    "plan_part",
    "plan_training",
    "plan_update",
    "trained_in",
    "trained_parameters",
]
