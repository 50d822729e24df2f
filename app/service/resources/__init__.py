"""Graphs, datasets, checkpoints and what all use cases share: memory, quota, storage."""
