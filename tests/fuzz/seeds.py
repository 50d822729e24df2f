"""Inputs to begin with: good ones of every kind, and the small ones of the hostile corpus."""

import io
import json
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

import numpy as np

import engine
from app.domain.frames import Step, StepAccepted, to_frame
from app.ingest.encoding import safetensors_body
from app.worker.session.wal import to_record
from tests.security.corpus import (
    arrow,
    csv,
    image_tables,
    images,
    json_bodies,
    json_columns,
    ndjson,
    npy,
    npz,
    parquet,
    safetensors,
)

SMALL = 2048
_CORPUS = {
    "npy": npy, "npz": npz, "safetensors": safetensors, "csv": csv, "ndjson": ndjson, "json": json_columns,
    "parquet": parquet, "arrow": arrow, "zip": images,
}  # fmt: skip


def _encode(value: Any) -> bytes:
    return json.dumps(value).encode()


def _saved(save: Any, *arguments: Any, **arrays: Any) -> bytes:
    file = io.BytesIO()
    save(file, *arguments, **arrays)
    return file.getvalue()


_COLUMNS = {"x": [[1, 2.5], [3, None]], "y": {"dtype": "int8", "shape": [2], "data": [1, 2]}, "s": ["a", "b"]}
_GOOD: Mapping[str, Sequence[bytes]] = {
    "npy": [
        _saved(np.save, np.arange(6.0).reshape(2, 3)),
        _saved(np.save, np.asfortranarray(np.arange(6, dtype=">i2").reshape(2, 3))),
    ],
    "npz": [
        _saved(np.savez, x=np.arange(4), y=np.asfortranarray(np.ones((4, 2), bool))),
        _saved(np.savez_compressed, x=np.arange(40), y=np.zeros(40, np.float16)),
    ],
    "arrow": arrow.GOOD + image_tables.GOOD["arrow"],
    "zip": images.GOOD,
    "parquet": [parquet.GOOD, parquet.CODED, *image_tables.GOOD["parquet"]],
    "safetensors": [safetensors_body({"x": np.ones((2, 2), np.float32), "y": np.ones(2, np.uint8)}, {"a": "b"})],
    "csv": [b'a,b,c\n1,2.5,x\n3,,"y, ""z"""\r\n', b"a,b\n1,2\n3,4\n5,6\n", "\u00e9\n".encode()],
    "json": [_encode({"name": "n", "columns": _COLUMNS})],
    "ndjson": [b'{"x": [1, 2], "s": "a", "t": true}\n{"x": [3, null], "s": "b", "t": false}\n'],
}


@cache
def uploads(format: str) -> list[bytes]:
    """Return files of a format: good ones, and the small ones of the corpus."""
    refused = [data if isinstance(data, bytes) else data.encode() for data, _ in _CORPUS[format].REFUSED.values()]
    return [*_GOOD[format], *(data for data in refused if len(data) <= SMALL)]


def json_texts() -> list[bytes]:
    """Return texts in JSON: a good one, and the small ones of the corpus."""
    good = b'{"a": [1, -2.5e3, true, false, null, "\\u2713\\ud83d\\ude00", {}, []]}'
    return [good, *(body for body, _, _ in json_bodies.BODIES.values() if len(body) <= SMALL)]


COLUMNS = [b"y:int64", b"x:float32[4],y:int64", b"img:uint8[8,8],s:class", b"x:int64[1_0]", b"x:int64,", b"x:int64[0]"]
COLUMNS += [b'x:float32[3]=a..b,"c,d",y:class=e', b'x:int64="a".."b"', b"x:int64="]

PROGRAM_LEAVES: Mapping[str, Any] = {"inputs": {"x": ["batch", 3]}, "parameters": {"w": [3, 3], "b": []}}
PROGRAMS = [
    b"h = relu(x @ w.T + 1.5) ** 2\na, c = split(h, sizes=[1, 2], axis=1)\nloss = -mean(a[:, 0] * c[:, -1]) / 3",
    b"p = x @ w > 0 and not (x < b) # note\nloss = where(p, x, 2.0).sum(axis=[0, 1], keepdims=false)",
    b"a = x[0:2, 1]; q = max(a, axis=null)\nloss = sum(q, axis=-1)",
]

GRAPHS = [
    _encode(document)
    for document in (
        {
            "inputs": {"x": {"shape": ["batch", 3], "dtype": "float32"}},
            "parameters": {"w": {"shape": [3, 2], "init": {"kind": "normal", "std": 0.5}, "frozen": False}},
            "buffers": {"seen": {"shape": [2], "dtype": "int64", "init": "zeros"}},
            "constants": {"c": {"dtype": "float32", "shape": [2], "data": [1.0, 2.0]}},
            "nodes": [
                {"name": "h", "op": "matmul", "inputs": ["x", "w"], "attrs": {}},
                {"name": "s", "op": "add", "inputs": ["h", "c"]},
                {"name": "loss", "op": "mean", "inputs": ["s"], "attrs": {"axis": [0, 1], "keepdims": False}},
            ],
            "outputs": ["s", "h:0"],
            "losses": ["loss"],
        },
        {
            "inputs": {"x": ["batch", 1, 6, 6], "t": {"shape": ["batch"], "dtype": "int64"}},
            "layers": [
                {"layer": "conv2d", "channels": 2, "kernel": [3, 3], "padding": "same"},
                {"layer": "batch_norm", "eps": 1e-5},
                "flatten",
                {"layer": "linear", "units": 3, "activation": "relu", "name": "last"},
            ],
            "loss": {"kind": "cross_entropy", "target": "t"},
        },
        {"inputs": {"x": {"shape": ["n", 3]}}, "parameters": {"w": [3]}, "program": "loss = mean((x * w) ** 2)"},
    )
]

