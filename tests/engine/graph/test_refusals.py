"""What no graph document may say: each fault with its pointer and its code."""

import re
import time

import pytest

import engine
from engine.graph.codec import parse_graph
from engine.graph.limits import GraphLimits
from tests.support.rows import each_row

X = {"x": ["batch", 3]}
LOGITS = {"x": ["batch", 3], "t": {"shape": ["batch"], "dtype": "int64"}}


def nodes(*entries, **more):
    return {"inputs": X, "nodes": list(entries), **more}


def node(op="relu", inputs=("x",), name="a", **attrs):
    entry = {"name": name, "op": op, "inputs": list(inputs)}
    return {**entry, "attrs": attrs} if attrs else entry


def layers(*entries, inputs=None, **more):
    return {"inputs": inputs or X, "layers": list(entries), **more}


def program(text, **more):
    return {"inputs": X, "program": text, **more}


OK = node()
LONG = "n" * 64
BAD = {
    # the document
    "a list": ([], [("", "type_mismatch"), ("", "spelling")]),
    "null": (None, [("", "type_mismatch"), ("", "spelling")]),
    "text": ("graph", [("", "type_mismatch"), ("", "spelling")]),
    "nothing": ({}, [("", "spelling")]),
    "two spellings": ({**nodes(OK), "program": "a = x"}, [("", "spelling")]),
    "no node": (nodes(), [("", "empty")]),
    "an unknown field": ({**nodes(OK), "parameter": {}}, [("/parameter", "unknown_field")]),
    "a loss beside nodes": ({**nodes(OK), "loss": "mse_loss"}, [("/loss", "unknown_field")]),
    "a name of the wrong type": (nodes(OK, name=7), [("/name", "attribute_invalid")]),
    "an empty name": (nodes(OK, name=""), [("/name", "name_invalid")]),
    "a very long name": (nodes(OK, name="g" * 201), [("/name", "name_invalid")]),
    # inputs
    "inputs as a list": ({"inputs": [], "nodes": [OK]}, [("/inputs", "type_mismatch")]),
    "an input of the wrong type": ({"inputs": {"x": 3}, "nodes": [OK]}, [("/inputs/x", "type_mismatch")]),
    "an unknown field of an input": (
        {"inputs": {"x": {"shap": [3]}}, "nodes": [OK]},
        [("/inputs/x/shap", "unknown_field")],
    ),
    "a negative extent": ({"inputs": {"x": [-1]}, "nodes": [OK]}, [("/inputs/x/shape/0", "shape_invalid")]),
    "a boolean extent": ({"inputs": {"x": [True]}, "nodes": [OK]}, [("/inputs/x/shape/0", "shape_invalid")]),
    "a fractional extent": ({"inputs": {"x": [2.0]}, "nodes": [OK]}, [("/inputs/x/shape/0", "shape_invalid")]),
    "a huge extent": ({"inputs": {"x": [2**62]}, "nodes": [OK]}, [("/inputs/x/shape/0", "shape_invalid")]),
    "an extent with a colon": ({"inputs": {"x": ["a:b"]}, "nodes": [OK]}, [("/inputs/x/shape/0", "shape_invalid")]),
    "a shape of text": ({"inputs": {"x": {"shape": "3"}}, "nodes": [OK]}, [("/inputs/x/shape", "type_mismatch")]),
    "an unknown dtype": (
        {"inputs": {"x": {"shape": [3], "dtype": "float23"}}, "nodes": [OK]},
        [("/inputs/x/dtype", "dtype_mismatch")],
    ),
    "NumPy's code of a dtype": (
        {"inputs": {"x": {"shape": [3], "dtype": ">f4"}}, "nodes": [OK]},
        [("/inputs/x/dtype", "dtype_mismatch")],
    ),
    "a structured dtype": (
        {"inputs": {"x": {"shape": [3], "dtype": "f4,f4"}}, "nodes": [OK]},
        [("/inputs/x/dtype", "dtype_mismatch")],
    ),
    "a dtype of the wrong type": (
        {"inputs": {"x": {"shape": [3], "dtype": 4}}, "nodes": [OK]},
        [("/inputs/x/dtype", "attribute_invalid")],
    ),
    "an input name with a colon": ({"inputs": {"a:b": [3]}, "nodes": [OK]}, [("/inputs/a:b", "name_invalid")]),
    "an input name with a slash in front": ({"inputs": {"/x": [3]}, "nodes": [OK]}, [("/inputs/~1x", "name_invalid")]),
    "an empty input name": ({"inputs": {"": [3]}, "nodes": [OK]}, [("/inputs/", "name_invalid")]),
    "an input name of 64 bytes": ({"inputs": {LONG: [3]}, "nodes": [OK]}, [(f"/inputs/{LONG}", "name_invalid")]),
    "an input name with a line feed": ({"inputs": {"x\n": [3]}, "nodes": [OK]}, [("/inputs/x\n", "name_invalid")]),
    "nine axes": ({"inputs": {"x": [1] * 9}, "nodes": [OK]}, [("/inputs/x/shape", "limit_exceeded")]),
    "too many elements": ({"inputs": {"x": [2**20, 2**20]}, "nodes": [OK]}, [("/inputs/x/shape", "limit_exceeded")]),
    # parameters, buffers and constants
    "a parameter with a named extent": (
        nodes(OK, parameters={"w": ["batch"]}),
        [("/parameters/w/shape/0", "shape_invalid")],
    ),
    "an integer parameter": (
        nodes(OK, parameters={"w": {"shape": [2], "dtype": "int64"}}),
        [("/parameters/w/dtype", "dtype_mismatch")],
    ),
    "frozen as a number": (
        nodes(OK, parameters={"w": {"shape": [], "frozen": 1}}),
        [("/parameters/w/frozen", "attribute_invalid")],
    ),
    "a frozen buffer": (
        nodes(OK, buffers={"w": {"shape": [], "frozen": True}}),
        [("/buffers/w/frozen", "unknown_field")],
    ),
    "an unknown initializer": (
        nodes(OK, parameters={"w": {"shape": [2, 2], "init": "kaiming"}}),
        [("/parameters/w/init", "unknown_name")],
    ),
    "an unknown option of an initializer": (
        nodes(OK, parameters={"w": {"shape": [2], "init": {"kind": "normal", "sd": 2}}}),
        [("/parameters/w/init/sd", "attribute_invalid")],
    ),
    "an initializer without its option": (
        nodes(OK, parameters={"w": {"shape": [2], "init": "constant"}}),
        [("/parameters/w/init", "attribute_invalid")],
    ),
    "an initializer that needs a matrix": (
        nodes(OK, parameters={"w": {"shape": [2], "init": "xavier_normal"}}),
        [("/parameters/w/init", "attribute_invalid")],
    ),
    "a range no number falls in": (
        nodes(OK, parameters={"w": {"shape": [2], "init": {"kind": "truncated_normal", "std": 1e300}}}),
        [("/parameters/w/init", "attribute_invalid")],
    ),
    "a range that is too wide": (
        nodes(OK, parameters={"w": {"shape": [2], "init": {"kind": "uniform", "low": -1e308, "high": 1e308}}}),
        [("/parameters/w/init", "attribute_invalid")],
    ),
    "a huge number as an option": (
        nodes(OK, parameters={"w": {"shape": [2], "init": {"kind": "normal", "std": 10**400}}}),
        [("/parameters/w/init/std", "attribute_invalid")],
    ),
    "too many parameters": (
        nodes(OK, parameters={"v": [2**29], "w": [2**29]}),
        [("/parameters", "limit_exceeded")],
    ),
    "too many numbers in buffers": (nodes(OK, buffers={"v": [2**31]}), [("/parameters", "limit_exceeded")]),
    "an empty parameter of huge extents": (
        nodes(OK, parameters={"v": [0, 2**39, 2**39]}),
        [("/parameters", "limit_exceeded")],
    ),
    "a name taken twice": (nodes(OK, parameters={"x": [2]}), [("/parameters/x", "name_taken")]),
    "a constant of text": (nodes(OK, constants={"c": "1"}), [("/constants/c", "tensor_invalid")]),
    "a ragged constant": (nodes(OK, constants={"c": [[1], [1, 2]]}), [("/constants/c", "tensor_invalid")]),
    "a constant with null": (nodes(OK, constants={"c": [1, None]}), [("/constants/c", "tensor_invalid")]),
    "text among numbers": (nodes(OK, constants={"c": [1] * 9 + ["a" * 2**20]}), [("/constants/c", "tensor_invalid")]),
    "a constant of the wrong size": (
        nodes(OK, constants={"c": {"shape": [3], "data": [1, 2]}}),
        [("/constants/c", "shape_mismatch")],
    ),
    "a constant without data": (
        nodes(OK, constants={"c": {"shape": [3]}}),
        [("/constants/c", "missing_field"), ("/constants/c", "shape_mismatch")],
    ),
    "fractions as integers": (
        nodes(OK, constants={"c": {"dtype": "int8", "data": [0.5]}}),
        [("/constants/c", "tensor_invalid")],
    ),
    "an integer out of range": (
        nodes(OK, constants={"c": {"dtype": "int8", "data": [128]}}),
        [("/constants/c", "tensor_invalid")],
    ),
    "an integer beyond 64 bits": (nodes(OK, constants={"c": [2**63]}), [("/constants/c", "tensor_invalid")]),
    "a float out of range": (
        nodes(OK, constants={"c": {"dtype": "float16", "data": [7e4]}}),
        [("/constants/c", "tensor_invalid")],
    ),
    "infinity": (nodes(OK, constants={"c": [float("inf")]}), [("/constants/c", "tensor_invalid")]),
    "a shape of a hundred axes": (
        nodes(OK, constants={"c": {"shape": [1] * 100, "data": [1]}}),
        [("/constants/c/shape", "limit_exceeded")],
    ),
    "an empty tensor of huge extents": (
        nodes(OK, constants={"c": {"shape": [0, 2**39, 2**39], "data": []}}),
        [("/constants/c/shape", "limit_exceeded")],
    ),
    # nodes
    "nodes as an object": ({"inputs": X, "nodes": {}}, [("/nodes", "type_mismatch")]),
    "a node of the wrong type": (nodes("relu"), [("/nodes/0", "type_mismatch")]),
    "a node without an op": (nodes({"name": "a"}), [("/nodes/0", "missing_field")]),
    "an unknown field of a node": (nodes({**OK, "input": []}), [("/nodes/0/input", "unknown_field")]),
    "an unknown op": (nodes(node("rulu")), [("/nodes/0/op", "unknown_name")]),
    "an op of the wrong type": (nodes({"name": "a", "op": 3, "inputs": ["x"]}), [("/nodes/0/op", "attribute_invalid")]),
    "a node name with a colon": (nodes(node(name="a:0")), [("/nodes/0/name", "name_invalid")]),
    "two nodes of one name": (nodes(OK, OK), [("/nodes/1/name", "name_taken")]),
    "a node named as an input": (nodes(node(name="x")), [("/nodes/0/name", "name_taken")]),
    "a node name of 64 bytes": (nodes(node(name=LONG)), [("/nodes/0/name", "name_invalid")]),
    "an unknown input": (nodes(node(inputs=["y"])), [("/nodes/0/inputs/0", "unknown_name")]),
    "a forward reference": (
        nodes(node(inputs=["b"]), node(name="b")),
        [("/nodes/0/inputs/0", "unknown_name")],
    ),
    "a node that takes itself": (nodes(node(inputs=["a"])), [("/nodes/0/inputs/0", "unknown_name")]),
    "an input of null": (nodes(node(inputs=[None])), [("/nodes/0/inputs/0", "type_mismatch")]),
    "an input of infinity": (nodes(node(inputs=[float("inf")])), [("/nodes/0/inputs/0", "type_mismatch")]),
    "a huge number as an input": (nodes(node("add", ["x", 2**63])), [("/nodes/0/inputs/1", "type_mismatch")]),
    "inputs as text": (nodes({**OK, "inputs": "x"}), [("/nodes/0/inputs", "type_mismatch")]),
    "an output that is not there": (
        nodes(OK, node(inputs=["a:1"], name="b")),
        [("/nodes/1/inputs/0", "unknown_output")],
    ),
    "an output with no number": (nodes(OK, node(inputs=["a:"], name="b")), [("/nodes/1/inputs/0", "unknown_output")]),
    "an output in foreign digits": (
        nodes(OK, node(inputs=["a:\u0660"], name="b")),
        [("/nodes/1/inputs/0", "unknown_output")],
    ),
    "a second output of an input": (nodes(node(inputs=["x:1"])), [("/nodes/0/inputs/0", "unknown_output")]),
    "a missing input of an op": (nodes(node("add", ["x"])), [("/nodes/0", "shape_mismatch")]),
    "too many inputs of an op": (nodes(node("relu", ["x", "x"])), [("/nodes/0", "shape_mismatch")]),
    "more inputs than any node takes": (
        nodes(node("concat", ["x"] * 1001, axis=0)),
        [("/nodes/0/inputs", "limit_exceeded")],
    ),
    "an unknown attribute": (nodes(node("sum", axes=1)), [("/nodes/0/attrs/axes", "attribute_invalid")]),
    "an attribute of the wrong type": (nodes(node("sum", axis="1")), [("/nodes/0/attrs/axis", "attribute_invalid")]),
    "a boolean as an integer": (nodes(node("sum", axis=True)), [("/nodes/0/attrs/axis", "attribute_invalid")]),
    "an integer as a boolean": (nodes(node("sum", keepdims=1)), [("/nodes/0/attrs/keepdims", "attribute_invalid")]),
    "a missing attribute": (nodes(node("reshape")), [("/nodes/0", "attribute_invalid")]),
    "an attribute beyond 64 bits": (nodes(node("sum", axis=2**64)), [("/nodes/0/attrs/axis", "attribute_invalid")]),
    "a float attribute beyond a float": (
        nodes(node("clamp", min=10**400)),
        [("/nodes/0/attrs/min", "attribute_invalid")],
    ),
    "an attribute called self": (nodes(node("relu", self=1)), [("/nodes/0", None)]),
    "attributes as a list": (nodes({**OK, "attrs": []}), [("/nodes/0/attrs", "type_mismatch")]),
    "an axis out of range": (nodes(node("sum", axis=2)), [("/nodes/0", "shape_mismatch")]),
    "a huge axis": (nodes(node("sum", axis=2**62)), [("/nodes/0", "shape_mismatch")]),
    "a huge negative axis": (nodes(node("sum", axis=-(2**62))), [("/nodes/0", "shape_mismatch")]),
    "shapes that do not broadcast": (
        nodes(node("add", ["x", "w"]), parameters={"w": [4]}),
        [("/nodes/0", "shape_mismatch")],
    ),
    "a reshape to another size": (nodes(node("reshape", shape=[2, 2])), [("/nodes/0", "shape_mismatch")]),
    "a reshape to a negative extent": (nodes(node("reshape", shape=[-2, 3])), [("/nodes/0", "shape_mismatch")]),
    "a reshape to huge extents": (nodes(node("reshape", shape=[2**62, 2**62])), [("/nodes/0", "shape_mismatch")]),
    "a broadcast to huge extents": (
        {"inputs": {"x": []}, "nodes": [node("broadcast_to", shape=[2**40, 2**40])]},
        [("/nodes/0", "limit_exceeded")],
    ),
    "a slice that is scattered far": (
        nodes(node("slice_scatter", axis=1, extent=2**62)),
        [("/nodes/0", "limit_exceeded")],
    ),
    "an extent that would be negative": (nodes(node("slice_scatter", axis=1, extent=-5)), [("/nodes/0", None)]),
    "nine axes by steps": (
        {"inputs": {"x": [1] * 8}, "nodes": [node("unsqueeze", axis=0)]},
        [("/nodes/0", "limit_exceeded")],
    ),
    "an integer where a float is needed": (
        {"inputs": LOGITS, "nodes": [node("mse_loss", ["t", "t"])], "losses": ["a"]},
        [("/nodes/0", "dtype_mismatch")],
    ),
    "dimension names that must agree": (
        {"inputs": {"x": ["n", 2], "y": ["m", 3]}, "nodes": [node("matmul", ["x", "y"])]},
        [("/nodes/0", "shape_mismatch")],
    ),
    "every fault of independent nodes": (
        nodes(node("rulu"), node("sum", axis=5, name="b"), node(inputs=["b"], name="c"), node("add", ["x"], name="d")),
        [("/nodes/0/op", "unknown_name"), ("/nodes/1", "shape_mismatch"), ("/nodes/3", "shape_mismatch")],
    ),
    # outputs and losses
    "an unknown output": (nodes(OK, outputs=["b"]), [("/outputs/0", "unknown_name")]),
    "an output that is no name": (nodes(OK, outputs=[3]), [("/outputs/0", "unknown_name")]),
    "an output listed twice": (nodes(OK, outputs=["a", "a"]), [("/outputs/1", "name_taken")]),
    "an output of an output that is not there": (nodes(OK, outputs=["a:1"]), [("/outputs/0", "unknown_name")]),
    "outputs as text": (nodes(OK, outputs="a"), [("/outputs", "type_mismatch")]),
    "an unknown loss": (nodes(OK, losses=["los"]), [("/losses/0", "unknown_name")]),
    "a loss of several elements": (nodes(OK, losses=["a"]), [("/losses/0", "loss_invalid")]),
    "an integer loss": (nodes(node("argmax"), losses=["a"]), [("/losses/0", "loss_invalid")]),
    "implicit_loss of the wrong type": (nodes(OK, implicit_loss=1), [("/implicit_loss", "attribute_invalid")]),
    # layers
    "no layers": (layers(), [("/layers", "empty")]),
    "layers without an input": (layers("relu", inputs={"x": ["b", 2]}) | {"inputs": {}}, [("/inputs", "empty")]),
    "layers without inputs": ({"layers": ["relu"]}, [("", "missing_field")]),
    "an unknown layer": (layers("liner"), [("/layers/0/layer", "unknown_name")]),
    "a layer of the wrong type": (
        layers(3),
        [("/layers/0", "type_mismatch")],
    ),
    "a layer without its attribute": (layers("linear"), [("/layers/0", "attribute_invalid")]),
    "an unknown attribute of a layer": (
        layers({"layer": "linear", "unit": 3}),
        [("/layers/0/unit", "attribute_invalid")],
    ),
    "a boolean number of units": (
        layers({"layer": "linear", "units": True}),
        [("/layers/0/units", "attribute_invalid")],
    ),
    "no units": (layers({"layer": "linear", "units": 0}), [("/layers/0/units", "attribute_invalid")]),
    "negative rows": (
        layers({"layer": "embedding", "rows": -1, "units": 2}, inputs={"x": {"shape": ["b"], "dtype": "int64"}}),
        [("/layers/0/rows", "attribute_invalid")],
    ),
    "huge rows": (
        layers({"layer": "embedding", "rows": 2**62, "units": 2}, inputs={"x": {"shape": ["b"], "dtype": "int64"}}),
        [("/layers/0", "limit_exceeded")],
    ),
    "layers with too many parameters": (
        layers({"layer": "linear", "units": 10**8}, {"layer": "linear", "units": 8}),
        [("/parameters", "limit_exceeded")],
    ),
    "embeddings with too many parameters": (
        layers({"layer": "embedding", "rows": 10**9, "units": 2}, inputs={"x": {"shape": ["b"], "dtype": "int64"}}),
        [("/parameters", "limit_exceeded")],
    ),
    "a layer name with a colon": (
        layers({"layer": "relu", "name": "a:b"}),
        [("/layers/0/name", "name_invalid")],
    ),
    "a layer name with a space": (layers({"layer": "relu", "name": "a b"}), [("/layers/0/name", "name_invalid")]),
    "a layer name that is too long for its parameters": (
        layers({"layer": "linear", "units": 2, "name": "n" * 60}),
        [("/layers/0/name", "name_invalid")],
    ),
    "two layers of one name": (
        layers({"layer": "relu", "name": "a"}, {"layer": "tanh", "name": "a"}),
        [("/layers/1/name", "name_taken")],
    ),
    "a layer that does not fit": (
        layers({"layer": "conv2d", "channels": 2, "kernel": 3}),
        [("/layers/0", "shape_mismatch")],
    ),
    "a weight that depends on a name": (
        layers("flatten", {"layer": "linear", "units": 2}, inputs={"x": ["batch", "width", 3]}),
        [("/inputs", "shape_invalid")],
    ),
    "a loss without a target": (layers("relu", loss="mse_loss"), [("/loss/target", "unknown_name")]),
    "a target that is a list": (
        layers("relu", loss={"kind": "mse_loss", "target": []}),
        [("/loss/target", "unknown_name")],
    ),
    "an unknown loss kind": (layers("relu", inputs=LOGITS, loss="mse_los"), [("/loss/kind", "unknown_name")]),
    "an op that is no loss": (layers("relu", inputs=LOGITS, loss="add"), [("/loss/kind", "attribute_invalid")]),
    "a loss of the wrong type": (
        layers("relu", inputs=LOGITS, loss=3),
        [("/loss", "type_mismatch")],
    ),
    "an unknown option of a loss": (
        layers("relu", inputs=LOGITS, loss={"kind": "cross_entropy", "name": "other"}),
        [("/loss/name", "attribute_invalid")],
    ),
    "an unknown option of a loss, null": (
        layers("relu", inputs=LOGITS, loss={"kind": "cross_entropy", "op": None}),
        [("/loss/op", "attribute_invalid")],
    ),
    "a layer named as the loss": (
        layers({"layer": "relu", "name": "loss"}, inputs=LOGITS, loss="cross_entropy"),
        [("/loss/name", "name_taken")],
    ),
    # programs
    "a program of the wrong type": (program(["a = x"]), [("/program", "type_mismatch")]),
    "an empty program": (program(""), [("", "empty")]),
    "an expression without a name": (program("x + 1"), [("/program", "syntax")]),
    "a foreign character": (program("a = x ? 1"), [("/program", "syntax")]),
    "a foreign digit": (program("a = x + ٣"), [("/program", "syntax")]),
    "an unknown name in a program": (program("a = y"), [("/program", "unknown_name")]),
    "an unknown op in a program": (program("a = rulu(x)"), [("/program", "unknown_name")]),
    "a name assigned twice": (program("a = x\na = x"), [("/program", "syntax")]),
    "a name assigned twice by one line": (program("a, a = split(x, sizes=[2, 1], axis=1)"), [("/program", "syntax")]),
    "a name of a leaf assigned": (program("x = 1"), [("/program", "syntax")]),
    "a word of the grammar assigned": (program("true = x"), [("/program", "syntax")]),
    "a name of 64 letters": (program(f"{LONG} = x"), [("/program", "syntax")]),
    "an open bracket": (program("a = (x"), [("/program", "syntax")]),
    "an open call": (program("a = relu(x"), [("/program", "syntax")]),
    "an attribute twice": (program("a = sum(x, axis=0, axis=1)"), [("/program", "syntax")]),
    "an input after an attribute": (program("a = sum(axis=0, x)"), [("/program", "syntax")]),
    "an attribute that is a value": (program("a = sum(x, axis=x)"), [("/program", "syntax")]),
    "deep brackets": (program("a = " + "(" * 500 + "x" + ")" * 500), [("/program", "syntax")]),
    "deep powers": (program("a = " + "x**" * 500 + "x"), [("/program", "syntax")]),
    "deep lists": (program("a = reshape(x, shape=" + "[" * 500 + "]" * 500 + ")"), [("/program", "syntax")]),
    "deep calls": (program("a = " + "relu(" * 500 + "x" + ")" * 500), [("/program", "syntax")]),
    "a number beyond a float": (program("a = x + 1" + "0" * 400), [("/program", "syntax")]),
    "Python": (program("a = __import__('os')"), [("/program", "unknown_name")]),
    "an attribute of Python": (program("a = x.__class__"), [("/program", "unknown_name")]),
    "a lambda": (program("a = lambda: x"), [("/program", "unknown_name")]),
    "too long a program": (program("a = x" + " " * 200_000 + "+ 1"), [("/program", "limit_exceeded")]),
    "more outputs than there are": (program("a, b = chunk(x, chunks=1)"), [("/program", "unknown_output")]),
    "outputs of a number": (program("a, b = 3"), [("/program", "unknown_name")] * 2),
    "a shape that does not fit in a program": (program("a = x @ x"), [("/program", "shape_mismatch")]),
}


