"""Settings of the server and bounds of what it accepts."""
