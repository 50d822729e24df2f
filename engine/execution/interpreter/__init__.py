"""Runs a graph node by node, so that every intermediate value can be examined."""
