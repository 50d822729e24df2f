"""Names of arrays in bodies of requests: what every reader accepts, so that any document can name one."""

from app.ingest.errors import IngestError

LONGEST = 512


def check_array_name(name: str, where: str) -> None:
    """Refuse a name that is empty, too long, or holds what is no character; `where` tells the client which one."""
    if not 0 < len(name) <= LONGEST:
        raise IngestError("bad_name", "", f"{where}: a name has 1 to {LONGEST} characters")
    if name.isascii() and name.isprintable():
        return
    if any(not _is_character(character) for character in name):
        raise IngestError("bad_name", "", f"{where}: a name holds no control characters and no halves of pairs")


def _is_character(character: str) -> bool:
    # Control characters are those below the space, and from DEL to the end of the second block of them.
    return character >= " " and not "\x7f" <= character <= "\x9f" and not "\ud800" <= character <= "\udfff"
