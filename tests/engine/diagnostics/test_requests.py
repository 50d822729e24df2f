"""Wants that are refused, each with a pointer, the shapes, and the nearest name."""

import pytest

import engine
from tests.support.rows import each_row

DOCUMENT = {
    "inputs": {"x": ["n", 2], "i": {"shape": ["n"], "dtype": "int64"}},
    "parameters": {"weight": [2], "bias": []},
    "program": "pred = x @ weight + bias\nloss = mean(pred ** 2)\nlarger = i > 0",
    "outputs": ["pred", "larger"],
    "losses": ["loss"],
}
REQUEST = {"inputs": {"x": [[1, 2], [3, 4], [5, 6]], "i": [0, 1, 2]}}

FAULTS = {
    "an unknown name": ("gradient", "", "unknown_name", "gradients"),
    "a kind without its object": ("jacobian", "", "unknown_name", "as an object"),
    "a number": (3, "", "type_mismatch", "a number"),
    "an empty object": ({}, "", "missing_field", "gradient_of"),
    "two kinds": ({"hvp": {}, "vhp": {}}, "", "missing_field", "exactly one"),
    "a misspelt kind": ({"jacobain": {}}, "/jacobain", "unknown_field", "'jacobian'"),
    "a field beside the kind": (
        {"jacobian": {"of": "pred", "by": "weight"}, "by": 1},
        "/by",
        "unknown_field",
        "known are jacobian",
    ),
    "a kind that is no object": ({"hessian": "weight"}, "/hessian", "type_mismatch", "object"),
    "an unknown field": (
        {"jacobian": {"of": "pred", "by": "weight", "mod": 1}},
        "/jacobian/mod",
        "unknown_field",
        "'mode'",
    ),
    "a missing field": ({"jacobian": {"of": "pred"}}, "/jacobian", "missing_field", "'by'"),
    "an unknown mode": (
        {"jacobian": {"of": "pred", "by": "weight", "mode": "both"}},
        "/jacobian/mode",
        "attribute_invalid",
        "reverse",
    ),
    "a mode that is null": (
        {"jacobian": {"of": "pred", "by": "weight", "mode": None}},
        "/jacobian/mode",
        "attribute_invalid",
        "reverse",
    ),
    "an unknown value": ({"jacobian": {"of": "prd", "by": "weight"}}, "/jacobian/of", "unknown_name", "'pred'"),
    "an output of a node that has one": (
        {"jacobian": {"of": "pred:1", "by": "weight"}},
        "/jacobian/of",
        "unknown_name",
        "pred:1",
    ),
    "an unknown leaf": ({"jacobian": {"of": "pred", "by": "wieght"}}, "/jacobian/by", "unknown_name", "'weight'"),
    "a leaf of integers": ({"jacobian": {"of": "pred", "by": "i"}}, "/jacobian/by", "dtype_mismatch", "int64"),
    "a value of truth": ({"jacobian": {"of": "larger", "by": "x"}}, "/jacobian/of", "dtype_mismatch", "bool"),
    "a name that is a number": ({"jacobian": {"of": 1, "by": "x"}}, "/jacobian/of", "attribute_invalid", "string"),
    "a Hessian of a vector": ({"hessian": {"of": "pred", "by": "x"}}, "/hessian/of", "shape_mismatch", "[3]"),
    "a Hessian by an object": ({"hessian": {"by": {"x": 1}}}, "/hessian/by", "attribute_invalid", "string"),
    "a direction of another shape": (
        {"hvp": {"by": {"weight": [1, 2, 3]}}},
        "/hvp/by/weight",
        "shape_mismatch",
        "[2], this tensor [3]",
    ),
    "a direction that is no tensor": ({"hvp": {"by": {"weight": "up"}}}, "/hvp/by/weight", "tensor_invalid", "string"),
    "directions as a list": ({"vhp": {"by": ["weight"]}}, "/vhp/by", "type_mismatch", "object"),
    "no direction": ({"vhp": {"by": {}}}, "/vhp/by", "missing_field", "at least one"),
    "a tangent of nothing": ({"jvp": {"tangents": {"wait": 1}}}, "/jvp/tangents/wait", "unknown_name", "'weight'"),
    "a tangent of another shape": (
        {"jvp": {"tangents": {"x": [[1, 2]]}}},
        "/jvp/tangents/x",
        "shape_mismatch",
        "[3, 2], this tensor [1, 2]",
    ),
    "one name for a list": ({"gradient_of": "loss"}, "/gradient_of", "type_mismatch", "list"),
    "no values": ({"gradient_of": []}, "/gradient_of", "missing_field", "at least one"),
    "a value twice": ({"gradient_of": ["loss", "loss"]}, "/gradient_of/1", "duplicate_name", "twice"),
    "a vector without cotangent": ({"gradient_of": ["pred"]}, "/gradient_of/0", "missing_field", "[3]"),
    "a cotangent of another shape": (
        {"gradient_of": ["pred"], "cotangents": {"pred": [1, 2]}},
        "/cotangents/pred",
        "shape_mismatch",
        "[3], this tensor [2]",
    ),
    "a cotangent of nothing": (
        {"gradient_of": ["loss"], "cotangents": {"los": 1}},
        "/cotangents/los",
        "unknown_name",
        "'loss'",
    ),
    "an order without a name": ({"derivative": {"by": []}}, "/derivative/by", "out_of_range", "1 to 6"),
    "an order too high": ({"derivative": {"by": ["weight"] * 7}}, "/derivative/by", "out_of_range", "not 7"),
    "an order by one name": ({"derivative": {"by": "weight"}}, "/derivative/by", "type_mismatch", "list"),
    "an order by nothing": ({"derivative": {"of": "loss"}}, "/derivative", "missing_field", "'by'"),
    "an order by an unknown leaf": (
        {"derivative": {"by": ["weight", "wait"]}},
        "/derivative/by/1",
        "unknown_name",
        "'weight'",
    ),
    "an order of integers": ({"derivative": {"by": ["i"]}}, "/derivative/by/0", "dtype_mismatch", "int64"),
    "an unknown leaf in a list": ({"gradient_of": ["loss"], "by": ["x", "y"]}, "/by/1", "unknown_name", "y"),
}


