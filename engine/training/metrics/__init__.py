"""Metrics of predictions: statistics of batches, written in ops, accumulated and converted to values."""
