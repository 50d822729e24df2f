"""Optimizers and schedules, as pure functions and as objects on the tape; clipping of gradients."""
