"""The two lines that server and child exchange."""

from pathlib import Path

import pytest

from app.ingest.columns import IngestedColumn
from app.ingest.ingest import (
    IngestRequest,
    IngestResult,
    decode_request,
    decode_verdict,
    encode_request,
    encode_verdict,
)
from app.ingest.limits import IngestError, IngestLimits, IngestOptions

TARGET = Path("/somewhere")
RESULT = IngestResult(
    name="n",
    rows=2,
    columns=(
        IngestedColumn("x", "float32", (2, 3), TARGET / "00000.npy", -1.5, 2.0, 0.1, 3),
        IngestedColumn("s", "int64", (), TARGET / "00001.npy", 0, 2**63 - 1, None, 0, ("ä", "b")),
    ),
)


def test_a_request_survives_its_line():
    request = IngestRequest(TARGET / "up load", "csv", TARGET, IngestOptions("x:int64", "y"), IngestLimits(max_rows=3))
    line = encode_request(request)
    assert line.count(b"\n") == 1
    assert decode_request(line) == request


def test_a_result_survives_its_line():
    line = encode_verdict(RESULT)
    assert line.count(b"\n") == 1
    assert decode_verdict(line, TARGET) == RESULT


def test_a_refusal_survives_its_line():
    error = decode_verdict(encode_verdict(IngestError("bad_magic", "/a", "no", 7)), TARGET)
    assert isinstance(error, IngestError)
    assert (error.code, error.pointer, error.detail, error.limit) == ("bad_magic", "/a", "no", 7)


def test_a_child_cannot_name_a_file_to_its_server():
    line = encode_verdict(RESULT).replace(b"/somewhere/00000.npy", b"/etc/passwd")
    verdict = decode_verdict(line, TARGET)
    assert isinstance(verdict, IngestResult)
    assert verdict.columns[0].path == TARGET / "00000.npy"


@pytest.mark.parametrize(
    "line",
    [b"", b"\n", b"12", b"null", b"[]", b"{}", b'{"result": 1}', b'{"error": {"x": 1}}', encode_verdict(RESULT)[:-20]],
)
def test_anything_else_is_no_verdict(line):
    with pytest.raises(ValueError):  # noqa: PT011 (JSON's own error is one too)
        decode_verdict(line, TARGET)