@each_row(("document", "expected"), BAD.values(), ids=BAD)
def test_a_faulty_document_is_refused_with_pointers_and_codes(document, expected):
    started = time.process_time()
    with pytest.raises(engine.DocumentError) as caught:
        engine.parse_graph(document)
    found = [(finding.pointer, finding.code) for finding in caught.value.findings]
    assert [pointer for pointer, _ in found] == [pointer for pointer, _ in expected], caught.value
    assert all(code in (None, actual) for (_, code), (_, actual) in zip(expected, found, strict=True)), found
    assert all(0 < len(finding.detail) < 2000 for finding in caught.value.findings)
    assert time.process_time() - started < 60, "what it asks for is computed, or looked at item by item"


HINTS = {
    "a field": ({**nodes(OK), "outpts": []}, "outputs"),
    "an op": (nodes(node("sofmax")), "softmax"),
    "an attribute": (nodes(node("sum", axes=0)), "axis"),
    "a dtype": ({"inputs": {"x": {"shape": [], "dtype": "flaot32"}}, "nodes": [OK]}, "float32"),
    "an input": (nodes(node(inputs=["imags"]), inputs={"images": [2]}), "images"),
    "a layer": (layers("batchnorm"), "batch_norm"),
    "an initializer": (nodes(OK, parameters={"w": {"shape": [2], "init": "unifrom"}}), "uniform"),
    "an output": (nodes(node(name="logits"), outputs=["logit"]), "logits"),
    "a name in a program": (program("hidden = x\nb = hiden"), "hidden"),
}


