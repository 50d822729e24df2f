"""Optimizers and schedules, as pure functions and as objects on the tape; clipping of gradients."""

from engine.optim.clipping import clip_grad_norm_, clip_grad_value_, clip_gradients, total_norm
from engine.optim.loss_scaler import LossScaler, ScaledStep
from engine.optim.optimizers import OPTIMIZERS, make_optimizer, optimizer_catalogue
from engine.optim.scheduler import Scheduler
from engine.optim.schedules import SCHEDULES, Plateau, Schedule, make_schedule, read_schedule, schedule_catalogue
from engine.optim.tape_optimizer import Group, TapeOptimizer
from engine.optim.transform import Optimizer

__all__ = [
    "OPTIMIZERS",
    "SCHEDULES",
    "Group",
    "LossScaler",
    "Optimizer",
    "Plateau",
    "ScaledStep",
    "Schedule",
    "Scheduler",
    "TapeOptimizer",
    "clip_grad_norm_",
    "clip_grad_value_",
    "clip_gradients",
    "make_optimizer",
    "make_schedule",
    "optimizer_catalogue",
    "read_schedule",
    "schedule_catalogue",
    "total_norm",
]
