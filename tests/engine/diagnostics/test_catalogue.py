"""The catalogue: an entry for every op, its notes on gradients and shapes, and what is not supported."""

from __future__ import annotations

import json
from functools import cache
from typing import Any

import pytest

import engine
from engine.core.registry import lookup
from engine.core.unsupported_ops import FAMILIES
from engine.ops import OPS
from tests.support.rows import each_row

REFUSED = [name for family in FAMILIES for name in family.members]


@cache
def entries() -> dict[str, dict[str, Any]]:
    return {entry["name"]: entry for entry in engine.op_catalogue()}


def test_every_op_has_one_entry_and_every_refused_operation_too() -> None:
    assert [entry["name"] for entry in engine.op_catalogue()] == [*OPS, *REFUSED]
    assert {name for name, entry in entries().items() if entry["supported"]} == set(OPS)
    assert len({tuple(entry) for entry in entries().values()}) == 1


def test_entries_are_json() -> None:
    text = json.dumps(entries(), allow_nan=False)
    assert json.dumps(json.loads(text)) == text


@each_row("name", REFUSED)
def test_an_operation_that_is_not_supported_says_so_and_what_to_use(name: str) -> None:
    entry = engine.op_entry(name)
    assert entry == entries()[name]
    assert entry["reason"]
    with pytest.raises(engine.UnknownName, match=rf"^{name} \(.*\) is not supported: ") as caught:
        lookup(name)
    assert caught.value.code == "not_supported"
    assert "did you mean" not in str(caught.value)
    if entry["instead"]:
        assert str(caught.value).endswith(f"; use {entry['instead']} instead")


def test_what_is_named_instead_of_an_unsupported_operation_exists() -> None:
    words = {word for name in REFUSED for word in (entries()[name]["instead"] or "").replace(",", "").split()}
    assert words - {"and", "with", "groups"} <= set(OPS)


@each_row("name", ["q4_0", "IQ2_XXS", "tq1_0", "mxfp4", "qint8"])
def test_a_quantised_type_is_refused_as_such(name: str) -> None:
    with pytest.raises(engine.DTypeError, match="quantised types are not supported"):
        engine.tensor([1.0], dtype=name)


# (op, field, what it holds)
FACTS: list[tuple[str, str, Any]] = [
    ("nonzero", "data_dependent", True),
    ("unique", "data_dependent", True),
    ("masked_select", "data_dependent", True),
    ("where", "data_dependent", False),
    ("attention_backward", "second_order", "composition"),
    ("lstm_steps_backward", "second_order", "composition"),
    ("conv2d", "second_order", "composition"),
    ("tanh", "second_order", "rule"),
    ("argmax", "second_order", None),
    ("argmax", "differentiable", False),
    ("random_normal", "no_gradient", "it is drawn from a key, which has no gradient"),
    ("zeros", "no_gradient", "it is a constant"),
    ("stop_gradient", "no_gradient", "by definition"),
    ("mul", "no_gradient", None),
    (
        "embedding",
        "gradient_notes",
        {
            "padding_idx": "the padding row is made to get no gradient",
            "scale_grad_by_freq": "the gradient of a row is divided by how often it is looked up",
        },
    ),
    ("topk", "output_names", ["values", "indices"]),
    ("topk", "output_count", 2),
    ("split", "output_count", None),
    ("split", "outputs", "several"),
    ("add", "output_count", 1),
]


@each_row(("name", "field", "wanted"), FACTS)
def test_an_entry_shows_what_an_op_does(name: str, field: str, wanted: Any) -> None:
    assert entries()[name][field] == wanted


# (op, [role and whether a gradient flows to it, for each input])
INPUTS: list[tuple[str, list[tuple[str, bool]]]] = [
    ("matmul", [("numbers", True), ("numbers", True)]),
    ("embedding", [("numbers", True), ("integers", False)]),
    ("where", [("truth values", False), ("numbers", True), ("numbers", True)]),
    ("dropout", [("numbers", True), ("random key", False)]),
    ("concat", [("numbers", True)]),
    ("softmax_cross_entropy", [("numbers", True), ("integers", False)]),
    ("batch_norm", [("numbers", True)] * 3 + [("numbers", True)] * 2),
]


@each_row(("name", "wanted"), INPUTS)
def test_an_entry_shows_what_inputs_hold_and_where_gradients_flow(name: str, wanted: list[tuple[str, bool]]) -> None:
    assert [(item["role"], item["gradient"]) for item in entries()[name]["inputs"]] == wanted


def test_output_names_are_as_many_as_the_outputs() -> None:
    for entry in entries().values():
        assert not entry["output_names"] or len(entry["output_names"]) == entry["output_count"], entry["name"]


def test_a_key_can_be_left_out() -> None:
    keys = [item for entry in entries().values() for item in entry["inputs"] if item["role"] == "random key"]
    assert keys
    assert not any(item["required"] for item in keys)