@pytest.mark.parametrize(
    ("text", "instead"),
    [
        ("a = x & x", "'and', or bitwise_and"),
        ("a = x % 2", "remainder"),
        ("a = x // 2", "floor_divide"),
        ("a = x[:, None]", "unsqueeze"),
        ("a = x[..., 0]", "slice"),
        ("a = x[::2]", "step=2"),
        ("a = x[0:3:2]", "step=2"),
    ],
)
def test_what_other_languages_have_is_refused_with_what_to_write(text: str, instead: str) -> None:
    with pytest.raises(engine.DocumentError, match=re.escape(instead)):
        engine.parse_graph(program(text))


@each_row(("document", "name"), HINTS.values(), ids=HINTS)
def test_a_misspelt_name_is_answered_with_the_nearest_one(document, name):
    with pytest.raises(engine.DocumentError, match=f"did you mean '{name}'"):
        engine.parse_graph(document)


def growth(run, size):
    """Return how much more time of the processor `run` takes for eight times as much: 8 if that is linear."""

    def seconds(count):
        started = time.process_time()
        run(count)
        return time.process_time() - started

    return min(seconds(8 * size) for _ in range(2)) / min(seconds(size) for _ in range(4))


def of_many_nodes(count):
    return nodes(*(node("rulu", ["nowhere"], name=f"n{index}") for index in range(count)))


