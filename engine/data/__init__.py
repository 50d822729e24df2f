"""Rows, their order and their batches."""

from engine.data.batches import Batches, split_rows

__all__ = ["Batches", "split_rows"]
