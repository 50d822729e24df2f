"""Shared by NumPy kernels: passes by blocks of the cache, results, and the workspace of the thread."""
