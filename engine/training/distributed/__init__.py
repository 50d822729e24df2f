"""Collectives between the ranks of a data-parallel fit."""
