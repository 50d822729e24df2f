"""Attempts at fits: claim, assignment, progress, crashes and resumption."""