RECIPES = [
    _encode(
        {
            "optimizer": {"kind": "adamw", "lr": 0.001, "betas": [0.9, 0.99], "groups": [{"match": "w*", "lr": 0.1}]},
            "schedule": {
                "kind": "sequential",
                "schedules": [{"kind": "linear", "total_iters": 3}, {"kind": "cosine", "t_max": 10}],
                "milestones": [5],
            },
            "clip": {"norm": 1.0, "value": 0.5},
            "epochs": 3,
            "batch_size": 8,
            "seed": 4,
            "metrics": ["accuracy"],
            "validation": {"split": 0.25},
            "checkpoint": {"every_steps": 5, "keep_last": 2},
            "record": {"every_steps": 2},
            "feeds": {"x": "features"},
        }
    ),
    _encode({"steps": 5, "optimizer": "sgd", "early_stopping": {"monitor": "loss", "patience": 2}}),
]

FRAMES = [
    to_frame(Step("req_1", "forward", {"a": [1, None]}, seq=1, key="k"), b"abc") + to_frame(StepAccepted("req_1", 1)),
    to_frame(StepAccepted("req_2", 2**63), b"\0" * 20),
]


def _log() -> bytes:
    log = b""
    for place, body in enumerate((b"", b"a" * 30, b"\xabLOG" * 9, b"z")):
        log += to_record({"place": place}, body, len(log))
    return log


LOGS = [_log(), _log()[:-3], b""]

CHECKPOINT_GRAPH = engine.parse_graph(
    {"inputs": {"x": [2]}, "parameters": {"w": [2]}, "buffers": {"b": [1]}, "program": "loss = mean(x * w) + sum(b)"}
)
CHECKPOINTS = [
    safetensors_body({"w": np.ones(2, np.float32), "b": np.ones(1, np.float32)}),
    safetensors_body({"w": np.ones(2, np.float32), "buffer:b": np.ones(1, np.float32)}, {"adjoint": "{}"}),
    safetensors_body(
        {"w": np.ones(2, np.float32), "buffer:b": np.ones(1), "optimizer:momentum/w": np.ones(2)},
        {"adjoint": '{"version": 1, "cursor": {"step": 3, "epoch": 1}}'},
    ),
]

_JSON_WORDS = [b"{}", b"[]", b'{"a":1}', b",", b":", b'"', b"\\u0000", b"-0", b"1.5e-3", b"18446744073709551616"]
WORDS: Mapping[str, Sequence[bytes]] = {
    "npy": [b"\x93NUMPY", b"'descr': ", b"'fortran_order': True, ", b"'shape': (", b"<f8", b"|O", b"4294967296"],
    "npz": [b"PK\1\2", b"PK\3\4", b"PK\5\6", b".npy", b"../", b"\x08\x00", b"\xff\xff\xff\xff"],
    "zip": [b"PK\1\2", b"PK\3\4", b"PK\5\6", b".png", b".csv", b"../", b"/", b"IHDR", b"IDAT", b"\xff\xc0"],
    "safetensors": [b'"dtype":"BF16"', b'"shape":[0]', b'"data_offsets":[0,8]', b'"__metadata__":{}', *_JSON_WORDS],
    "parquet": [b"PAR1", b"\x15\x04", b"\x19\x1c", b"\x18\x01x", b"\x15\xff\xff\xff\xff\x0f", b"\x26\x08", b"\x00\x00"],
    "arrow": [b"ARROW1", b"\xff\xff\xff\xff", b"\x00\x00\x00\x00", b"\x10\x00\x00\x00", b"\x0c\x00\x06\x00", b"x"],
    "csv": [b",", b"\n", b"\r\n", b'"', b'""', b"nan", b"1e400", b"1_000", b"\xef\xbb\xbf", "\u0661".encode()],
    "ndjson": [b"\n", b'{"x":1}\n', *_JSON_WORDS],
    "json": [b'"columns":', b'"dtype":"int8"', b'"shape":[2]', b'"data":[1,2]', *_JSON_WORDS],
    "columns": [b":int64", b":class", b"[2]", b",", b"[0]", b"[999999,999999]"],
    "program": [
        b" = ", b"x", b"w", b"loss", b".T", b"sum(", b"einsum(x, equation='ij->')", b"[0:1]", b"**", b"@", b"not ",
        b"split(", b"axis=", b"shape=[", b"99999999999", b"true", b"null", b"\n", b";", b"#", b"'",
        b"reshape(x, shape=[-1])",
    ],
    "graph": [
        b'"name":"a"', b'"op":"einsum"', b'"op":"split"', b'"inputs":["x"]', b'"attrs":{"axis":1}', b'"shape":[2]',
        b'"batch"', b'"x:1"', b'"nodes":[', b'"layers":["relu"]', b'"program":"a = x"', b'"losses":["a"]', *_JSON_WORDS,
    ],
    "recipe": [b'"kind":"sgd"', b'"kind":"lbfgs"', b'"lr":', b'"per":"step"', b'"steps":1', *_JSON_WORDS],
    "frames": [b'{"kind":"step"}', b'"id":', b"\xabLOG", b"\0\0\0\0", *_JSON_WORDS],
}  # fmt: skip
