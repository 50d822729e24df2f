"""The two lines that server and child exchange."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from app.ingest.columns import IngestedColumn
from app.ingest.limits import IngestError, IngestLimits, IngestOptions
from app.ingest.npy_header import canonical_header
from app.ingest.verdict import (
    IngestRequest,
    IngestResult,
    decode_request,
    decode_verdict,
    encode_request,
    encode_verdict,
)

TARGET = Path("/somewhere")
REQUEST = IngestRequest(TARGET / "upload", "npy", TARGET, IngestOptions(), IngestLimits())
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
    assert decode_verdict(line, REQUEST) == RESULT


def test_a_refusal_survives_its_line():
    error = decode_verdict(encode_verdict(IngestError("bad_magic", "/a", "no", 7)), REQUEST)
    assert isinstance(error, IngestError)
    assert (error.code, error.pointer, error.detail, error.limit) == ("bad_magic", "/a", "no", 7)


def test_a_child_cannot_name_a_file_to_its_server():
    line = encode_verdict(RESULT).replace(b"/somewhere/00000.npy", b"/etc/passwd")
    verdict = decode_verdict(line, REQUEST)
    assert isinstance(verdict, IngestResult)
    assert verdict.columns[0].path == TARGET / "00000.npy"


COLUMN = canonical_header(np.dtype("<f4"), (2, 2, 3)) + bytes(48)


@pytest.mark.parametrize(
    ("content", "taken"),
    [
        (COLUMN, True),
        (COLUMN + b"0", False),
        (COLUMN[:-1], False),
        (COLUMN.replace(b"f4", b"i4"), False),
        (b"x" * len(COLUMN), False),
    ],
)
def test_an_upload_is_a_column_only_if_it_holds_one(tmp_path: Path, content: bytes, taken: bool):
    upload = tmp_path / "upload"
    upload.write_bytes(content)
    line = encode_verdict(IngestResult(None, 2, (replace(RESULT.columns[0], path=upload),)))
    request = replace(REQUEST, path=upload)
    if taken:
        verdict = decode_verdict(line, request)
        assert isinstance(verdict, IngestResult)
        assert verdict.columns[0].path == upload
    else:
        with pytest.raises(ValueError, match="not the column"):
            decode_verdict(line, request)


@pytest.mark.parametrize(
    "line",
    [b"", b"\n", b"12", b"null", b"[]", b"{}", b'{"result": 1}', b'{"error": {"x": 1}}', encode_verdict(RESULT)[:-20]],
)
def test_anything_else_is_no_verdict(line):
    with pytest.raises(ValueError):  # noqa: PT011 (JSON's own error is one too)
        decode_verdict(line, REQUEST)
