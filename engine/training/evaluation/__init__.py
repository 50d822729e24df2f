"""Evaluation of a stored model on rows of a dataset: loss, metrics, and a report on its classes or numbers."""
