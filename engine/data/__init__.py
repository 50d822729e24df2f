"""Rows, their order and their batches."""
