"""Sweeps: many fits of one graph on the same rows, which differ in a few fields of their recipes."""

from engine.training.sweep.admission import SweepEstimate, check_sweep
from engine.training.sweep.expansion import Variant, expand
from engine.training.sweep.ladder import Ladder, LeftBehind
from engine.training.sweep.options import SweepOptions, read_sweep
from engine.training.sweep.ranking import ranked, standing
from engine.training.sweep.sweep import Result, Sweep
from engine.training.sweep.walkers import Ended, Halted, Reached, Walkers

__all__ = [
    "Ended",
    "Halted",
    "Ladder",
    "LeftBehind",
    "Reached",
    "Result",
    "Sweep",
    "SweepEstimate",
    "SweepOptions",
    "Variant",
    "Walkers",
    "check_sweep",
    "expand",
    "ranked",
    "read_sweep",
    "standing",
]
