"""Losses at the end of a stack: every kind against PyTorch, by example and weighted, and what is wrong with them."""

import json
from pathlib import Path

import numpy as np
import pytest

import engine
from engine.core.errors import DocumentError
from engine.core.registry import lookup
from engine.nn.layers import loss_declarations
from tests.support.rows import each_row

pytestmark = pytest.mark.law

CASES = json.loads((Path(__file__).parent / "golden" / "losses.json").read_text())
WITHOUT_GOLDEN = {
    "focal_loss": "PyTorch has none: an op with tests of its own",
    "weighted_mse_loss": "ggmlR's: an op with tests of its own",
    "categorical_cross_entropy": "Keras's: an op with tests of its own",
    "ggml_cross_entropy": "ggml's: an op with tests of its own",
}
IDS = [f"{place}: {case['kind']} {json.dumps(case['options'])}" for place, case in enumerate(CASES)]
KEEP = {"layer": "hardtanh", "min": -1e9, "max": 1e9}


def ended(case, inputs=None, **options):
    """Return the graph whose predictions are x itself, ended by the loss of a case."""
    inputs = case["inputs"] if inputs is None else inputs
    return engine.parse_graph(
        {
            "inputs": {
                name: {"shape": ["rows", *spec["shape"][1:]], "dtype": spec["dtype"]} for name, spec in inputs.items()
            },
            "layers": [KEEP],
            "loss": {"kind": case["kind"], **case["options"], **options},
        }
    )


def computed(definition, inputs):
    """Return the loss and the outputs."""
    given = {name: spec["data"] for name, spec in inputs.items()}
    result = engine.compute(definition, {"inputs": given, "want": ["outputs"]})
    (loss,) = result["losses"].values()
    return float(loss), result["outputs"]


def rows_of(case):
    """Return PyTorch's losses of each row and each element of it."""
    losses = np.array(case["expected"]["none"])
    if case["kind"] == "ctc_loss":
        losses = losses / np.maximum(case["inputs"]["n"]["data"], 1)
    return losses.reshape(len(losses), -1)


@each_row("reduction", ["mean", "sum"])
@each_row("case", CASES, ids=IDS)
def test_a_loss_gives_what_pytorch_gives(case, reduction):
    loss, outputs = computed(ended(case, reduction=reduction), case["inputs"])
    np.testing.assert_allclose(loss, case["expected"][reduction], rtol=1e-7)
    assert list(outputs) == ["hardtanh_0"]


@each_row("case", CASES, ids=IDS)
def test_the_losses_of_the_rows_are_an_output_beside_the_loss(case):
    loss, outputs = computed(ended(case, per_example=True), case["inputs"])
    np.testing.assert_allclose(loss, case["expected"]["mean"], rtol=1e-7)
    np.testing.assert_allclose(outputs["loss.per_example"], rows_of(case).mean(axis=1), rtol=1e-6)


@each_row("case", CASES, ids=IDS)
def test_without_a_reduction_the_plain_mean_is_fitted(case):
    loss, outputs = computed(ended(case, reduction="none"), case["inputs"])
    losses = np.array(case["expected"]["none"])
    np.testing.assert_allclose(loss, losses.mean(), rtol=1e-7)
    np.testing.assert_allclose(outputs["loss.per_example"], losses.reshape(len(losses), -1).mean(axis=1), rtol=1e-7)


def weighted(case, weights, **options):
    """Return the loss with a weight for each row."""
    inputs = {**case["inputs"], "w": {"shape": [len(weights)], "dtype": "float64", "data": [float(w) for w in weights]}}
    case = {**case, "options": {**target_of(case), **case["options"]}}
    return computed(ended(case, inputs, sample_weight="w", **options), inputs)[0]


def target_of(case):
    """Name the target of a case, for it is no longer the only other input."""
    name = next((name for name in ("t", "target") if name in case["inputs"]), None)
    return {} if name is None else {"target": name}


@each_row("case", CASES, ids=IDS)
def test_rows_of_equal_weight_give_the_loss_without_weights(case):
    weights = [0.5] * case["inputs"]["x"]["shape"][0]
    np.testing.assert_allclose(weighted(case, weights), case["expected"]["mean"], rtol=1e-6)
    np.testing.assert_allclose(weighted(case, weights, reduction="sum"), case["expected"]["sum"] / 2, rtol=1e-6)


