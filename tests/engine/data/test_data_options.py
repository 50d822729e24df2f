"""Options of data: read as fields of a request, and described for its clients."""

import json
from dataclasses import dataclass, field
from typing import Annotated

from engine.core.options import Reader, Reads, describe_options, read_options, summary
from engine.data.batches import Shuffle, read_shuffle
from engine.data.normalization import MinMax, Robust, Standard, read_normalize
from engine.data.sampling import Sampling
from engine.data.splitting import Split
from engine.data.windows import Windows
from tests.support.rows import each_row

KINDS = [Shuffle, Sampling, Split, Windows, Standard, MinMax, Robust]


@dataclass(frozen=True, kw_only=True)
class Request:
    """Fields as a fit has them."""

    shuffle: Annotated[Shuffle, Reads(read_shuffle, "true, false or an object")] = field(default_factory=Shuffle)
    normalize: Annotated[dict, Reads(read_normalize, "a kind or an object by input")] = None
    sampling: Sampling | None = None
    windows: Windows | None = None
    validation: Split = field(default_factory=Split)


@each_row("kind", KINDS)
def test_options_describe_themselves(kind):
    assert summary(kind)
    assert all({"name", "type", "required"} <= set(entry) for entry in describe_options(kind))
    assert json.dumps(describe_options(kind))


def test_a_request_is_read_with_all_of_them():
    reader = Reader()
    document = {
        "shuffle": {"kind": "window", "size": 4096},
        "normalize": {"x": "standard"},
        "sampling": {"weights": "balanced", "of": "label"},
        "windows": {"stride": 1, "spans": {"x": [0, 64], "y": [1, 65], "z": 64}, "within": "series"},
        "validation": {"split": 0.1, "stratify": "label"},
    }
    assert read_options(reader, document, "", Request) == Request(
        shuffle=Shuffle(kind="window", size=4096),
        normalize={"x": Standard()},
        sampling=Sampling(weights="balanced", of="label"),
        windows=Windows(spans={"x": (0, 64), "y": (1, 65), "z": 64}, within="series"),
        validation=Split(split=0.1, stratify="label"),
    )
    assert not reader.findings


def test_faults_carry_the_pointer_of_the_field():
    reader = Reader()
    document = {
        "shuffle": {"kind": "window"},
        "normalize": {"x": "standart"},
        "sampling": {"weights": "balanced"},
        "windows": {"spans": {"x": [2, 1]}},
        "validation": {"stratify": "label"},
    }
    read_options(reader, document, "", Request)
    pointers = ["/shuffle/size", "/normalize/x/kind", "/sampling/of", "/windows/spans/x", "/validation/stratify"]
    assert [finding.pointer for finding in reader.findings] == pointers
