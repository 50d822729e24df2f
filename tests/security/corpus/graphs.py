"""Hostile graph documents by name: the document, and the code of its first finding.

A document is built when it is asked for: some of them are large.
"""

from collections.abc import Callable
from itertools import pairwise
from typing import Any

Document = dict[str, Any]

X = {"x": ["batch", 3]}
LIMIT = "limit_exceeded"


def node(op: str, inputs: list[Any], name: str = "z", **attrs: Any) -> Document:
    entry: Document = {"name": name, "op": op, "inputs": inputs}
    return {**entry, "attrs": attrs} if attrs else entry


def graph(*nodes: Document, inputs: Document | None = None, **more: Any) -> Document:
    return {"inputs": X if inputs is None else inputs, "nodes": list(nodes), **more}


def one(op: str, extents: list[Any], count: int = 1, /, **attrs: Any) -> Document:
    """One op, applied to an input of a shape, `count` times over."""
    return graph(node(op, ["x"] * count, **attrs), inputs={"x": extents})


def chain(length: int, op: str = "relu", inputs: int = 1) -> list[Document]:
    """Nodes of which each takes the one before."""
    names = ["x", *(f"a{index}" for index in range(length))]
    return [node(op, [before] * inputs, name) for before, name in pairwise(names)]


def doubling(op: str, levels: int, width: int, **attrs: Any) -> Document:
    """Nodes of which each joins `width` copies of the one before."""
    names = ["x", *(f"a{index}" for index in range(levels))]
    nodes = [node(op, [before] * width, name, **attrs) for before, name in pairwise(names)]
    return graph(*nodes, inputs={"x": [1024]})


def named(names: list[str]) -> Document:
    """Inputs of these names."""
    return graph(node("relu", [names[0]]), inputs={name: ["batch"] for name in names})


def program(text: str) -> Document:
    return {"inputs": X, "program": text}


def layers(*entries: Any) -> Document:
    return {"inputs": X, "layers": list(entries)}


def image(layer: Document) -> Document:
    return {"inputs": {"x": [1, 1, 8, 8]}, "layers": [layer]}


def letters(count: int) -> str:
    return ",".join(chr(ord("a") + index) for index in range(count))


