"""Preprocessing of table columns: what a model does to raw columns before its graph, with its fitted statistics."""
