"""Plans: computations as data, and what runs them."""

from engine.execution.plan.numpy_executor import NumpyExecutor
from engine.execution.plan.plan import Plan
from engine.execution.plan.planner import make_plan
from engine.execution.plan.printer import plan_dot, plan_json, plan_text
from engine.execution.plan.program import Sequel, plan_program

__all__ = ["NumpyExecutor", "Plan", "Sequel", "make_plan", "plan_dot", "plan_json", "plan_program", "plan_text"]
