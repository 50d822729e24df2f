"""Use cases, a file a noun: one transaction each, no HTTP, no SQL."""
