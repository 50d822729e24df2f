"""The lines of a text file, decoded strictly and bounded in length."""

from collections.abc import Iterator
from io import BufferedReader

from app.ingest.errors import IngestError, too_large
from app.ingest.limits import IngestLimits

BOM = b"\xef\xbb\xbf"


def byte_lines(file: BufferedReader, limits: IngestLimits) -> Iterator[bytes]:
    """Lines with their ends; a byte order mark at the start is left out."""
    most = limits.max_record_bytes
    if file.read(len(BOM)) != BOM:
        file.seek(0)
    while line := file.readline(most + 1):
        if len(line) > most:
            raise too_large("record_too_long", "", "bytes in one line", most)
        yield line


def line_pointer(number: int) -> str:
    """JSON pointer to the line `number`, counted from 1."""
    return f"/lines/{number}"


def decode(data: bytes, first_line: int) -> str:
    """The text of lines of which the first has the number `first_line`; what is not UTF-8, or is NUL, is refused."""
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        number = first_line + data.count(b"\n", 0, error.start)
        raise IngestError("bad_utf8", line_pointer(number), f"line {number} is not UTF-8; save the file so") from None
    if "\0" in text:
        number = first_line + text.count("\n", 0, text.index("\0"))
        raise IngestError("nul_byte", line_pointer(number), f"line {number} holds a NUL character; remove it")
    return text
