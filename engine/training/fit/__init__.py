"""Fits: training runs that can be stopped after any step and resumed to the bit."""

from engine.training.fit.fit import Fit
from engine.training.fit.preprocessed import Columns
from engine.training.fit.steps import CapturedGradient, MetricRow

__all__ = ["CapturedGradient", "Columns", "Fit", "MetricRow"]
