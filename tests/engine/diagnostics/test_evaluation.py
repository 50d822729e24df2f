"""One evaluation without a fit: examples with known answers, and faults with pointers into the request."""

import numpy as np
import pytest

import engine
from tests.support.rows import each_row

QUADRATIC = {
    "name": "quadratic",
    "inputs": {"a": [], "b": []},
    "parameters": {"x": []},
    "program": "f = a * x * x + b",
}
LINEAR = {
    "inputs": {"x": ["n", 2], "y": {"shape": ["n"], "dtype": "float64"}},
    "parameters": {"w": {"shape": [2], "dtype": "float64"}, "unused": [3]},
    "buffers": {"seen": {"shape": [2], "dtype": "int64"}},
    "program": "p = cast(x, dtype='float64') @ w\nloss = sum((p - y) ** 2)\nhits = seen + 1",
}


def plain(result):
    """Turn arrays into lists."""
    if isinstance(result, dict):
        return {name: plain(item) for name, item in result.items()}
    return result.tolist() if isinstance(result, np.ndarray) else result


def test_a_quadratic_of_given_numbers_and_its_derivative():
    definition = engine.parse_graph(QUADRATIC)
    result = engine.compute(definition, {"inputs": {"a": 3.0, "b": 4.0}, "parameters": {"x": 2.0}})
    assert plain(result) == {"outputs": {"f": 16.0}, "losses": {"f": 16.0}, "gradients": {"x": 12.0}}


def test_only_what_is_wanted_is_answered():
    definition = engine.parse_graph(QUADRATIC)
    request = {"inputs": {"a": 1, "b": 0}, "parameters": {"x": 3}}
    assert plain(engine.compute(definition, {**request, "want": ["outputs"]})) == {
        "losses": {"f": 9.0},
        "outputs": {"f": 9.0},
    }
    assert plain(engine.compute(definition, {**request, "want": []})) == {"losses": {"f": 9.0}}


def test_a_graph_like_ggmls_simple_example_multiplies_matrices():
    definition = engine.parse_graph({"inputs": {"a": [4, 2], "b": [3, 2]}, "program": "c = a @ b.T"})
    a, b = [[2, 8], [5, 1], [4, 2], [8, 6]], [[10, 5], [9, 9], [5, 4]]
    result = engine.compute(definition, {"inputs": {"a": a, "b": b}, "want": ["outputs"]})
    assert plain(result["outputs"]["c"]) == [[60, 90, 42], [55, 54, 29], [50, 54, 28], [110, 126, 64]]


def test_lists_are_read_in_the_precision_of_what_they_feed():
    definition = engine.parse_graph(LINEAR)
    request = {"inputs": {"x": [[1, 2]], "y": [0.1]}, "parameters": {"w": [0.1, 0.2]}, "buffers": {"seen": [1, 2]}}
    result = engine.compute(definition, request)
    assert result["losses"]["loss"] == (0.1 + 0.4 - 0.1) ** 2
    np.testing.assert_array_equal(result["outputs"]["hits"], [2, 3])
    assert result["gradients"]["unused"] is None
    assert result["gradients"]["w"].dtype == np.float64


def test_parameters_left_out_start_from_the_seed():
    document = {"inputs": {"x": ["n", 2]}, "parameters": {"w": [2, 3], "b": [3]}, "program": "y = x @ w + b"}
    definition = engine.parse_graph(document)

    def run(**more):
        return plain(engine.compute(definition, {"inputs": {"x": [[1, 0], [0, 1]]}, "want": ["outputs"], **more}))

    assert run() == run(seed=0) == run(seed=0, parameters={"b": [0, 0, 0]})
    assert run() != run(seed=1)
    assert run(seed=-(2**62)) != run(seed=2**62)


def test_a_tensor_of_an_answer_can_be_sent_back_with_what_is_not_finite_in_it():
    tensor = {
        "dtype": "float32",
        "shape": [2, 2],
        "data": [None, 1.0, None, 2.0],
        "nonfinite": {"0": "-inf", "2": "nan"},
    }
    document = {"inputs": {"x": [2, 2]}, "program": "y = x * 2.0"}
    result = engine.compute(engine.parse_graph(document), {"inputs": {"x": tensor}, "want": ["outputs"]})
    np.testing.assert_array_equal(result["outputs"]["y"], [[-np.inf, 2.0], [np.nan, 4.0]])


@each_row(
    ("tensor", "pointer"),
    [
        ({"data": [None, 1.0]}, "/inputs/x"),
        ({"data": [None, 1.0], "nonfinite": {"0": "NaN"}}, "/inputs/x/nonfinite/0"),
        ({"data": [None, 1.0], "nonfinite": {"1": "nan"}}, "/inputs/x/nonfinite/1"),
        ({"data": [None, 1.0], "nonfinite": {"2": "nan"}}, "/inputs/x/nonfinite/2"),
        ({"data": [None, 1.0], "nonfinite": {"-2": "nan"}}, "/inputs/x/nonfinite/-2"),
        ({"data": [None, 1.0], "nonfinite": ["nan"]}, "/inputs/x/nonfinite"),
        ({"dtype": "int64", "data": [None, 1], "nonfinite": {"0": "nan"}}, "/inputs/x/nonfinite"),
    ],
)
def test_what_is_not_finite_must_be_named_for_every_null(tensor, pointer):
    definition = engine.parse_graph({"inputs": {"x": [2]}, "program": "y = x * 2.0"})
    with pytest.raises(engine.DocumentError) as caught:
        engine.compute(definition, {"inputs": {"x": tensor}, "want": ["outputs"]})
    assert pointer in [found.pointer for found in caught.value.findings]


