"""A graph without a fit: its values and derivatives at one point, and a check of its gradients."""

from engine.laboratory.evaluation import compute
from engine.laboratory.gradient_check import check_gradients

__all__ = ["check_gradients", "compute"]
