"""Fits and sweeps as clients see them: creation, control, metrics, gradients, removal."""
