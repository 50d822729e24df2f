"""Diagnostics: values and derivatives of a graph at one point, gradient check, profile, report."""

from engine.diagnostics.evaluation import compute
from engine.diagnostics.gradient_check import check_gradients
from engine.diagnostics.profiling import Timing, profile_step
from engine.diagnostics.row_losses import RowLosses, row_losses
from engine.execution.interpreter.nonfinite import Nonfinite, Operand, trace_nonfinite

__all__ = [
    "Nonfinite",
    "Operand",
    "RowLosses",
    "Timing",
    "check_gradients",
    "compute",
    "profile_step",
    "row_losses",
    "trace_nonfinite",
]
