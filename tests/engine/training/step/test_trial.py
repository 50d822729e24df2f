"""How losses are found to sum up rows."""

import engine
from engine.training.step.trial import batch_reduction
from tests.support.rows import each_row

PAIRS = {"x": ["n", 3], "y": ["n", 3]}
CLASSES = {"x": ["n", 3], "y": {"shape": ["n"], "dtype": "int64"}}
LOSSES = {
    "loss = mse_loss(x @ w, y)": (PAIRS, "mean"),
    "loss = mse_loss(x @ w, y, reduction='sum')": (PAIRS, "sum"),
    "loss = sum((x @ w - y) ** 2)": (PAIRS, "sum"),
    "loss = mean(sum(abs(x @ w - y), axis=1))": (PAIRS, "mean"),
    "loss = mean(x @ w) * 3.0 + 2.0": (PAIRS, "mean"),
    "loss = mse_loss(x @ w, y) + 0.1 * sum(w ** 2)": (PAIRS, "mean"),
    "loss = sum(x @ w) + sum(w ** 2) + 1.0": (PAIRS, None),
    "loss = sqrt(mse_loss(x @ w, y))": (PAIRS, None),
    "loss = mean((x @ w) @ transpose(y))": (PAIRS, None),
    "loss = max(x @ w)": (PAIRS, None),
    "loss = cross_entropy(x @ w, y)": (CLASSES, "weighted"),
    "loss = nll_loss(log_softmax(x @ w), y)": (CLASSES, "weighted"),
    "loss = cross_entropy(x @ w, y, reduction='sum')": (CLASSES, "sum"),
    "loss = cross_entropy(x @ w, y) * 2.0": (CLASSES, "mean"),
}


@each_row(("program", "expected"), LOSSES.items(), ids=LOSSES)
def test_the_reduction_of_a_loss_is_found(program, expected):
    inputs, reduction = expected
    parameters = {"w": {"shape": [3, 3], "init": "normal"}}
    definition = engine.parse_graph({"inputs": inputs, "parameters": parameters, "program": program})
    assert batch_reduction(definition) == reduction


def test_a_loss_by_an_alias_in_a_node_is_reduced_as_by_its_name():
    definitions = [
        engine.parse_graph(
            {
                "inputs": CLASSES,
                "nodes": [
                    {"name": "scores", "op": "log_softmax", "inputs": ["x"]},
                    {"name": "loss", "op": op, "inputs": ["scores", "y"]},
                ],
                "losses": ["loss"],
            }
        )
        for op in ("nll_loss", "nll")
    ]
    assert [batch_reduction(definition) for definition in definitions] == ["weighted", "weighted"]
