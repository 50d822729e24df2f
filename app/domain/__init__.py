"""Records, state machines and errors in plain Python: no input, no output."""
