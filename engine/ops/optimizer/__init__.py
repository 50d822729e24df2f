"""Steps of optimizers as ops."""

from engine.ops.optimizer import lazy, opt_step, updates
