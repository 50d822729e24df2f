"""The operating system: durable writes, confinement, control groups, logging."""