@each_row(("want", "pointer", "code", "message"), FAULTS.values(), ids=FAULTS)
def test_a_faulty_want_is_refused_with_its_place(want, pointer, code, message):
    with pytest.raises(engine.DocumentError) as caught:
        engine.compute(engine.parse_graph(DOCUMENT), {**REQUEST, "want": ["outputs", want]})
    (found,) = caught.value.findings
    assert (found.pointer, found.code) == (f"/want/1{pointer}", code)
    assert message in found.detail


def test_every_faulty_want_is_named_at_once():
    wants = ["output", {"hessian": {"by": "wait"}}, {"jvp": {"tangents": {"weight": 1}}}]
    with pytest.raises(engine.DocumentError) as caught:
        engine.compute(engine.parse_graph(DOCUMENT), {**REQUEST, "want": wants})
    assert [found.pointer for found in caught.value.findings] == [
        "/want/0",
        "/want/1/hessian/by",
        "/want/2/jvp/tangents/weight",
    ]


WITHOUT_A_LOSS = {
    "a Hessian": ({"hessian": {"by": "x"}}, "/want/0/hessian", "no_loss"),
    "a product": ({"hvp": {"by": {"x": [1, 1]}}}, "/want/0/hvp", "no_loss"),
    "an order": ({"derivative": {"by": ["x"]}}, "/want/0/derivative", "no_loss"),
    "gradients by the parameters": ({"gradient_of": ["s"]}, "/want/0", "missing_field"),
    "a JVP of the outputs": ({"jvp": {"tangents": {"x": [1, 1]}}}, "/want/0/jvp", "missing_field"),
}


@each_row(("want", "pointer", "code"), WITHOUT_A_LOSS.values(), ids=WITHOUT_A_LOSS)
def test_what_has_no_usual_choice_in_the_graph_must_be_named(want, pointer, code):
    document = {"inputs": {"x": [2]}, "program": "s = sum(x)\ny = s > 0", "outputs": ["y"]}
    with pytest.raises(engine.DocumentError) as caught:
        engine.compute(engine.parse_graph(document), {"inputs": {"x": [1, 2]}, "want": [want]})
    assert [(found.pointer, found.code) for found in caught.value.findings] == [(pointer, code)]
