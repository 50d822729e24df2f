"""Training steps and evaluations of a model as plans."""

from engine.training.names import KEY
from engine.training.plan_cache import PlanCache, cached_plan
from engine.training.plans import (
    plan_evaluation,
    plan_gradients,
    plan_part,
    plan_training,
    plan_update,
    trained_parameters,
)
from engine.training.trial import batch_reduction

__all__ = [
    "KEY",
    "PlanCache",
    "batch_reduction",
    "cached_plan",
    "plan_evaluation",
    "plan_gradients",
    "plan_part",
    "plan_training",
    "plan_update",
    "trained_parameters",
]
