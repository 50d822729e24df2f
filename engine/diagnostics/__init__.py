"""Diagnostics: values and derivatives of a graph at one point, gradient check, profile, report."""
