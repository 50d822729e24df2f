"""Fits: training runs that can be stopped after any step and resumed to the bit."""

from engine.training.fit.examples import Columns
from engine.training.fit.fit import Fit
from engine.training.fit.gradient_capture import CapturedGradient
from engine.training.fit.steps import MetricRow

__all__ = ["CapturedGradient", "Columns", "Fit", "MetricRow"]
