"""The pages of a Parquet file: how much memory they take once unpacked is checked before any of it is taken."""

from io import BufferedReader

from app.ingest import thrift
from app.ingest.errors import IngestError, too_large
from app.ingest.limits import KIB
from app.ingest.parquet_footer import Chunk
from app.ingest.thrift import Struct, ThriftReader, malformed, required

_HEADER_BYTES_MAX = 64 * KIB
_DATA, _INDEX, _DICTIONARY, _DATA_2 = range(4)
_HEADER_OF = {_DATA: 5, _DICTIONARY: 7, _DATA_2: 8}


def check_pages(file: BufferedReader, chunk: Chunk, page_bytes_max: int) -> None:
    """Walk over the pages of a chunk, which have to fill it and to hold its values.

    A page that unpacks to more than `page_bytes_max` is refused, as is a dictionary with more entries than bytes.
    """
    position, values = chunk.start, 0
    while position < chunk.end:
        file.seek(position)
        reader = ThriftReader(file.read(min(_HEADER_BYTES_MAX, chunk.end - position)))
        header = reader.struct()
        unpacked, packed = required(header, 2, thrift.I32), required(header, 3, thrift.I32)
        position += reader.position + packed
        if packed < 0 or unpacked < 0 or position > chunk.end:
            raise IngestError("bad_offsets", chunk.leaf.pointer, "a page does not lie within its column")
        if unpacked > page_bytes_max:
            raise too_large("page_too_large", chunk.leaf.pointer, "bytes in a page once unpacked", page_bytes_max)
        values += _values(header, unpacked, first=values == 0)
    if values != chunk.values:
        raise malformed("counts other values than its pages have")


def _values(header: Struct, unpacked: int, *, first: bool) -> int:
    """Return how many values of the column a page has."""
    kind = required(header, 1, thrift.I32)
    if kind == _INDEX:
        return 0
    if kind not in _HEADER_OF:
        raise malformed("has a page of a kind that is not known")
    count: int = required(required(header, _HEADER_OF[kind], thrift.STRUCT), 1, thrift.I32)
    if count < 0:
        raise malformed("has a page of less than no values")
    if kind != _DICTIONARY:
        return count
    if not first or count > unpacked:
        raise malformed("has a dictionary that is not its column's, or longer than it can be")
    return 0
