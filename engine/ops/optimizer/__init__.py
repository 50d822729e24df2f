"""Steps of optimizers as ops."""

from engine.ops.optimizer import opt_step, updates

FAMILIES = (opt_step, updates)
