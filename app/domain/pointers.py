"""JSON pointers (RFC 6901), which say where in a request something is."""


def escaped(name: object) -> str:
    """Write a name as one token of a pointer, cut to 64 characters."""
    return str(name)[:64].replace("~", "~0").replace("/", "~1")
