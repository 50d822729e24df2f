"""Layers, modules and initializers."""