BOMBS: dict[str, tuple[Callable[[], Document], str]] = {
    # how many
    "a chain of 10 001": (lambda: graph(*chain(10_001)), LIMIT),
    "a chain of 5000 with a fault at its end": (
        lambda: graph(*chain(5000), node("reshape", ["a4999"], shape=[7, 7])),
        "shape_mismatch",
    ),
    "a chain of 5000 behind an unknown op": (lambda: graph(node("rulu", ["x"], "y"), *chain(5000)), "unknown_name"),
    "10 000 unknown ops": (
        lambda: graph(*(node("rulu", ["x"], f"a{k}") for k in range(10_000))),
        "unknown_name",
    ),
    "10 000 unknown inputs": (
        lambda: graph(*(node("relu", ["y"], f"a{k}") for k in range(10_000))),
        "unknown_name",
    ),
    "10 000 nodes of one name": (lambda: graph(*(node("relu", ["x"]) for _ in range(10_000))), "name_taken"),
    "60 000 inputs": (lambda: named([f"x{k}" for k in range(60_000)]), LIMIT),
    "60 000 parameters": (
        lambda: graph(node("relu", ["x"]), parameters={f"w{k}": [1] for k in range(60_000)}),
        LIMIT,
    ),
    "60 000 named extents": (
        lambda: graph(node("relu", ["x0"]), inputs={f"x{k}": [f"d{k}"] for k in range(60_000)}),
        LIMIT,
    ),
    "100 000 outputs": (lambda: graph(node("relu", ["x"]), outputs=["z"] * 100_000), "name_taken"),
    "100 000 unknown fields": (
        lambda: graph(node("relu", ["x"]), **{f"f{k}": 1 for k in range(100_000)}),
        "unknown_field",
    ),
    "a million inputs of nodes": (
        lambda: graph(*(node("concat", ["x"] * 1000, f"a{k}", axis=1) for k in range(1000))),
        LIMIT,
    ),
    "a node of 5000 inputs": (lambda: one("concat", [2], 5000, axis=0), LIMIT),
    "a shape of a million axes": (lambda: one("relu", [1] * 1_000_000), LIMIT),
    "a shape of a million negative extents": (lambda: one("relu", [-1] * 1_000_000), LIMIT),
    "100 000 attributes": (lambda: one("relu", [2], **{f"a{k}": 1 for k in range(100_000)}), LIMIT),
    "an attribute of a million axes": (lambda: one("sum", [2], axis=[0] * 1_000_000), LIMIT),
    "an attribute of a million extents": (lambda: one("reshape", [2], shape=[1] * 1_000_000), LIMIT),
    "an attribute of nested lists": (lambda: one("pad", [2], padding=[[[0] * 100] * 100] * 10), LIMIT),
    "an attribute of a million letters": (lambda: one("cast", [2], dtype="f" * 1_000_000), LIMIT),
    "an op of a million letters": (lambda: one("q" * 1_000_000, [2]), "unknown_name"),
    "an input of a million letters": (lambda: graph(node("relu", ["q" * 1_000_000])), "unknown_name"),
    "10 001 layers": (lambda: layers(*["relu"] * 10_001), LIMIT),
    "all pairs of rows": (lambda: one("pdist", [2**15, 2]), LIMIT),
    "a sum of 2^40 terms in one op": (lambda: one("mvlgamma", [2], order=2**40), LIMIT),
    "differences of the order 2^30": (lambda: one("diff", [2**30], order=2**40), LIMIT),
    "a mask over 2^30 rows": (lambda: one("select_replace", [2**30], 1, index=3), "shape_mismatch"),
    "windows in endless padding": (
        lambda: one("max_pool1d", [1, 2**31 - 1], kernel=2**31, padding=2**30, dilation=2**31, stride=2**31 - 1),
        "shape_mismatch",
    ),
    "2^20 out of 2^30": (lambda: one("combinations", [2**30], size=2**20), LIMIT),
    "masks that add up": (
        lambda: graph(
            *(node("select_replace", ["x", "y"], f"a{k}", index=3) for k in range(200)),
            inputs={"x": [2**20], "y": []},
        ),
        LIMIT,
    ),
    "a mask of all pairs": (
        lambda: graph(
            node("scaled_dot_product_attention", ["x", "x", "x"], causal=True, dropout=0.5),
            inputs={"x": [1, 1, 2**20, 1]},
        ),
        LIMIT,
    ),
    "parts without end": (lambda: one("split", [1_000_000], sizes=[1] * 1_000_000), LIMIT),
    "2^30 chunks": (lambda: one("chunk", [2**30], chunks=2**30), LIMIT),
    "an axis of 2^30 undone": (lambda: one("unbind", [2**30]), LIMIT),
    # how large
    "an input near 2^63": (lambda: one("relu", [2**31, 2**32 - 1]), LIMIT),
    "an input that wraps to nothing": (lambda: one("relu", [2**32, 2**32]), LIMIT),
    "a parameter that wraps": (lambda: graph(node("relu", ["x"]), parameters={"w": [2**32, 2**32]}), LIMIT),
    "parameters that add up": (
        lambda: graph(node("relu", ["x"]), parameters={f"w{k}": [2**20] for k in range(1000)}),
        LIMIT,
    ),
    "doubled 60 times": (lambda: doubling("concat", 60, 2, axis=0), LIMIT),
    "a thousandfold, eight times": (lambda: doubling("concat", 8, 1000, axis=0), LIMIT),
    "an outer product by broadcasting": (
        lambda: graph(
            node("mul", ["a", "b"], "p"),
            node("mul", ["p", "c"], "q"),
            inputs={"a": [65536, 1, 1], "b": [1, 65536, 1], "c": [1, 1, 65536]},
        ),
        LIMIT,
    ),
    "a broadcast near 2^63": (lambda: one("broadcast_to", [], shape=[2**31, 2**32 - 1]), LIMIT),
    "an outer product by matmul": (
        lambda: graph(node("matmul", ["a", "b"]), inputs={"a": [2**20, 1], "b": [1, 2**20]}),
        LIMIT,
    ),
    "an outer product": (lambda: one("outer", [2**20], 2), LIMIT),
    "all distances": (lambda: one("cdist", [2**20, 2], 2), LIMIT),
    "tiles": (lambda: one("tile", [2], repeats=[2**40]), LIMIT),
    "one of 2^20 classes, 2^20 times": (
        lambda: graph(node("one_hot", ["x"], classes=2**20), inputs={"x": {"shape": [2**20], "dtype": "int64"}}),
        LIMIT,
    ),
    "a scattered slice": (lambda: one("slice_scatter", [2], axis=0, extent=2**62), LIMIT),
    "padding of 2^40": (
        lambda: image({"layer": "conv2d", "channels": 1, "kernel": 3, "padding": 2**40}),
        LIMIT,
    ),
    "a convolution of 10^9 channels": (
        lambda: image({"layer": "conv2d", "channels": 10**9, "kernel": 3}),
        LIMIT,
    ),
    "a layer of 10^9 units": (lambda: layers({"layer": "linear", "units": 10**9}), LIMIT),
    "numbers made of nothing": (lambda: graph(node("full", [], shape=[2**31, 2**31], value=1.0)), LIMIT),
    "a range of 2^62": (lambda: graph(node("arange", [], start=0, stop=2**62)), LIMIT),
    "an identity of 2^31": (lambda: graph(node("eye", [], rows=2**31, columns=2**31)), LIMIT),
    "2^62 points on a line": (lambda: graph(node("linspace", [], start=0, stop=1, steps=2**62)), LIMIT),
    # einsum
    "an outer product by einsum": (lambda: one("einsum", [4096, 4096], 2, equation="ab,cd->abcd"), LIMIT),
    "an equation of a million letters": (lambda: one("einsum", [2], equation="a" * 1_000_000 + "->a"), LIMIT),
    "an equation of a million spaces": (lambda: one("einsum", [2], equation="a" + " " * 1_000_000 + "->a"), LIMIT),
    "an equation of 26 axes": (lambda: one("einsum", [2**10], 26, equation=letters(26) + "->abcdefgh"), LIMIT),
    # names
    "a path as name": (lambda: named(["../../etc/passwd"]), "name_invalid"),
    "an absolute path as name": (lambda: named(["/etc/passwd"]), "name_invalid"),
    "a name of half a million letters": (lambda: named(["a" * 500_000]), "name_invalid"),
    "a Cyrillic name": (lambda: named(["\u0430"]), "name_invalid"),
    "a name with a line feed": (lambda: named(["x\nloss"]), "name_invalid"),
    "a name that ends in a line feed": (lambda: named(["x\n"]), "name_invalid"),
    "a name with code": (lambda: named(["__import__('os').abort()"]), "name_invalid"),
    "a name with markup": (lambda: named(["<script>"]), "name_invalid"),
    "a name that writes from right to left": (lambda: named(["x\u202ey"]), "name_invalid"),
    # code
    "a module as op": (lambda: one("os.system", [2]), "unknown_name"),
    "a method of Python as op": (lambda: one("__class__", [2]), "unknown_name"),
    "an attribute that sets another": (lambda: one("relu", [2], __class__="x"), "attribute_invalid"),
    "an output buffer as attribute": (lambda: one("relu", [2], out="x"), "attribute_invalid"),
    "a configuration of Keras": (
        lambda: {"class_name": "Lambda", "config": {"function": {"module": "os", "function_name": "system"}}},
        "spelling",
    ),
    "a lambda as layer": (
        lambda: layers({"layer": "lambda", "function": ["4wEAAAAAAAAA", None, None]}),
        "unknown_name",
    ),
    "data from a file": (
        lambda: graph(node("relu", ["x"]), constants={"c": {"external_data": "../../etc/passwd", "data": [1]}}),
        "unknown_field",
    ),
    "an import in a program": (lambda: program("a = __import__('os').abort()"), "unknown_name"),
    "a property of Python in a program": (lambda: program("a = x.__class__"), "unknown_name"),
    "two statements of Python": (lambda: program("import os\na = x"), "syntax"),
    "a call by a text": (lambda: program("a = 'os'.abort()"), "syntax"),
    # programs
    "a sum of 99 000 terms": (lambda: program("a = x" + "+x" * 99_000), LIMIT),
    "199 000 signs": (lambda: program("a = " + "-" * 199_000 + "x"), LIMIT),
    "49 000 times not": (lambda: program("a = " + "not " * 49_000 + "x"), LIMIT),
    "30 000 names for one value": (lambda: program(",".join(f"a{k}" for k in range(30_000)) + " = x"), LIMIT),
    "90 000 arguments": (lambda: program("a = concat(" + "x," * 90_000 + "axis=0)"), LIMIT),
    "a list of 90 000": (lambda: program("a = sum(x, axis=[" + "1," * 90_000 + "])"), LIMIT),
    "an index of 90 000 places": (lambda: program("a = x[" + ":," * 90_000 + ":]"), LIMIT),
    "brackets 10 000 deep": (lambda: program("a = " + "(" * 10_000 + "x" + ")" * 10_000), "syntax"),
    "lists 10 000 deep": (lambda: program("a = sum(x, axis=" + "[" * 10_000), "syntax"),
    "powers 10 000 deep": (lambda: program("a = x" + "**x" * 10_000), "syntax"),
    "an endless text": (lambda: program("a = x '" + "y" * 199_000), "syntax"),
    "199 000 lines": (lambda: program("\n" * 199_000 + "a = ?"), LIMIT),
    "a program of a million characters": (lambda: program("#" * 1_000_000), LIMIT),
}  # fmt: skip

GIANTS: dict[str, Callable[[], Document]] = {
    "a chain of 5000": lambda: graph(*chain(5000)),
    "a value used twice, 5000 times over": lambda: graph(*chain(5000, "add", 2)),
    "wide windows on a long axis": lambda: one("max_pool1d", [1, 2**31], kernel=2**20),
    "26 operands in one einsum": lambda: one("einsum", [2], 26, equation=letters(26) + "->"),
}
"""Documents that are large and good: to be taken, within little memory."""
