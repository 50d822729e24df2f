"""Rows, their order and their batches."""

from engine.data.batches import Batches, held_out_rows, split_rows
from engine.data.loader import Batch, DataLoader

__all__ = ["Batch", "Batches", "DataLoader", "held_out_rows", "split_rows"]
