"""Steps of optimizers as ops."""

from engine.ops.optimizer import opt_step, updates
