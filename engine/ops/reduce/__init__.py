"""Reductions, scans, sorting and norms along axes."""

from engine.ops.reduce import counting, norms, products, quantiles, reduce, reductions, scan, sort, summary

FAMILIES = (counting, norms, products, quantiles, reduce, reductions, scan, sort, summary)
