"""Fits: training runs that can be stopped after any step and resumed to the bit."""

from engine.fit.fit import Columns, Fit
from engine.fit.point import Point

__all__ = ["Columns", "Fit", "Point"]
