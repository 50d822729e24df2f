"""Fits: training runs that can be stopped after any step and resumed to the bit."""

from engine.fit.capturing import CapturedGradient
from engine.fit.examples import Columns
from engine.fit.fit import Fit
from engine.fit.point import Point

__all__ = ["CapturedGradient", "Columns", "Fit", "Point"]
