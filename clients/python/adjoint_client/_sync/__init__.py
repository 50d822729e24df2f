# Made from _async/__init__.py by clients/generate.py: change that file.
"""The client, written once for asyncio; `clients/generate.py` makes `adjoint_client._sync` of it."""
