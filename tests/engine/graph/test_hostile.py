"""Whatever a stranger sends, the answer is a DocumentError or a definition: nothing else, and soon."""

import json
from contextlib import suppress

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import engine
from tests.extent import FULL

pytestmark = pytest.mark.slow

quick = settings(
    max_examples=100 if FULL else 40,
    deadline=None,
    derandomize=True,
    database=None,
    suppress_health_check=list(HealthCheck),
)

NUMBERS = st.one_of(
    st.integers(-3, 9),
    st.sampled_from(
        [2**31, 2**62, -(2**62), 2**63, -(2**63), 2**64, 10**30, 10**400, 0.5, -0.0, 1e-320, 1e308, -1e308]
    ),
    st.floats(allow_nan=False),
)
WORDS = st.one_of(
    st.sampled_from(
        [
            "x",
            "w",
            "a",
            "b",
            "a:0",
            "x:1",
            "batch",
            "loss",
            "float32",
            "int64",
            "name",
            "op",
            "inputs",
            "attrs",
            "shape",
        ]
    ),
    st.text(max_size=6),
)
JSON = st.recursive(
    st.one_of(st.none(), st.booleans(), NUMBERS, WORDS),
    lambda inner: st.one_of(st.lists(inner, max_size=4), st.dictionaries(WORDS, inner, max_size=4)),
    max_leaves=12,
)
FIELDS = st.sampled_from(
    ["name", "inputs", "parameters", "buffers", "constants", "nodes", "layers", "program", "outputs", "losses", "loss"]
)


def survives(call, *arguments):
    """Run `call`; a DocumentError is a good answer too."""
    with suppress(engine.DocumentError):
        return call(*arguments)
    return None


def read_whole(document):
    """Parse, print and parse again, as the service does."""
    definition = engine.parse_graph(document)
    assert engine.parse_graph(json.loads(json.dumps(definition.to_json()))) == definition
    engine.graph_report(definition)
    engine.graph_text(definition, backward=True)
    engine.graph_dot(definition, backward=True)


@quick
@given(JSON)
def test_any_json_is_read_as_a_graph_or_refused(document):
    survives(engine.parse_graph, document)
    survives(engine.read_recipe, document)
    survives(engine.read_tensor_document, document)


@quick
@given(st.dictionaries(FIELDS, JSON, max_size=5))
def test_any_object_with_the_fields_of_a_graph_is_read_or_refused(document):
    survives(read_whole, document)


VALID = [
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
            {"layer": "conv2d", "channels": 2, "kernel": [3, 3], "stride": 1, "padding": "same"},
            {"layer": "batch_norm", "eps": 1e-5, "momentum": 0.1},
            {"layer": "max_pool2d", "kernel": 2},
            {"layer": "flatten", "start": 1},
            {"layer": "linear", "units": 3, "activation": "relu", "name": "last"},
        ],
        "loss": {"kind": "cross_entropy", "target": "t"},
    },
    {
        "inputs": {"x": {"shape": ["batch", 3]}},
        "parameters": {"w": [3]},
        "program": "h = x * w ** 2\nloss = mean(sum(h[:, 0:2], axis=-1))",
        "outputs": ["h"],
    },
]


def places(value, path=()):
    """List the paths of every part of a document."""
    found = [path]
    if isinstance(value, dict):
        for key, item in value.items():
            found += places(item, (*path, key))
    elif isinstance(value, list):
        for index, item in enumerate(value):
            found += places(item, (*path, index))
    return found


def mutated(value, path, new):
    """Return the document with the part at `path` replaced."""
    if not path:
        return new
    copy = dict(value) if isinstance(value, dict) else list(value)
    copy[path[0]] = mutated(value[path[0]], path[1:], new)
    return copy


@quick
@given(st.data())
def test_a_valid_graph_with_one_part_replaced_is_read_or_refused(data):
    document = data.draw(st.sampled_from(VALID))
    for _ in range(data.draw(st.integers(1, 2))):
        path = data.draw(st.sampled_from(places(document)))
        document = mutated(document, path, data.draw(JSON))
    survives(read_whole, document)


