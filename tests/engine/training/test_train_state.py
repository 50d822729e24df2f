"""The memory of a model: parameters in one vector a dtype, slots beside them, windows with names."""

import numpy as np
import pytest

import engine
from engine.optim.groups import one_group
from engine.optim.optimizers import OPTIMIZERS, make_optimizer
from engine.training.train_state import ALIGNMENT, SLOT, StateLayout, StateOptions, TrainState, at_precision
from tests.support.rows import each_row

GRAPH = {
    "inputs": {"x": ["n", 3]},
    "parameters": {
        "w": {"shape": [3, 5], "init": "normal"},
        "fixed": {"shape": [2], "init": "ones", "frozen": True},
        "d": {"shape": [2], "dtype": "float64", "init": "ones"},
        "b": {"shape": [], "init": {"kind": "constant", "value": 4}},
        "none": [0, 3],
    },
    "buffers": {"seen": {"shape": [2], "dtype": "int64"}},
    "constants": {"c": [0.5], "k": [1, 2]},
    "program": "loss = sum(x @ w) + b + sum(d) + sum(fixed) + sum(none) + sum(c) + sum(k) + sum(seen)",
}
DEFINITION = engine.parse_graph(GRAPH)
TRAINED = ("w", "d", "b", "none")


def model(kind="adam", seed=0, **options):
    return TrainState(DEFINITION, TRAINED, one_group(make_optimizer({"kind": kind, **options})), seed)


def test_parameters_are_aligned_windows_on_one_vector_a_dtype():
    created = model()
    assert list(created.parameters) == list(GRAPH["parameters"])
    for name, dtype in (("w", "float32"), ("b", "float32"), ("none", "float32"), ("d", "float64")):
        vector = created.arrays[f"vector:{dtype}"]
        window = created.parameters[name]
        assert window.dtype == np.dtype(dtype)
        assert window.size == 0 or np.shares_memory(window, vector)
        assert (window.ctypes.data - vector.ctypes.data) % ALIGNMENT == 0 or window.size == 0
    created.parameters["b"][...] = 9
    assert 9 in created.arrays["vector:float32"]
    assert created.parameters["fixed"] is created.arrays["parameter:fixed"]


def test_a_layout_has_the_specs_of_a_state_without_allocating_it():
    layout, created = StateLayout(DEFINITION, TRAINED, one_group(make_optimizer({"kind": "adam"}))), model()
    assert {name: (array.shape, array.dtype) for name, array in created.arrays.items()} == {
        name: (spec.shape, spec.dtype) for name, spec in layout.specs.items()
    }


OPTIONS = {"chain": {"transforms": [{"kind": kind, "decay": 0.9} for kind in ("trace", "ema", "trace")]}}


@each_row("scaled", [False, True])
@each_row("kind", OPTIMIZERS)
def test_averages_optimizer_state_and_the_loss_scale_have_arrays_of_their_own(kind, scaled):
    groups = one_group(make_optimizer({"kind": kind, **OPTIONS.get(kind, {})}))
    graph = engine.parse_graph({**GRAPH, "buffers": {"seen": [2]}})
    plain = StateLayout(graph, ["w"], None)
    form = StateLayout(graph, ["w"], groups, StateOptions(averaged=True, scaled=scaled))
    slots = sum(len(of_one) for of_one in form.slots.values())
    assert len(form.averages) == len(form.flat_groups) + 1
    assert len(form.specs) == len(plain.specs) + slots + len(form.averages) + 2 * scaled


def test_arrays_start_as_declared_and_slots_at_zero():
    created = model()
    np.testing.assert_array_equal(created.parameters["fixed"], [1, 1])
    np.testing.assert_array_equal(created.parameters["b"], 4)
    np.testing.assert_array_equal(created.buffers["seen"], [0, 0])
    assert created.parameters["w"].std() > 0.3
    assert not any(array.any() for name, array in created.arrays.items() if name.startswith(SLOT))
    np.testing.assert_array_equal(model(seed=1).parameters["w"], model(seed=1).parameters["w"])
    assert not np.array_equal(model(seed=1).parameters["w"], created.parameters["w"])


@each_row(("kind", "options"), [("sgd", {}), ("sgd", {"momentum": 0.9}), ("adam", {}), ("adamw", {})])
def test_a_snapshot_restores_every_array(kind, options):
    created = model(kind, **options)
    for array in created.arrays.values():
        array[...] = np.arange(array.size).reshape(array.shape)
    snapshot = created.snapshot()
    fresh = model(kind, seed=3, **options)
    fresh.restore(snapshot)
    for table in ("parameters", "buffers"):
        for name, array in getattr(created, table).items():
            np.testing.assert_array_equal(getattr(fresh, table)[name], array)
    again = fresh.snapshot()
    assert {n: a.tobytes() for n, a in again.optimizer.items()} == {
        n: a.tobytes() for n, a in snapshot.optimizer.items()
    }
    for array in created.arrays.values():
        array[...] = 0
    assert snapshot.parameters["w"].any()


@pytest.mark.parametrize(("table", "name"), [("parameters", "w"), ("buffers", "seen"), ("optimizer", "moment1/w")])
def test_a_checkpoint_of_another_shape_is_refused_and_changes_nothing(table, name):
    created = model()
    checkpoint = model(seed=5).snapshot()
    getattr(checkpoint, table)[name] = np.ones(7)
    before = {n: array.copy() for n, array in created.arrays.items()}
    with pytest.raises(engine.CheckpointError, match=name):
        created.restore(checkpoint)
    assert all(np.array_equal(array, before[n]) for n, array in created.arrays.items())


def test_precision_replaces_float32_alone():
    wide = at_precision(DEFINITION, "float64")
    assert {spec.dtype.name for spec in wide.parameters.values()} == {"float64"}
    assert wide.inputs["x"].dtype == np.float64
    assert wide.buffers["seen"].dtype == np.int64
    assert {name: array.dtype.name for name, array in wide.constants.items()} == {"c": "float64", "k": "int64"}
    assert at_precision(DEFINITION, "float32") is DEFINITION
