"""The client, written once for asyncio; `clients/generate.py` makes `adjoint_client._sync` of it."""
