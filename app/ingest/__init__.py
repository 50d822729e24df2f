"""Strict parsers of what strangers upload, run in a limited child process.

`app.ingest.ingest` is the front door. This file imports nothing: the child starts through it, and starts quickly.
"""
