"""What holds of the readers whatever is sent: what was written reads back, and in pieces of any size."""

import json
from itertools import pairwise

import numpy as np
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from app.domain.documents import NPY, SAFETENSORS
from app.domain.frames import FrameReader, Step, StepAccepted, to_frame
from app.http.strict_json import read_json
from app.ingest.arrays import read_arrays
from app.ingest.csv_header import parse_columns_spec
from app.ingest.encoding import npy_body, safetensors_body
from app.ingest.limits import IngestLimits
from app.ingest.values import NUMERIC_DTYPES, ColumnPlan
from app.worker.session.wal import read_records, to_record

quick = settings(
    max_examples=40, deadline=None, derandomize=True, database=None, suppress_health_check=[HealthCheck.too_slow]
)

COMPUTED = ("bool", "int8", "int32", "int64", "uint8", "float16", "float32", "float64")
TEXTS = st.text(st.characters(exclude_categories=("Cs",), exclude_characters="\0"), max_size=8)
LEAVES = st.none() | st.booleans() | st.integers(-(2**64) + 1, 2**64 - 1) | st.floats(allow_nan=False) | TEXTS
DOCUMENTS = st.recursive(
    LEAVES, lambda inner: st.lists(inner, max_size=10) | st.dictionaries(TEXTS, inner, max_size=4), max_leaves=20
).filter(lambda value: "Infinity" not in json.dumps(value))
BODIES = st.binary(max_size=40) | st.sampled_from([b"\xabLOG" * 8, b"\0" * 30])
FRAMES = st.tuples(st.builds(StepAccepted, TEXTS, st.integers(0, 2**70)), BODIES) | st.tuples(
    st.builds(Step, TEXTS, TEXTS, st.dictionaries(TEXTS, DOCUMENTS, max_size=3)), BODIES
)
ARRAYS = st.builds(
    lambda shape, dtype: np.arange(np.prod(shape, dtype=int)).reshape(shape).astype(dtype),
    st.lists(st.integers(0, 4), max_size=4),
    st.sampled_from([np.dtype(name) for name in COMPUTED]),
)
PLANS = st.builds(
    ColumnPlan,
    st.from_regex(r"[A-Za-z_][A-Za-z0-9_.\-]{0,62}", fullmatch=True),
    st.sampled_from(NUMERIC_DTYPES),
    st.lists(st.integers(1, 9), max_size=3).map(tuple),
)


@quick
@given(DOCUMENTS, st.booleans())
def test_any_document_reads_back(document, ascii_only):
    assert read_json(json.dumps(document, ensure_ascii=ascii_only).encode()) == document


@quick
@given(st.lists(FRAMES, max_size=3), st.data())
def test_frames_read_back_from_pieces_of_any_size(frames, data):
    encoded = b"".join(to_frame(head, body) for head, body in frames)
    cuts = sorted(data.draw(st.lists(st.integers(0, len(encoded)), max_size=6)))
    reader = FrameReader()
    pieces = [encoded[start:stop] for start, stop in pairwise([0, *cuts, len(encoded)])]
    assert [frame for piece in pieces for frame in reader.feed(piece)] == frames


@quick
@given(st.lists(BODIES, max_size=5), st.data())
def test_a_log_cut_anywhere_gives_the_records_before(bodies, data):
    log, ends = b"", []
    for place, body in enumerate(bodies):
        log += to_record({"place": place}, body, len(log))
        ends.append(len(log))
    size = data.draw(st.integers(0, len(log)))
    assert [record.body for record in read_records(log[:size])] == bodies[: sum(end <= size for end in ends)]


@quick
@given(ARRAYS)
def test_any_array_reads_back_in_either_format(array):
    for body, media, name in (
        (npy_body(array), NPY, ""),
        (safetensors_body({"a/b:c": array}), SAFETENSORS, "a/b:c"),
    ):
        read = read_arrays(body, media, IngestLimits()).arrays[name]
        assert (read.dtype, read.shape, read.tobytes()) == (array.dtype, array.shape, array.tobytes())


@quick
@given(st.lists(PLANS, min_size=1, max_size=5))
def test_any_plan_of_columns_reads_back(plans):
    sizes = [f"[{','.join(map(str, plan.shape))}]" if plan.shape else "" for plan in plans]
    spec = ",".join(f"{plan.name}:{plan.dtype}{size}" for plan, size in zip(plans, sizes, strict=True))
    assert [selection.plan for selection in parse_columns_spec(spec)] == plans
