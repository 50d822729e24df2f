"""Optimizers and schedules, as pure functions and as objects on the tape; clipping of gradients."""

from engine.optim.clipping import (
    clip_grad_adaptive_,
    clip_grad_norm_,
    clip_grad_norm_each_,
    clip_grad_value_,
    clip_gradients,
    total_norm,
)
from engine.optim.closure_optimizer import ClosureOptimizer
from engine.optim.lbfgs import LBFGS, LBFGSStep
from engine.optim.loss_scaler import LossScaler, ScaledStep
from engine.optim.optimizer import Optimizer, Transform
from engine.optim.optimizers import (
    CLOSURE_OPTIMIZERS,
    OPTIMIZERS,
    Chain,
    make_optimizer,
    make_transform,
    optimizer_catalogue,
)
from engine.optim.scheduler import Scheduler
from engine.optim.schedules import SCHEDULES, Plateau, Schedule, make_schedule, read_schedule, schedule_catalogue
from engine.optim.tape_optimizer import Group, TapeOptimizer
from engine.optim.transforms.clipping import AdaptiveClip, Clip, GradientNoise

__all__ = [
    "CLOSURE_OPTIMIZERS",
    "LBFGS",
    "OPTIMIZERS",
    "SCHEDULES",
    "AdaptiveClip",
    "Chain",
    "Clip",
    "ClosureOptimizer",
    "GradientNoise",
    "Group",
    "LBFGSStep",
    "LossScaler",
    "Optimizer",
    "Plateau",
    "ScaledStep",
    "Schedule",
    "Scheduler",
    "TapeOptimizer",
    "Transform",
    "clip_grad_adaptive_",
    "clip_grad_norm_",
    "clip_grad_norm_each_",
    "clip_grad_value_",
    "clip_gradients",
    "make_optimizer",
    "make_schedule",
    "make_transform",
    "optimizer_catalogue",
    "read_schedule",
    "schedule_catalogue",
    "total_norm",
]
