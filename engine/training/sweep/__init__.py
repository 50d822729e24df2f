"""Sweeps: many fits of one graph on the same rows, which differ in a few fields of their recipes."""

from engine.training.sweep.expansion import SweepEstimate, Variant, check_sweep, expand
from engine.training.sweep.halving import LeftBehind, SuccessiveHalving, rank_values, ranking_value
from engine.training.sweep.options import SweepOptions, read_sweep
from engine.training.sweep.sweep import Ended, Halted, Reached, Result, Sweep, VariantPool

__all__ = [
    "Ended",
    "Halted",
    "LeftBehind",
    "Reached",
    "Result",
    "SuccessiveHalving",
    "Sweep",
    "SweepEstimate",
    "SweepOptions",
    "Variant",
    "VariantPool",
    "check_sweep",
    "expand",
    "rank_values",
    "ranking_value",
    "read_sweep",
]
