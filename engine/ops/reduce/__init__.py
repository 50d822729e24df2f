"""Reductions, scans, sorting and norms along axes."""

from engine.ops.reduce import counting, norms, products, reduce, scan, sort, summary
