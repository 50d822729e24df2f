"""A layer that is copied, since an equal one was traced, is as if it had been traced itself."""

import gc
import weakref

import pytest

from engine.graph import layer_copies
from engine.graph.codec import parse_and_infer
from engine.nn.layers import LAYERS
from tests.engine.nn.layers.test_layers import OTHERS, SAMPLES
from tests.support.rows import each_row

pytestmark = pytest.mark.law

BEGIN = "tanh"
"""The kind of the layer whose place a layer takes that begins again with the input of the model."""


@pytest.fixture
def layers_traced(monkeypatch):
    """Return the kinds of the layers that are traced from here on, in order."""
    traced = []
    found = layer_copies.find_layer

    def find(kind):
        traced.append(kind)
        return (lambda scope, _: scope.input("x")) if kind == BEGIN else found(kind)

    monkeypatch.setattr(layer_copies, "find_layer", find)
    return traced


def trace(kind, monkeypatch, *, copies):
    """Trace a model of three equal layers that each begin with the input."""
    options, spec = SAMPLES.get(kind, ({}, ["batch", 4]))
    layer = {"layer": kind, **options}
    document = {"inputs": {"x": spec, **OTHERS.get(kind, {})}, "layers": [layer, BEGIN, layer, BEGIN, layer]}
    with monkeypatch.context() as patch:
        if not copies:
            patch.setattr(layer_copies.LayerScope, "alone", property(lambda _: False, lambda *_: None), raising=False)
        return parse_and_infer(document)


def describe(graph):
    """Return what each value of a trace is: shape, dtype and tracking, op and attributes, and what it is made from."""
    numbers, found = {}, []

    def number(value):
        waiting = [value]
        while waiting:
            last = waiting[-1]
            inputs = () if last.node is None else last.node.inputs
            before = [v for v in inputs if v.key not in numbers and v.data is None]
            waiting += before
            if not before:
                waiting.pop()
                if last.key not in numbers:
                    numbers[last.key] = len(found)
                    found.append(
                        _facts(last, [numbers.get(v.key) if v.data is None else v.data.tolist() for v in inputs])
                    )
        return numbers[value.key]

    values = {name: [number(value) for value in outputs] for name, outputs in graph.values.items()}
    return values, found, {name: number(value) for name, value in graph.buffer_updates.items()}


def _facts(value, inputs):
    made = None
    if value.node is not None:
        made = (value.node.op.name, repr(value.node.attrs), value.index, value.node.needs_grad, value.node.outputs)
    return value.spec, value.tracked, value.name, made, inputs


def origins(graph):
    return [graph._definition_node(outputs[0].node) for outputs in graph.values.values() if outputs[0].node]


@each_row("kind", [kind for kind in LAYERS if kind != BEGIN])
def test_a_copied_layer_is_as_a_traced_one(kind, layers_traced, monkeypatch):
    copied, quick = trace(kind, monkeypatch, copies=True)
    assert layers_traced.count(kind) == (6 if kind in OTHERS else 2)
    whole, slow = trace(kind, monkeypatch, copies=False)
    assert copied == whole
    for of in ("pointer", "place"):
        assert [getattr(node, of) for node in copied.nodes] == [getattr(node, of) for node in whole.nodes]
    assert describe(quick.graph) == describe(slow.graph)
    assert origins(quick.graph) == origins(slow.graph)
    assert quick.fans == slow.fans
    assert [quick.shape(node.name) for node in copied.nodes] == [slow.shape(node.name) for node in copied.nodes]
    assert quick.graph.budget.__dict__ == slow.graph.budget.__dict__


def test_a_trace_with_copied_layers_is_freed_without_a_garbage_collection(monkeypatch):
    gc.disable()
    try:
        _, inferred = trace("linear", monkeypatch, copies=True)
        graph = weakref.ref(inferred.graph)
        del inferred
        assert graph() is None
    finally:
        gc.enable()
