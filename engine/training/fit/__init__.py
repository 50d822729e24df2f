"""Fits: training runs that can be stopped after any step and resumed to the bit."""