def of_many_fields(count):
    return {f"field{index}": 0 for index in range(count)} | nodes(OK)


@pytest.mark.slow
@pytest.mark.parametrize("make", [of_many_nodes, of_many_fields])
def test_a_document_of_countless_faults_is_refused_at_once(make):
    def refuse(count):
        with pytest.raises(engine.DocumentError) as caught:
            engine.parse_graph(make(count))
        assert len(caught.value.findings) == 100

    assert growth(refuse, 300) < 24


def chain(length):
    entries = [node("add", [f"n{index - 1}" if index else "x", "w"], name=f"n{index}") for index in range(length)]
    return nodes(*entries, node("mean", [f"n{length - 1}"], name="loss"), parameters={"w": [3]})


@pytest.mark.slow
def test_a_chain_of_thousands_of_nodes_is_read_in_a_time_that_grows_with_its_length():
    definition = engine.parse_graph(chain(5_000))
    assert len(definition.nodes) == 5_001
    assert definition.implicit_loss
    assert growth(lambda count: engine.parse_graph(chain(count)), 200) < 24


@pytest.mark.slow
def test_ten_thousand_nodes_are_the_limit():
    with pytest.raises(engine.DocumentError) as caught:
        engine.parse_graph(chain(10_000))
    assert [(f.pointer, f.code) for f in caught.value.findings] == [("/nodes", "limit_exceeded")]
    with pytest.raises(engine.DocumentError) as caught:
        engine.parse_graph({"inputs": X, "program": ";".join(f"a{i}=-x" for i in range(10_001))})
    assert [(f.pointer, f.code) for f in caught.value.findings] == [("/program", "limit_exceeded")]


