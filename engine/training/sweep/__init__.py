"""Sweeps: many fits of one graph on the same rows, which differ in a few fields of their recipes."""

from engine.training.sweep.admission import SweepEstimate, check_sweep
from engine.training.sweep.expansion import Variant, expand
from engine.training.sweep.halving import LeftBehind, SuccessiveHalving, rank_values, ranking_value
from engine.training.sweep.options import SweepOptions, read_sweep
from engine.training.sweep.sweep import Result, Sweep
from engine.training.sweep.variant_pool import Ended, Halted, Reached, VariantPool

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
