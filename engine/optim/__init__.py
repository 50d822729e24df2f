"""Optimizers and schedules."""

from engine.optim.optimizers import OPTIMIZERS, Optimizer, make_optimizer, optimizer_catalogue
from engine.optim.schedules import SCHEDULES, Schedule, make_schedule, schedule_catalogue

__all__ = [
    "OPTIMIZERS",
    "SCHEDULES",
    "Optimizer",
    "Schedule",
    "make_optimizer",
    "make_schedule",
    "optimizer_catalogue",
    "schedule_catalogue",
]
