"""Composition: builds the server from its parts and runs its periodic tasks."""
