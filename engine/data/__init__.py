"""Rows, their order and their batches."""

from engine.data.batches import Batches, held_out_rows, split_rows

__all__ = ["Batches", "held_out_rows", "split_rows"]
