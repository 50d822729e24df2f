"""Transforms, of which chains are made: each turns one update into another."""

from engine.optim.transforms.gradient_transform import GradientTransform
from engine.optim.transforms.table import TRANSFORMS, read_transforms, transform_catalogue

__all__ = ["TRANSFORMS", "GradientTransform", "read_transforms", "transform_catalogue"]
