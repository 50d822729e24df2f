"""Writes the generated part of the Python client: the types of the contract and its table of operations."""
