"""How long tests wait for what has to come: only a fault lasts so long, however slow the machine is."""

PATIENCE = 120.0
"""Seconds for a process, a thread, an answer or a state."""

LONGEST_WAIT = 60
"""The longest `wait` that a server takes, in seconds; what is awaited needs a small part of it on any machine."""