@each_row("case", CASES, ids=IDS)
def test_the_weights_of_rows_multiply_their_losses(case):
    weights = np.arange(1.0, 1 + case["inputs"]["x"]["shape"][0])
    rows = rows_of(case)
    found = weighted(case, weights)
    if case["kind"] in ("cross_entropy", "nll_loss") and case["inputs"]["t"]["dtype"] == "int64":
        counted = np.ones_like(rows) if "weight" not in case["options"] else np.array(case["options"]["weight"])[
            np.array(case["inputs"]["t"]["data"]).reshape(rows.shape)
        ]  # fmt: skip
        counted = np.where(
            np.array(case["inputs"]["t"]["data"]).reshape(rows.shape) == case["options"].get("ignore_index"), 0, counted
        )
        expected = (rows.T @ weights).sum() / (counted.T @ weights).sum()
    else:
        expected = rows.mean(axis=1) @ weights / weights.sum()
    np.testing.assert_allclose(found, expected, rtol=1e-6)


def test_every_loss_has_golden_values_or_a_reason_for_none():
    assert set(loss_declarations()) == {case["kind"] for case in CASES} | set(WITHOUT_GOLDEN)


X = {"shape": ["rows", 3]}
COLUMN = {"shape": ["rows"]}
CLASS = {"shape": ["rows"], "dtype": "int64"}
SPLITS = {
    "gaussian_nll_loss": ({"split": 1}, ["rows", 2], {"t": COLUMN}),
    "margin_ranking_loss": ({"split": 1}, ["rows", 2], {"t": {"shape": ["rows", 1]}}),
    "cosine_embedding_loss": ({"split": 1}, ["rows", 2, 4], {"t": COLUMN}),
    "triplet_margin_loss": ({"split": -2}, ["rows", 3, 4], {}),
}


@each_row("kind", SPLITS)
def test_a_loss_of_several_operands_cuts_them_out_of_the_predictions(kind):
    options, shape, others = SPLITS[kind]
    generator = np.random.default_rng(0)
    x = generator.uniform(0.5, 2, [5, *shape[1:]])
    t = generator.choice([-1.0, 1.0], [5, *others["t"]["shape"][1:]]) if others else None
    definition = engine.parse_graph(
        {"inputs": {"x": shape, **others}, "layers": [KEEP], "loss": {"kind": kind, **options}}
    )
    given = {"x": {"data": x.tolist()}, **({"t": {"data": t.tolist()}} if others else {})}
    found = computed(definition, given)[0]
    keep = kind == "margin_ranking_loss"
    parts = [x[:, [k]] if keep else x[:, k] for k in range(x.shape[1])]
    parts = [parts[0], t, parts[1]] if kind == "gaussian_nll_loss" else [*parts, *([t] if others else [])]
    expected = lookup(kind)(*parts)
    np.testing.assert_allclose(found, expected.item(), rtol=1e-5)


def test_a_loss_of_named_rows_is_fitted():
    document = {
        "inputs": {"x": ["rows", 4], "t": CLASS, "w": COLUMN},
        "layers": [{"layer": "linear", "units": 3}],
        "loss": {"kind": "cross_entropy", "weight": [1, 2, 4], "sample_weight": "w", "per_example": True},
    }
    definition = engine.parse_graph(document)
    assert engine.parse_graph(json.loads(json.dumps(definition.to_json()))) == definition
    assert definition.outputs == ("linear_0", "loss.per_example")
    generator = np.random.default_rng(0)
    columns = {
        "x": generator.standard_normal((30, 4)),
        "t": generator.integers(0, 3, 30),
        "w": np.repeat([1.0, 0.0], 15),
    }
    recipe = engine.read_recipe({"steps": 20, "batch_size": 30, "optimizer": {"kind": "adam", "lr": 0.1}})
    fit = engine.Fit(definition, recipe, columns)
    points = list(fit)
    assert points[-1].values["loss"] < points[0].values["loss"]
    without = {name: column[:15] for name, column in columns.items()}
    recipe = engine.read_recipe({"steps": 20, "batch_size": 15, "optimizer": {"kind": "adam", "lr": 0.1}})
    other = engine.Fit(definition, recipe, without)
    last = list(other)[-1]
    np.testing.assert_allclose(last.values["loss"], points[-1].values["loss"], rtol=1e-5)


