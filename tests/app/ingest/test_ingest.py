"""The front door, with its real child process."""

import os
import resource
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from app.domain.errors import ApiError, Invalid, StorageFull, TooLarge
from app.ingest import ingest as front_door
from app.ingest.exchange import ChildError
from app.ingest.ingest import FORMATS, ingest
from app.ingest.limits import MIB, IngestError, IngestLimits, IngestOptions, domain_error
from tests.security.corpus.npy import npy

LIMITS = IngestLimits()


def upload(folder: Path, data: bytes) -> tuple[Path, Path]:
    path = folder / "upload"
    path.write_bytes(data)
    target = folder / "columns"
    target.mkdir()
    return path, target


def zeros(folder: Path, size_bytes: int, fortran: bool = False) -> tuple[Path, Path]:
    """A sparse `.npy` file of float32 zeros, which costs no disk."""
    path, target = upload(folder, b"")
    shape = (size_bytes // 4 // 64, 64)
    with path.open("wb") as file:
        np.lib.format.write_array_header_1_0(file, {"descr": "<f4", "fortran_order": fortran, "shape": shape})
        file.truncate(file.tell() + size_bytes)
    return path, target


def test_an_upload_becomes_columns_and_statistics(tmp_path):
    path, target = upload(tmp_path, b"a,s\n1.5,x\n,y\n")
    result = ingest(path, "csv", target, IngestOptions(), LIMITS)
    assert result.rows == 2
    number, text = result.columns
    assert (number.name, number.dtype, number.shape, number.missing) == ("a", "float32", (), 1)
    assert (number.minimum, number.maximum, number.mean) == (1.5, 1.5, 1.5)
    assert text.classes == ("x", "y")
    assert np.load(text.path).tolist() == [0, 1]
    assert {column.path.parent for column in result.columns} == {target}
    assert path.read_bytes() == b"a,s\n1.5,x\n,y\n", "the upload itself is left as it is"


def test_options_reach_the_child(tmp_path):
    path, target = upload(tmp_path, b"a,b\n1,2\n")
    result = ingest(path, "csv", target, IngestOptions(columns_spec="x:float32[2]=a,b"), LIMITS)
    assert result.columns[0].shape == (2,)


@pytest.mark.parametrize("format", FORMATS)
def test_garbage_is_invalid_in_every_format(format, tmp_path):
    path, target = upload(tmp_path, b"\xff\xfe\0garbage")
    with pytest.raises(Invalid) as caught:
        ingest(path, format, target, IngestOptions(), LIMITS)
    (finding,) = caught.value.findings
    assert finding.code == caught.value.code
    assert finding.detail == caught.value.detail
    assert "garbage" not in finding.detail


def test_an_unknown_format_is_invalid(tmp_path):
    path, target = upload(tmp_path, b"x")
    with pytest.raises(Invalid) as caught:
        ingest(path, "pickle", target, IngestOptions(), LIMITS)
    assert caught.value.code == "unknown_format"


def test_the_columns_option_is_for_csv_only(tmp_path):
    path, target = upload(tmp_path, b"x")
    with pytest.raises(Invalid) as caught:
        ingest(path, "npy", target, IngestOptions(columns_spec="x:int64"), LIMITS)
    assert caught.value.code == "bad_columns"


def test_an_exceeded_limit_is_too_large_and_shows_the_limit(tmp_path):
    path, target = zeros(tmp_path, MIB)
    with pytest.raises(TooLarge) as caught:
        ingest(path, "npy", target, IngestOptions(), IngestLimits(max_expanded_bytes=1000))
    assert caught.value.extensions == {"limit": 1000}
    assert caught.value.code == "expanded_too_large"


def test_a_refused_upload_leaves_nothing_behind(tmp_path):
    path, target = upload(tmp_path, b"a,b\n" + b"1,2\n" * 100_000 + b"1\n")
    with pytest.raises(Invalid):
        ingest(path, "csv", target, IngestOptions(), LIMITS)
    assert list(target.iterdir()) == []


@pytest.mark.parametrize("fortran", [False, True])
def test_memory_stays_flat(fortran, tmp_path):
    """The child may use 160 MiB of address space, most of which Python and NumPy take; the file has 96 MiB."""
    path, target = zeros(tmp_path, 96 * MIB, fortran)
    result = ingest(path, "npy", target, IngestOptions(), IngestLimits(memory_bytes=160 * MIB))
    assert result.rows == 96 * MIB // 256
    assert result.columns[0].path.stat().st_size > 96 * MIB


def test_a_file_that_needs_too_much_memory_is_too_large(tmp_path):
    path, target = upload(tmp_path, b'{"columns": {"x": [' + b"[],[]," * (2 << 20) + b"[]]}}")
    with pytest.raises(TooLarge) as caught:
        ingest(path, "json", target, IngestOptions(), IngestLimits(memory_bytes=160 * MIB))
    assert caught.value.code == "too_much_memory"


def died(path: Path, target: Path, format: str, limits: IngestLimits) -> str:
    """Ingest a file on which the child dies; what the server's log would say of it."""
    with pytest.raises(Invalid) as caught:
        ingest(path, format, target, IngestOptions(), limits)
    assert caught.value.code == "unreadable"
    assert list(target.iterdir()) == []
    assert isinstance(caught.value.__cause__, ChildError)
    return str(caught.value.__cause__)


def test_a_child_that_takes_too_long_is_killed(tmp_path):
    path, target = zeros(tmp_path, 64 * MIB)
    limits = IngestLimits(wall_seconds=0.01, slowest_bytes_per_second=1 << 40)
    assert "no verdict" in died(path, target, "npy", limits)


def test_a_child_that_burns_its_cpu_time_is_killed(tmp_path, monkeypatch):
    path, target = upload(tmp_path, b"a,b\n1.5,2.5\n")
    script = (
        "from app.ingest.columns import ColumnSet; from app.ingest import child\n"
        "def burn(*_):\n"
        "    while True: pass\n"
        "ColumnSet.check_shape = burn\n"
        "child.main()"
    )
    monkeypatch.setattr(front_door, "_COMMAND", (sys.executable, "-P", "-c", script))
    limits = IngestLimits(cpu_seconds=1, slowest_bytes_per_second=1 << 40)
    assert "exit status -" in died(path, target, "csv", limits)


def test_a_child_without_memory_for_its_own_start_is_unreadable(tmp_path):
    path, target = upload(tmp_path, b"a\n1\n")
    assert "exit status" in died(path, target, "csv", IngestLimits(open_files=0))


def test_a_file_larger_than_may_be_written_is_refused(tmp_path, monkeypatch):
    """The kernel's limit on written files holds even if our own counting fails."""
    # In this byte order the column has to be written.
    path, target = upload(tmp_path, npy(np.zeros(MIB, ">f4")))
    script = (
        "import sys; from app.ingest.columns import ColumnSet; from app.ingest import child\n"
        "ColumnSet.spend = ColumnSet.check_shape = lambda *_: None\n"
        "child.main()"
    )
    monkeypatch.setattr(front_door, "_COMMAND", (sys.executable, "-P", "-c", script))
    with pytest.raises(TooLarge) as caught:
        ingest(path, "npy", target, IngestOptions(), IngestLimits(max_expanded_bytes=MIB))
    assert caught.value.code == "expanded_too_large"


def test_a_full_disk_is_distinguished(tmp_path, monkeypatch):
    path, target = upload(tmp_path, b"a\n1\n")
    script = (
        "import errno; from app.ingest import child\n"
        "def full(*_): raise OSError(errno.ENOSPC, 'full')\n"
        "child.read_file = full\n"
        "child.main()"
    )
    monkeypatch.setattr(front_door, "_COMMAND", (sys.executable, "-P", "-c", script))
    with pytest.raises(StorageFull):
        ingest(path, "csv", target, IngestOptions(), LIMITS)


def test_the_child_sees_nothing_of_the_servers_environment(tmp_path, monkeypatch):
    path, target = upload(tmp_path, b"a\n1\n")
    monkeypatch.setenv("ADJOINT_API_KEY", "secret")
    script = "import os, sys; sys.exit(repr(sorted(os.environ)))"
    monkeypatch.setattr(front_door, "_COMMAND", (sys.executable, "-P", "-c", script))
    assert "ADJOINT" not in died(path, target, "csv", LIMITS)


def test_an_upload_is_never_read_through_a_link(tmp_path):
    path, target = upload(tmp_path, b"a\n1\n")
    link = tmp_path / "link"
    link.symlink_to(path)
    died(link, target, "csv", LIMITS)


def test_the_child_is_confined_while_it_reads(tmp_path):
    """Runs in a process of its own, for limits cannot be raised again."""
    script = (
        "import resource; from app.ingest.child import confine; from app.ingest.limits import IngestLimits\n"
        "confine(IngestLimits(), 80 << 20)\n"
        "names = ('AS', 'CPU', 'FSIZE', 'NOFILE', 'CORE')\n"
        "print(*(resource.getrlimit(getattr(resource, 'RLIMIT_' + name))[0] for name in names))"
    )
    environment = {"PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run([sys.executable, "-P", "-c", script], capture_output=True, env=environment, check=True)
    assert [int(word) for word in done.stdout.split()] == [512 * MIB, 50, 4097 * MIB, 64, 0]


def test_pandas_is_not_loaded_while_a_file_is_read(tmp_path):
    """Its 60 MB would count for the file."""
    (tmp_path / "pandas.py").write_text("__version__ = '3.0.0'\nprint('pandas')")
    script = (
        "import pyarrow; from app.ingest.arrow_columns import load_arrow; from app.ingest.child import confine\n"
        "from app.ingest.limits import IngestLimits\n"
        "load_arrow(); confine(IngestLimits(), 80 << 20)\n"
        "print(pyarrow.compute.fill_null(pyarrow.array(['a', None]), 'b'))"
    )
    environment = {"PYTHONPATH": os.pathsep.join([str(tmp_path), *sys.path])}
    done = subprocess.run([sys.executable, "-P", "-c", script], capture_output=True, env=environment, check=True)
    assert b"pandas" not in done.stdout


def test_the_servers_memory_does_not_grow_with_the_file(tmp_path):
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    path, target = zeros(tmp_path, 64 * MIB)
    ingest(path, "npy", target, IngestOptions(), LIMITS)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 16 << 10


@pytest.mark.parametrize("error", [IngestError("bad_magic", "", "no"), IngestError("x", "/a", "no", limit=3)])
def test_every_refusal_is_an_error_of_the_domain(error):
    assert isinstance(domain_error(error), ApiError)
