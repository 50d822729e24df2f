"""Reverse-mode automatic differentiation: backward pass, tape, transforms, vectorization."""
