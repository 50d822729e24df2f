"""Plans: computations as data, and what runs them."""

from engine.plan.drawing import plan_dot
from engine.plan.numpy_executor import NumpyExecutor
from engine.plan.plan import Plan
from engine.plan.planner import make_plan
from engine.plan.program import Sequel, plan_program

__all__ = ["NumpyExecutor", "Plan", "Sequel", "make_plan", "plan_dot", "plan_program"]
