"""Sessions: the caller drives the training loop."""
