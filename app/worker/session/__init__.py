"""The process of a session: executes steps in order, and makes their results durable."""
