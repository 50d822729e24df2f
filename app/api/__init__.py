"""HTTP only: a file a noun, no decisions."""
