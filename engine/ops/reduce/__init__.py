"""Reductions, scans, sorting and norms along axes."""

from engine.ops.reduce import norms, reduce, scan, sort, summary
