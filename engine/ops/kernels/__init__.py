"""What NumPy kernels share: passes by blocks of the cache, results, and the thread's workspace."""
