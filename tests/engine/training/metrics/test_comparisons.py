"""What a graph compares: found by its losses, or named by a metric."""

from __future__ import annotations

import pytest

from engine.core.errors import DocumentError
from engine.core.registry import OPS
from engine.execution.plan import make_plan
from engine.graph.codec import parse_graph
from engine.graph.trace import Trace, build
from engine.training.metrics.comparisons import find_comparison, find_operands
from engine.training.metrics.metric import Metric
from engine.training.metrics.table import METRICS
from engine.training.metrics.tally import metric_statistics
from tests.support.rows import each_row

INPUTS = {
    "x": {"shape": ["rows", 4], "dtype": "float32"},
    "y": {"shape": ["rows"], "dtype": "int64"},
    "t": {"shape": ["rows", 4], "dtype": "float32"},
    "z": {"shape": ["rows", 1], "dtype": "float32"},
    "s": {"shape": ["rows", 5, 4], "dtype": "float32"},
    "w": {"shape": ["rows", 5], "dtype": "int64"},
    "b": {"shape": ["rows", 4], "dtype": "bool"},
}


def graph_of(program: str) -> Trace:
    return build(parse_graph({"inputs": INPUTS, "program": program}), {"rows": 3}, training=False)


def of(document: dict[str, object]) -> Metric:
    return METRICS[str(document["kind"])](**{name: value for name, value in document.items() if name != "kind"})


def refusal(program: str, metrics: list[Metric]) -> list[tuple[str, str, str]]:
    with pytest.raises(DocumentError) as caught:
        metric_statistics(metrics, graph_of(program))
    return [(finding.pointer, finding.code, finding.detail) for finding in caught.value.findings]


@each_row("loss", [op.name for op in OPS.values() if op.loss and op.loss.form])
def test_every_loss_that_is_known_takes_predictions_and_targets_first(loss):
    assert len(OPS[loss].inputs) >= 2
    assert OPS[loss].inputs[1].name in ("target", "labels")


def test_the_declared_loss_comes_before_other_nodes():
    program = "a = mse_loss(x, t)\nloss = cross_entropy(x, y, ignore_index=2)"
    found = find_comparison(graph_of(program).definition)
    assert found is not None
    assert (found.predictions, found.targets, found.form, found.ignore_index) == ("x", "y", "class_logits", 2)


def test_a_loss_within_an_expression_is_found():
    found = find_comparison(graph_of("loss = 0.5 * nll(log_softmax(x, axis=1), y) + mean(square(x))").definition)
    assert found is not None
    assert (found.form, found.ignore_index, found.targets) == ("class_log_probabilities", -100, "y")


def test_a_graph_without_such_a_loss_compares_nothing():
    assert find_comparison(graph_of("loss = mean(square(x - t))").definition) is None
    assert find_comparison(graph_of("loss = soft_margin_loss(x, 1.0)").definition) is None


@each_row(
    ("predictions", "targets", "form", "axis"),
    [
        ("x", "y", "class_scores", 1),
        ("s", "w", "class_scores", -1),
        ("x", "t", "numbers", 1),
        ("x", "b", "numbers", 1),
    ],
)
def test_without_a_loss_types_and_shapes_show_the_form(predictions, targets, form, axis):
    found = find_operands(graph_of("loss = mean(square(x))"), predictions=predictions, targets=targets)
    assert (found.form, found.axis) == (form, axis)


def test_predictions_that_a_loss_takes_keep_their_form_beside_other_targets():
    graph = graph_of("soft = softmax(t, axis=1)\nloss = cross_entropy(x, soft)")
    found = find_operands(graph, targets="y")
    assert (found.predictions, found.form, found.soft) == (graph.inputs["x"], "class_logits", False)
    distilled = find_operands(graph_of("loss = mse_loss(x, t)"), targets="y")
    assert distilled.form == "class_scores"


def test_targets_that_a_loss_takes_keep_the_class_it_leaves_out():
    graph = graph_of("p = softmax(x, axis=1)\nloss = cross_entropy(x, y, ignore_index=1)")
    found = find_operands(graph, predictions="p")
    assert (found.form, found.ignore_index, found.targets) == ("class_scores", 1, graph.inputs["y"])


def test_a_metric_of_one_of_two_losses_names_what_that_compares():
    program = "a = cross_entropy(x, y)\nc = mse_loss(z, mean(t, axis=1, keepdims=true))\nloss = a + c"
    graph = graph_of(program)
    assert find_operands(graph, predictions="z").form == "numbers"
    assert find_operands(graph, targets="y").form == "class_logits"


