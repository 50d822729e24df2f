"""Shapes on the wire, nothing else."""
