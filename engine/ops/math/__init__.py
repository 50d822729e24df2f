"""Compositions: scaled sums, logarithms of sums, Fourier transforms, differences, covariances."""

from engine.ops.math import arithmetic, covariance, differences, fourier