def test_predictions_of_a_fitted_stack_need_no_targets():
    definition = engine.parse_graph(
        {
            "inputs": {"x": X, "t": X},
            "layers": [{"layer": "linear", "units": 3}],
            "loss": {"kind": "mse_loss", "reduction": "none"},
        }
    )
    recipe = engine.read_recipe({"steps": 1, "batch_size": 2, "optimizer": {"kind": "sgd", "lr": 0.1}})
    rows = np.ones((2, 3), "float32")
    fit = engine.Fit(definition, recipe, {"x": rows, "t": rows})
    list(fit)
    assert list(engine.Predictor(definition, fit.snapshot()).predict({"x": rows})) == ["linear_0"]


WRONG = {
    "too few weights of classes": (
        {"kind": "cross_entropy", "weight": [1, 2]},
        "/loss/weight",
        "3 numbers: one for each class",
    ),
    "text among weights": ({"kind": "cross_entropy", "weight": [1, "a", 2]}, "/loss/weight", "nested lists"),
    "weights of no such name": ({"kind": "cross_entropy", "weight": "v"}, "/loss/weight", "one number for each class"),
    "a share above 1": ({"kind": "cross_entropy", "label_smoothing": 2}, "/loss/label_smoothing", "at most 1"),
    "an index that is none": ({"kind": "nll_loss", "ignore_index": 0.5}, "/loss/ignore_index", "an integer"),
    "an unknown reduction": ({"kind": "nll_loss", "reduction": "avg"}, "/loss/reduction", "'mean', 'sum', 'none'"),
    "an unknown option": ({"kind": "nll_loss", "weigth": 1}, "/loss/weigth", "did you mean 'weight'"),
    "a list as kind": ({"kind": ["nll_loss"]}, "/loss/kind", "a string"),
    "no other scores": ({"kind": "margin_ranking_loss"}, "/loss/other", "the second scores"),
    "no weights of rows": (
        {"kind": "nll_loss", "sample_weight": "v"},
        "/loss/sample_weight",
        "one number for each row",
    ),
    "weights of more than rows": ({"kind": "nll_loss", "sample_weight": "x"}, "/loss/sample_weight", "each of the"),
    "a flag that is none": ({"kind": "nll_loss", "per_example": 1}, "/loss/per_example", "true or false"),
    "rows of a loss that is one": (
        {"kind": "ggml_cross_entropy", "per_example": True},
        "/loss/per_example",
        "no option",
    ),
    "a cut along the rows": ({"kind": "margin_ranking_loss", "split": 0}, "/loss/split", "behind the rows"),
    "a cut that does not divide": ({"kind": "margin_ranking_loss", "split": 1}, "/loss/split", "a multiple of 2"),
    "a cut and a name": (
        {"kind": "margin_ranking_loss", "split": 1, "other": "x"},
        "/loss/other",
        "leave one of the two out",
    ),
    "a factor that does not broadcast": (
        {"kind": "bce_with_logits_loss", "target": "x", "pos_weight": [1, 2]},
        "/loss/pos_weight",
        "broadcasts to the predictions",
    ),
    "two denominators": (
        {"kind": "mse_loss", "target": "x", "weight": [1, 2, 3], "sample_weight": "w"},
        "/loss/sample_weight",
        "weight or",
    ),
    "a margin below 0": (
        {"kind": "triplet_margin_loss", "positive": "x", "negative": "x", "margin": -1},
        "/loss/margin",
        "greater than 0",
    ),
    "no alignment without steps": (
        {"kind": "ctc_loss", "target_lengths": "t", "target": "t"},
        "/loss",
        r"\[rows, steps, classes\]",
    ),
}


@each_row(("loss", "pointer", "message"), WRONG.values(), ids=WRONG)
def test_a_wrong_option_of_a_loss_is_found_where_it_stands(loss, pointer, message):
    document = {"inputs": {"x": X, "t": CLASS, "w": COLUMN}, "layers": [KEEP], "loss": {"target": "t", **loss}}
    if loss["kind"] == "triplet_margin_loss":
        del document["loss"]["target"]
    with pytest.raises(DocumentError, match=message) as caught:
        engine.parse_graph(document)
    assert [finding.pointer for finding in caught.value.findings] == [pointer]


@each_row("entry", engine.loss_catalogue(), ids=loss_declarations())
def test_the_catalogue_shows_what_predictions_and_operands_a_loss_takes(entry):
    assert entry["predictions"]
    assert [operand["name"] for operand in entry["operands"]]
    assert all(operand["shape"] and operand["takes"] for operand in entry["operands"])
    names = [attribute["name"] for attribute in entry["attrs"]]
    assert ("sample_weight" in names) == ("per_example" in names) == (entry["kind"] != "ggml_cross_entropy")
    assert json.loads(json.dumps(entry)) == entry