def test_a_form_may_be_given():
    graph = graph_of("loss = mean(square(x))")
    assert find_operands(graph, predictions="x", targets="b", form="binary_logits").classes == 2
    assert find_operands(graph, predictions="s", targets="w", form="class_logits").axis == -1
    assert find_operands(graph, predictions="x", targets="t", form="class_probabilities").soft


def test_an_output_of_several_can_be_named():
    graph = graph_of("v, i = topk(x, k=2)\nloss = mean(v)")
    found = find_operands(graph, predictions="topk.1:1", targets="topk.1:1")
    assert found.predictions.dtype.name == "int64"


@each_row(
    ("program", "metric", "words"),
    [
        ("loss = cross_entropy(x, y)", {"kind": "r2"}, "r2 takes numbers in the shape of the targets, but these"),
        ("loss = mse_loss(x, t)", {"kind": "accuracy"}, "these predictions are numbers in the shape of the targets"),
        ("loss = bce_with_logits_loss(x, t)", {"kind": "top_k_accuracy"}, "one logit for each target 0 or 1"),
        ("loss = multi_margin_loss(x, y)", {"kind": "perplexity"}, "of which only the order counts"),
        ("loss = cross_entropy(x, y)", {"kind": "top_k_accuracy", "k": 5}, "k 5 must be at most 4"),
        ("loss = cross_entropy(x, y)", {"kind": "f1", "average": "binary"}, "needs 2 classes, there are 4"),
        ("loss = cross_entropy(x, y)", {"kind": "recall", "threshold": 0.3}, "leave threshold out"),
        ("loss = mean(square(x))", {"kind": "accuracy"}, "name the values to compare"),
        ("loss = mean(square(x))", {"kind": "mae", "predictions": "x"}, "name the values to compare"),
        ("loss = mse_loss(x, t)", {"kind": "mae", "predictions": "xs"}, "nothing in the graph is called 'xs'"),
        ("loss = mse_loss(x, t)", {"kind": "mae", "predictions": "x:1"}, "has outputs 0 to 0"),
        ("loss = mse_loss(x, t)", {"kind": "mae", "predictions": "z"}, "need equal ones; reshape one of them"),
        ("loss = mse_loss(x, t)", {"kind": "mae", "targets": "b", "form": "class_logits"}, "must be integers"),
        ("loss = mse_loss(x, t)", {"kind": "f1", "targets": "w", "form": "class_logits"}, "need [3]"),
        ("loss = mse_loss(x, t)", {"kind": "f1", "targets": "z", "form": "class_logits"}, "the shape of the pred"),
        ("loss = mse_loss(x, t)", {"kind": "f1", "predictions": "y", "form": "binary_logits"}, "must be floating"),
    ],
)
def test_a_metric_that_cannot_be_computed_says_what_to_change(program, metric, words):
    ((pointer, code, detail),) = refusal(program, [of(metric)])
    assert (pointer, code) == ("/metrics/0", "metric_unavailable")
    assert words in detail


def test_every_metric_that_cannot_be_computed_is_reported():
    found = refusal("loss = cross_entropy(x, y)", [METRICS["mae"](), METRICS["accuracy"](), METRICS["r2"]()])
    assert [pointer for pointer, *_ in found] == ["/metrics/0", "/metrics/2"]


@pytest.mark.parametrize("options", [{"kind": "confusion_matrix"}, {"kind": "auc"}, {"kind": "f1", "per_class": True}])
def test_what_grows_with_the_classes_has_a_limit(options):
    inputs = {"x": {"shape": ["rows", 65], "dtype": "float32"}, "y": {"shape": ["rows"], "dtype": "int64"}}
    definition = parse_graph({"inputs": inputs, "program": "loss = cross_entropy(x, y)"})
    with pytest.raises(DocumentError, match="for 65 classes is too large; the maximum is 64"):
        metric_statistics([of(options)], build(definition, {"rows": 3}, training=False))


def test_a_plan_computes_once_what_metrics_share_with_the_loss():
    graph = graph_of("loss = cross_entropy(x, y)")
    metrics = [METRICS[kind]() for kind in ("accuracy", "perplexity", "precision", "recall", "f1")]
    outputs = {"loss": graph.total_loss(), **metric_statistics(metrics, graph)}
    names = [step.op.name for step in make_plan(graph.inputs, {}, outputs, {}).steps]
    assert names.count("softmax_cross_entropy") == 1
    assert names.count("argmax") == 1
    assert names.count("scatter_add") == 3
