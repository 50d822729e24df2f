"""Sessions: creation, steps, states and their processes."""