def test_limits_can_be_set():
    limits = GraphLimits(nodes=2, elements=100, parameter_elements=10, rank=2, name_bytes=5, inputs_per_node=3)
    assert engine.parse_graph({"inputs": {"x": [2]}, "nodes": [OK]})
    for document in (
        chain(5),
        {"inputs": {"x": [101]}, "nodes": [OK]},
        {"inputs": {"x": [1, 1, 1]}, "nodes": [OK]},
        nodes(OK, parameters={"w": [11]}),
        nodes(node("concat", ["x"] * 4, axis=0)),
        nodes(node(name="longer")),
    ):
        with pytest.raises(engine.DocumentError, match=r"limit|more than|at most"):
            parse_graph(document, limits)


@each_row("count", [1, 2])
def test_leaves_of_layers_count_as_those_of_nodes(count):
    layered = {"inputs": {"x": ["batch", 2]}, "layers": [{"layer": "linear", "units": 2}] * count}
    for document in (layered, engine.parse_graph(layered).to_json()):
        if count == 1:
            parse_graph(document, GraphLimits(leaves=3))
        else:
            with pytest.raises(engine.DocumentError, match="5 is more than the limit of 3"):
                parse_graph(document, GraphLimits(leaves=3))


@each_row(
    "text, place",
    [
        ("a = x * yy", (1, 9)),
        ("a = -x\n  b = a $ x", (2, 9)),
        ("a = x\nb = tanh(a) @ x", (2, 13)),
        ("a = x +", (1, 8)),
        ("a = x; b = mean(a, axes=1)", (1, 12)),
    ],
)
def test_a_fault_of_a_program_has_a_line_and_a_column(text, place):
    with pytest.raises(engine.DocumentError) as caught:
        engine.graph_report(engine.parse_graph(program(text)))
    (finding,) = caught.value.findings
    assert (finding.line, finding.column) == place
