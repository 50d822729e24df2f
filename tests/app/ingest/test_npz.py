"""`.npz` archives: what `numpy.savez` writes is taken; bombs, lies and ambiguities are not."""

import io
import zipfile

import numpy as np
import pytest

from app.ingest.limits import IngestLimits
from tests.security.corpus.npz import ONE, REFUSED, savez


@pytest.mark.parametrize("name", REFUSED)
def test_a_hostile_archive_is_refused_with_its_code(name, refusal):
    data, code = REFUSED[name]
    error = refusal(data, "npz")
    assert error.code == code, error.detail


@pytest.mark.parametrize("compressed", [False, True])
def test_what_savez_writes_is_read(compressed, arrays):
    rng = np.random.default_rng(0)
    given = {
        "x": rng.normal(size=(5, 3)).astype(np.float32),
        "y_1": rng.integers(0, 9, 5),
        "turned": np.asfortranarray(rng.normal(size=(5, 4))),
        "a.b-c": np.array([True, False, True, True, False]),
    }
    read = arrays(savez(compressed, **given), "npz")
    assert list(read) == list(given)
    for name, array in given.items():
        np.testing.assert_array_equal(read[name], array)


def test_names_of_unnamed_arrays_are_numpys(arrays):
    file = io.BytesIO()
    np.savez(file, np.arange(2), np.arange(2.0))
    assert list(arrays(file.getvalue(), "npz")) == ["arr_0", "arr_1"]


def test_an_archive_written_to_a_pipe_is_read(arrays):
    class Pipe(io.RawIOBase):
        def __init__(self) -> None:
            self.data = b""

        def writable(self) -> bool:
            return True

        def write(self, data: bytes) -> int:
            self.data += bytes(data)
            return len(data)

    pipe = Pipe()
    with zipfile.ZipFile(pipe, "w", zipfile.ZIP_DEFLATED) as zip_file:
        zip_file.writestr("x.npy", ONE)
        zip_file.writestr("y.npy", ONE)
    assert pipe.data.find(b"PK\7\x08") > 0, "members are followed by data descriptors"
    np.testing.assert_array_equal(arrays(pipe.data, "npz")["y"], np.arange(4.0))


def test_equal_labels_are_no_bomb(arrays):
    labels = np.repeat(np.arange(10), 1000)
    np.testing.assert_array_equal(arrays(savez(True, y=labels), "npz")["y"], labels)


def test_the_expanded_size_is_limited_over_all_members(refusal):
    data = savez(x=np.zeros(100), y=np.zeros(100))
    assert refusal(data, "npz", limits=IngestLimits(max_expanded_bytes=1000)).code == "expanded_too_large"
