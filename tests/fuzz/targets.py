"""What is fuzzed: every reader of bytes that strangers send, or that lay on a disk, with inputs to begin with."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory

import engine
from app.domain.documents import NPY, NPZ, SAFETENSORS
from app.domain.errors import ApiError, BadMessage
from app.domain.frames import FrameReader
from app.http.strict_json import read_json
from app.ingest.arrays import read_arrays
from app.ingest.csv_header import parse_columns_spec
from app.ingest.ingest import READERS, read_file
from app.ingest.limits import MIB, IngestError, IngestLimits, IngestOptions
from app.service.resources.checkpoints import read_uploaded_checkpoint
from app.worker.session.wal import DamagedLog, read_records
from tests.fuzz import seeds
from tests.fuzz.accepted import check_accepted
from tests.fuzz.programs import random_program

LIMITS = IngestLimits(max_expanded_bytes=4 * MIB, max_npy_header_bytes=4096, max_header_bytes=4096, max_rows=100_000)


@dataclass(frozen=True, slots=True)
class Target:
    """A reader to fuzz.

    Attributes:
        name: what it reads.
        run: read an input; whatever is none of `refusals` is a fault.
        seeds: return inputs to begin with, valid ones and refused ones. They are made where they are used: each process
            that collects the tests would take half a second for them.
        refusals: how it refuses.
        words: tokens of the format.
        packages: the folders whose lines show what an input reaches.
    """

    name: str
    run: Callable[[bytes], object]
    seeds: Callable[[], Sequence[bytes]]
    refusals: tuple[type[Exception], ...]
    words: Sequence[bytes]
    packages: tuple[str, ...]


def _upload(format: str) -> Callable[[bytes], None]:
    def run(data: bytes) -> None:
        with TemporaryDirectory(prefix="fuzz") as folder:
            path, target = Path(folder) / "upload", Path(folder) / "columns"
            path.write_bytes(data)
            target.mkdir()
            result = read_file(path, format, target, IngestOptions(), LIMITS)
            written = sum(file.stat().st_size for file in target.iterdir())
            assert written <= LIMITS.max_expanded_bytes + MIB, "more was written than the limit"
            assert all(column.path.stat().st_size for column in result.columns)

    return run


def _checkpoint(data: bytes) -> None:
    with TemporaryDirectory(prefix="fuzz") as folder:
        path = Path(folder) / "upload"
        path.write_bytes(data)
        read_uploaded_checkpoint(path, seeds.CHECKPOINT_GRAPH)


def _graph(data: bytes) -> None:
    check_accepted(read_json(data))


def _program(data: bytes) -> None:
    check_accepted({**seeds.PROGRAM_LEAVES, "program": data.decode("utf-8", "surrogateescape")})


def _recipe(data: bytes) -> None:
    engine.read_recipe(read_json(data))


def _frames(data: bytes) -> None:
    reader, half = FrameReader(), len(data) // 2
    reader.feed(data[:half])
    reader.feed(data[half:])


def _arrays(media: str) -> Callable[[bytes], object]:
    return lambda data: read_arrays(data, media, LIMITS)


_INGEST, _GRAPH = ("app/ingest",), ("engine/graph", "engine/core/options", "engine/core/attributes")
_READERS = [
    Target(
        f"upload {format}",
        _upload(format),
        partial(seeds.uploads, format),
        (IngestError,),
        seeds.WORDS[format],
        _INGEST,
    )
    for format in READERS
]
_BODIES = [
    Target(f"arrays {name}", _arrays(media), partial(seeds.uploads, name), (ApiError,), seeds.WORDS[name], _INGEST)
    for name, media in (("npy", NPY), ("npz", NPZ), ("safetensors", SAFETENSORS))
]
RANDOM = [b"", b"a", b"1"]
"""Whatever bytes there are, they decide which program is made of them."""
_REFUSED = (ApiError, engine.EngineError)
TARGETS = (
    *_READERS,
    *_BODIES,
    Target("json", read_json, seeds.json_texts, (ApiError,), seeds.WORDS["json"], ("app/http/strict_json", *_INGEST)),
    Target(
        "columns",
        lambda data: parse_columns_spec(data.decode("latin-1")),
        lambda: seeds.COLUMNS,
        (IngestError,),
        seeds.WORDS["columns"],
        _INGEST,
    ),
    Target("program", _program, lambda: seeds.PROGRAMS, _REFUSED, seeds.WORDS["program"], _GRAPH),
    Target("graph", _graph, lambda: seeds.GRAPHS, _REFUSED, seeds.WORDS["graph"], (*_GRAPH, "engine/nn/layers")),
    Target(
        "random program", lambda data: check_accepted(random_program(Random(data))), lambda: RANDOM, (), RANDOM, _GRAPH
    ),
    Target(
        "recipe",
        _recipe,
        lambda: seeds.RECIPES,
        _REFUSED,
        seeds.WORDS["recipe"],
        ("engine/training/recipe", "engine/optim"),
    ),
    Target("frames", _frames, lambda: seeds.FRAMES, (BadMessage,), seeds.WORDS["frames"], ("app/domain/frames",)),
    Target("log", read_records, lambda: seeds.LOGS, (DamagedLog,), seeds.WORDS["frames"], ("app/worker/session/wal",)),
    Target(
        "checkpoint",
        _checkpoint,
        lambda: seeds.CHECKPOINTS,
        _REFUSED,
        seeds.WORDS["safetensors"],
        ("engine/data/checkpoint", "app/service/resources/checkpoints"),
    ),
)
