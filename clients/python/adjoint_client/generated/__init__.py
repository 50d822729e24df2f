"""Generated from the contract by clients/generate.py: change the server or the generator."""
