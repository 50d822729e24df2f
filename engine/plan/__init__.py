"""Plans: computations as data, and what runs them."""

from engine.plan.numpy_executor import NumpyExecutor
from engine.plan.plan import Plan
from engine.plan.planner import make_plan

__all__ = ["NumpyExecutor", "Plan", "make_plan"]
