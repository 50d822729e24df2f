"""Writes the generated pages of docs/reference: `python -m tools.docs`."""