def test_a_negative_seed_is_a_seed_like_any_other():
    definition = engine.parse_graph({"inputs": {}, "parameters": {"w": [3, 2]}, "program": "y = w * 1.0"})
    drawn = [engine.compute(definition, {"seed": s, "want": ["outputs"]})["outputs"]["y"] for s in (-1, -2, -1)]
    np.testing.assert_array_equal(drawn[0], drawn[2])
    assert (drawn[0] != drawn[1]).all()


def test_training_mode_is_chosen_by_the_request():
    definition = engine.parse_graph({"inputs": {"x": [64]}, "nodes": [{"name": "y", "op": "dropout", "inputs": ["x"]}]})
    request = {"inputs": {"x": [1.0] * 64}, "want": ["outputs"]}
    evaluated = engine.compute(definition, request)["outputs"]["y"]
    trained = engine.compute(definition, {**request, "training": True})["outputs"]["y"]
    np.testing.assert_array_equal(evaluated, np.ones(64))
    assert set(trained.tolist()) == {0.0, 2.0}
    np.testing.assert_array_equal(trained, engine.compute(definition, {**request, "training": True})["outputs"]["y"])
    assert not np.array_equal(
        trained, engine.compute(definition, {**request, "training": True, "seed": 1})["outputs"]["y"]
    )


REQUEST = {"inputs": {"x": [[1, 2], [3, 4]], "y": [1, 2]}, "parameters": {"w": [1, 2]}}
FAULTS = {
    "a list": ([], [("", "type_mismatch"), ("/inputs", "missing_field"), ("/inputs", "missing_field")]),
    "an unknown field": ({**REQUEST, "input": {}}, [("/input", "unknown_field")]),
    "an unknown want": ({**REQUEST, "want": ["output"]}, [("/want/0", "unknown_name")]),
    "wants as text": ({**REQUEST, "want": "outputs"}, [("/want", "type_mismatch")]),
    "a seed of text": ({**REQUEST, "seed": "1"}, [("/seed", "attribute_invalid")]),
    "a huge seed": ({**REQUEST, "seed": 2**63}, [("/seed", "attribute_invalid")]),
    "training as a number": ({**REQUEST, "training": 1}, [("/training", "attribute_invalid")]),
    "a missing input": ({**REQUEST, "inputs": {"x": [[1, 2]]}}, [("/inputs", "missing_field")]),
    "an unknown input": ({**REQUEST, "inputs": {**REQUEST["inputs"], "z": 1}}, [("/inputs/z", "unknown_name")]),
    "an unknown parameter": ({**REQUEST, "parameters": {"v": 1}}, [("/parameters/v", "unknown_name")]),
    "a parameter of another shape": ({**REQUEST, "parameters": {"w": [1]}}, [("/parameters/w", "shape_mismatch")]),
    "a buffer of fractions": ({**REQUEST, "buffers": {"seen": [0.5, 1]}}, [("/buffers/seen", "tensor_invalid")]),
    "an input of another rank": (
        {**REQUEST, "inputs": {"x": [1, 2], "y": [1]}},
        [("/inputs/x", "shape_mismatch")],
    ),
    "extents that differ": (
        {**REQUEST, "inputs": {"x": [[1, 2]], "y": [1, 2]}},
        [("/inputs/y", "shape_mismatch")],
    ),
    "a ragged input": (
        {**REQUEST, "inputs": {"x": [[1, 2], [3]], "y": [1, 2]}},
        [("/inputs/x", "tensor_invalid")],
    ),
    "a tensor without data": (
        {**REQUEST, "inputs": {"x": {"shape": [2, 2]}, "y": [1, 2]}},
        [("/inputs/x", "missing_field"), ("/inputs/x", "shape_mismatch")],
    ),
}


@each_row(("request_", "expected"), FAULTS.values(), ids=FAULTS)
def test_a_faulty_request_is_refused_with_pointers(request_, expected):
    with pytest.raises(engine.DocumentError) as caught:
        engine.compute(engine.parse_graph(LINEAR), request_)
    assert [(finding.pointer, finding.code) for finding in caught.value.findings] == expected


def test_gradients_of_a_graph_without_a_loss_are_refused():
    definition = engine.parse_graph({"inputs": {"x": [3]}, "program": "y = x * 2"})
    with pytest.raises(engine.DocumentError) as caught:
        engine.compute(definition, {"inputs": {"x": [1, 2, 3]}})
    assert [(finding.pointer, finding.code) for finding in caught.value.findings] == [("/want", "no_loss")]


def test_an_index_out_of_range_is_a_fault_of_the_inputs():
    document = {
        "inputs": {"i": {"shape": ["n"], "dtype": "int64"}},
        "parameters": {"table": [3, 2]},
        "nodes": [{"name": "rows", "op": "embedding", "inputs": ["table", "i"]}],
    }
    with pytest.raises(engine.DocumentError, match="index 7") as caught:
        engine.compute(engine.parse_graph(document), {"inputs": {"i": [7]}, "want": ["outputs"]})
    assert caught.value.findings[0].pointer == "/inputs"


def test_more_memory_than_the_limit_is_refused_before_any_is_taken():
    document = {
        "inputs": {"x": ["n"]},
        "parameters": {"w": [10**8]},
        "program": "big = broadcast_to(x, shape=[40000, -1]) * 2.0\nsmall = sum(w) * 0.0 + sum(big)",
    }
    definition = engine.parse_graph(document)
    with pytest.raises(engine.DocumentError, match="bytes of memory") as caught:
        engine.compute(definition, {"inputs": {"x": [1.0] * 5000}, "want": ["outputs"]})
    assert caught.value.findings[0].code == "limit_exceeded"
