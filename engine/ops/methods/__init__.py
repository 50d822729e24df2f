"""Operators, methods and indexing of values."""
