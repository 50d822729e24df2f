"""Attempts at fits on the nodes of a Ray cluster. Only the bridge process, and Ray's own, import Ray."""
