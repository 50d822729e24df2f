"""A graph without a fit: its values and derivatives at one point, and a look into a step of it."""

from engine.laboratory.evaluation import compute
from engine.laboratory.gradient_check import check_gradients
from engine.laboratory.profiling import Timing, profile_step
from engine.laboratory.rows import RowLosses, row_losses
from engine.laboratory.tracing import Nonfinite, Operand, trace_nonfinite

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
