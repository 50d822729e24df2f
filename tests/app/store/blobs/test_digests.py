"""A digest is that of the bytes as they were given, whatever their sizes and whatever becomes of them."""

import hashlib
import threading

from app.store.blobs.digests import LARGE_BYTES, ParallelDigest

PIECES = [b"a", b"b" * LARGE_BYTES, b"", b"c" * (LARGE_BYTES - 1), b"d" * (3 * LARGE_BYTES), b"e" * LARGE_BYTES]


def test_pieces_of_all_sizes_are_digested_in_their_order():
    digest, expected = ParallelDigest(), hashlib.sha256()
    for piece in PIECES:
        digest.update(piece)
        expected.update(piece)
    assert digest.hexdigest() == expected.hexdigest()
    digest.close()
    assert digest.hexdigest() == expected.hexdigest()


def test_bytes_that_change_later_are_digested_as_they_were():
    digest, data = ParallelDigest(), bytearray(LARGE_BYTES)
    digest.update(data)
    data[:] = b"x" * LARGE_BYTES
    assert digest.hexdigest() == hashlib.sha256(bytes(LARGE_BYTES)).hexdigest()


def test_no_thread_is_left():
    before, digest = threading.active_count(), ParallelDigest()
    digest.update(bytes(LARGE_BYTES))
    digest.close()
    digest.close()
    assert threading.active_count() == before
