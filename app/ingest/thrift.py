"""Thrift's compact protocol, which encodes the metadata of Parquet files: a strict reader and a writer.

A structure is a dict of fields by id; a field has its type and its value, so that what is read can be encoded again.
pyarrow does not replace the reader: it exposes no page headers, and the uncompressed size of a page has to be checked
before pyarrow allocates it.
"""

from typing import Any, NamedTuple

from app.ingest.limits import IngestError

TRUE, FALSE, BYTE, I16, I32, I64, DOUBLE, BINARY, LIST, SET, MAP, STRUCT, UUID = range(1, 14)
_SIZES = {BYTE: 1, DOUBLE: 8, UUID: 16}
_INTEGERS = {I16: 16, I32: 32, I64: 64}
_VARINT_BYTES_MAX = 10
_DEPTH_MAX = 16
_LONG_LIST = 15


class Field(NamedTuple):
    """A value and its type, which is one of the numbers above."""

    type: int
    value: Any


class Sequence(NamedTuple):
    """Values of one type, of a list or a set."""

    type: int
    values: list[Any]


Struct = dict[int, Field]


def malformed(what: str) -> IngestError:
    """Return the error of malformed metadata; `what` completes its message."""
    return IngestError("bad_metadata", "", f"the file's metadata {what}; write the file again")


class ThriftReader:
    """Reads `data` sequentially. No allocation is larger than the bytes read for it."""

    def __init__(self, data: bytes, position: int = 0) -> None:
        self._data = data
        self.position = position

    def struct(self, depth: int = 0) -> Struct:
        """Read a structure."""
        if depth > _DEPTH_MAX:
            raise malformed(f"is nested deeper than {_DEPTH_MAX}")
        fields: Struct = {}
        number = 0
        while head := self._byte():
            type_ = head & 0x0F
            number = number + (head >> 4) if head >> 4 else self._integer(16)
            if number in fields:
                raise malformed("has a field twice")
            fields[number] = Field(type_, type_ == TRUE if type_ in (TRUE, FALSE) else self._value(type_, depth))
        return fields

    def _value(self, type_: int, depth: int) -> Any:
        if type_ in _INTEGERS:
            return self._integer(_INTEGERS[type_])
        if type_ in _SIZES:
            return self._bytes(_SIZES[type_])
        if type_ == BINARY:
            return self._bytes(self._varint())
        if type_ in (LIST, SET):
            return self._sequence(depth + 1)
        if type_ == STRUCT:
            return self.struct(depth + 1)
        raise malformed("has a value of a type that is not known")

    def _sequence(self, depth: int) -> Sequence:
        if depth > _DEPTH_MAX:
            raise malformed(f"is nested deeper than {_DEPTH_MAX}")
        head = self._byte()
        count = self._varint() if head >> 4 == _LONG_LIST else head >> 4
        type_ = head & 0x0F
        if count > len(self._data) - self.position:  # each of them takes a byte at least
            raise malformed("has a list that is longer than itself")
        if type_ in (TRUE, FALSE):
            return Sequence(type_, [*self._bytes(count)])
        return Sequence(type_, [self._value(type_, depth) for _ in range(count)])

    def _integer(self, bits: int) -> int:
        coded = self._varint()
        value = (coded >> 1) ^ -(coded & 1)
        if not -(1 << bits - 1) <= value < 1 << bits - 1:
            raise malformed(f"has a number beyond {bits} bits")
        return value

    def _varint(self) -> int:
        value = self._byte()
        if value < 0x80:
            return value
        value &= 0x7F
        for place in range(1, _VARINT_BYTES_MAX):
            byte = self._byte()
            value |= (byte & 0x7F) << 7 * place
            if not byte & 0x80:
                return value
        raise malformed("has a number without end")

    def _byte(self) -> int:
        if self.position >= len(self._data):
            raise malformed("ends too early")
        found = self._data[self.position]
        self.position += 1
        return found

    def _bytes(self, count: int) -> bytes:
        end = self.position + count
        if end > len(self._data):
            raise malformed("ends too early")
        found = self._data[self.position : end]
        self.position = end
        return found


def encode(fields: Struct) -> bytes:
    """Encode a structure, its fields in ascending order of their ids."""
    parts = []
    before = 0
    for number, (type_, value) in sorted(fields.items()):
        step = number - before
        parts.append(bytes([step << 4 | type_]) if 0 < step < 16 else bytes([type_]) + _integer(number))
        if type_ not in (TRUE, FALSE):
            parts.append(_encode(type_, value))
        before = number
    return b"".join((*parts, b"\0"))


def _encode(type_: int, value: Any) -> bytes:
    if type_ in _INTEGERS:
        return _integer(value)
    if type_ in _SIZES:
        return bytes(value)
    if type_ == BINARY:
        return _varint(len(value)) + bytes(value)
    if type_ == STRUCT:
        return encode(value)
    inner, values = value
    count = len(values)
    head = bytes([count << 4 | inner]) if count < _LONG_LIST else bytes([0xF0 | inner]) + _varint(count)
    if inner in (TRUE, FALSE):
        return head + bytes(values)
    return head + b"".join(_encode(inner, each) for each in values)


def _integer(value: int) -> bytes:
    return _varint(value << 1 if value >= 0 else (-value << 1) - 1)


def _varint(value: int) -> bytes:
    parts = bytearray()
    while value > 0x7F:
        parts.append(value & 0x7F | 0x80)
        value >>= 7
    parts.append(value)
    return bytes(parts)


def required(fields: Struct, number: int, type_: int) -> Any:
    """Return the value of a required field of this type."""
    if number not in fields or fields[number].type != type_:
        raise malformed(f"lacks a field, or it is of another type (field {number})")
    return fields[number].value


def optional(fields: Struct, number: int, type_: int) -> Any:
    """Return the value of an optional field of this type; None if it is missing."""
    return required(fields, number, type_) if number in fields else None


def listed(fields: Struct, number: int, type_: int) -> list[Any]:
    """Return the values of a required list of this type."""
    sequence: Sequence = required(fields, number, LIST)
    if sequence.type != type_ and sequence.values:
        raise malformed(f"has a list of another type (field {number})")
    return sequence.values