TOKENS = st.sampled_from(
    [
        *"xwab()[],:=.+-*/@<>;\n#' \"",
        "**",
        "==",
        "<=",
        "and",
        "or",
        "not",
        "true",
        "null",
        "1",
        "2.5",
        "1e9",
        "99999999999",
        "sum",
        "relu",
        "matmul",
        "axis",
        "reshape",
        "shape",
        "loss",
        "split",
        "chunk",
        ".T",
        "x @ w",
        "x + w",
        "a = ",
        "\n",
    ]
)


@settings(quick, max_examples=2 * quick.max_examples)
@given(
    st.one_of(
        st.text(max_size=60), st.lists(TOKENS, max_size=25).map("".join), st.lists(TOKENS, max_size=25).map(" ".join)
    )
)
def test_any_text_is_read_as_a_program_or_refused(text):
    survives(engine.parse_graph, {"inputs": {"x": ["batch", 3]}, "parameters": {"w": [3]}, "program": text})


@settings(quick, max_examples=2 * quick.max_examples)
@given(st.data())
def test_a_valid_program_with_tokens_changed_is_read_or_refused(data):
    text = "h = relu(x @ w.T + 1.5) ** 2\na, b = split(h, sizes=[1, 2], axis=1)\nloss = -mean(a[:, 0] * b[:, -1]) / 3"
    start = data.draw(st.integers(0, len(text)))
    stop = data.draw(st.integers(start, min(start + 6, len(text))))
    text = text[:start] + data.draw(TOKENS) + text[stop:]
    survives(read_whole, {"inputs": {"x": ["batch", 3]}, "parameters": {"w": [3, 3]}, "program": text})


@quick
@given(JSON)
def test_any_json_is_computed_or_refused(request):
    for document in VALID:
        survives(engine.compute, engine.parse_graph(document), request)


@quick
@given(st.data())
def test_a_valid_request_with_one_part_replaced_is_computed_or_refused(data):
    definition = engine.parse_graph(VALID[0])
    request = {
        "inputs": {"x": {"dtype": "float32", "shape": [2, 3], "data": [1, 2, 3, 4, 5, 6]}},
        "parameters": {"w": [[1, 2], [3, 4], [5, 6]]},
        "buffers": {"seen": [1, 2]},
        "want": ["outputs", "gradients"],
        "seed": 3,
        "training": True,
    }
    path = data.draw(st.sampled_from(places(request)))
    survives(engine.compute, definition, mutated(request, path, data.draw(JSON)))


@quick
@given(st.data())
def test_a_valid_recipe_with_one_part_replaced_is_read_or_refused(data):
    recipe = {
        "optimizer": {"kind": "adamw", "lr": 0.001, "betas": [0.9, 0.99], "eps": 1e-8, "weight_decay": 0.1},
        "schedule": {
            "kind": "sequential",
            "schedules": [{"kind": "linear", "total_iters": 3}, {"kind": "cosine", "t_max": 10, "eta_min": 0.0}],
            "milestones": [5],
            "per": "step",
        },
        "clip": {"norm": 1.0, "value": 0.5},
        "epochs": 3,
        "batch_size": 8,
        "shuffle": False,
        "seed": 4,
        "precision": "float64",
        "metrics": ["accuracy"],
        "validation": {"split": 0.25},
        "checkpoint": {"every_steps": 5, "every_epochs": None, "keep_last": 2, "keep_best": False},
        "record": {"every_steps": 2, "gradient_norms": False},
        "feeds": {"x": "features"},
    }
    path = data.draw(st.sampled_from(places(recipe)))
    read = survives(engine.read_recipe, mutated(recipe, path, data.draw(JSON)))
    if read is not None:
        assert isinstance(read.schedule.rate(read.optimizer.rest.lr, epoch=400, step=40_000), float)
