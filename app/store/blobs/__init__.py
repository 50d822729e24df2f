"""Bytes by the SHA-256 of what they say: written once, whole or not at all, and never changed."""
