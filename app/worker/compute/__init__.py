"""Processes that predict and compute for requests: one order at a time, within the memory that they are granted."""
