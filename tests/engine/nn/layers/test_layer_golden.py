"""Every layer gives what PyTorch's module gives, forward and backward, in both modes, from a state of its names."""

import json
from pathlib import Path

import numpy as np
import pytest

import engine
from engine.core.value import Spec
from engine.data.checkpoint import read_tensors
from engine.nn.layers import LAYERS
from engine.nn.modules.layer import Layer
from tests.support.rows import each_row

pytestmark = pytest.mark.law

FILE = Path(__file__).parent / "golden" / "layers.npz"
F64 = np.dtype("float64")

WITHOUT_MODULE = {
    "global_avg_pool": "the mean over axes: see test_layers",
    "sinusoidal_positions": "PyTorch has no such module: see test_layers",
    "normalize": "a function in PyTorch: an op with golden values of its own",
    "reshape": "a method in PyTorch: see test_layers",
    "permute": "a method in PyTorch: see test_layers",
    "squeeze": "a method in PyTorch: see test_layers",
    "geglu": "no PyTorch module: an op with tests of its own",
    "reglu": "no PyTorch module: an op with tests of its own",
    "swiglu": "no PyTorch module: an op with tests of its own",
    "rotary_positions": "PyTorch has no such module: see test_layers",
    "tabular": "made of layers with golden values: see test_layers",
    **{kind: "random: see test_layers" for kind in LAYERS if "dropout" in kind},
    **{kind: "random: an op with tests of its own" for kind in LAYERS if kind.startswith("random_")},
    **dict.fromkeys(("gaussian_noise", "time_masking", "mixup"), "random: an op with tests of its own"),
}


def read():
    """Return the entries, each with its arrays."""
    with np.load(FILE) as file:
        entries, shapes = json.loads(file["index"].tobytes())
        numbers = file["numbers"]
    cases, start = {}, 0
    for key, (dtype, *shape) in shapes.items():
        count = int(np.prod(shape))
        place, _, name = key.partition("/")
        array = numbers[start : start + count].reshape(shape).astype(dtype)
        entries[int(place)].setdefault("arrays", {})[name] = array
        start += count
    for entry in entries:
        cases[entry["name"]] = entry
    return cases


CASES = read()


def create(entry):
    """Return the layer of a case, in PyTorch's state."""
    arrays = entry["arrays"]
    others = {name: arrays[f"other/{name}"] for name in entry["others"]}
    layer = Layer(
        entry["kind"],
        Spec(arrays["x"].shape, arrays["x"].dtype),
        others={name: Spec(array.shape, array.dtype) for name, array in others.items()},
        seed=0,
        dtype=F64,
        **entry["options"],
    )
    layer.load_state_dict({name: arrays[f"state/{name}"] for name in entry["state"]})
    return layer, others


@each_row("name", CASES)
def test_a_layer_gives_what_pytorch_gives(name):
    entry = CASES[name]
    arrays = entry["arrays"]
    layer, others = create(entry)
    for mode in ("train", "eval"):
        layer.train(mode == "train")
        layer.zero_grad()
        whole = arrays["x"].dtype.kind == "i"
        x = engine.tensor(arrays["x"]) if whole else engine.parameter(arrays["x"])
        y = layer(x, **others)
        np.testing.assert_allclose(y.numpy(), arrays[f"{mode}/y"], rtol=1e-7, atol=1e-12, err_msg=mode)
        y.backward(arrays[f"{mode}/cotangent"])
        for key, leaf in {**({} if whole else {"x": x}), **layer.parameters()}.items():
            expected = arrays[f"{mode}/gradient/{key}"]
            np.testing.assert_allclose(leaf.grad.numpy(), expected, rtol=1e-7, atol=1e-10, err_msg=f"{mode}: {key}")
        for key, buffer in layer.buffers().items():
            np.testing.assert_allclose(buffer.numpy(), arrays[f"{mode}/buffer/{key}"], rtol=1e-7, err_msg=key)


@each_row("name", [name for name, entry in CASES.items() if entry["state"]])
def test_a_state_of_pytorch_goes_in_and_comes_out_by_its_names(name):
    entry = CASES[name]
    layer, _ = create(entry)
    state = layer.state_dict()
    assert {key: list(array.shape) for key, array in state.items()} == entry["state"]
    for key, array in state.items():
        np.testing.assert_array_equal(array, entry["arrays"][f"state/{key}"])


@each_row("name", CASES)
def test_the_names_of_pytorch_are_those_of_the_layers_spelling_and_of_the_file(name, tmp_path):
    entry = CASES[name]
    arrays = entry["arrays"]

    def spec(array):
        return {"shape": list(array.shape), "dtype": str(array.dtype).replace("float64", "float32")}

    inputs = {"x": spec(arrays["x"]), **{other: spec(arrays[f"other/{other}"]) for other in entry["others"]}}
    entries = [{"layer": entry["kind"], "name": "network", **entry["options"]}]
    definition = engine.parse_graph({"inputs": inputs, "layers": entries})
    states = {**definition.parameters, **definition.buffers}
    assert {key: list(state.shape) for key, state in states.items()} == {
        f"network.{key}": shape for key, shape in entry["state"].items()
    }
    layer, _ = create(entry)
    path = tmp_path / "layer.safetensors"
    layer.save(path)
    tensors, _ = read_tensors(path)
    assert {key: list(tensor.shape) for key, tensor in tensors.items()} == entry["state"]
    for key, tensor in tensors.items():
        assert str(tensor.dtype) == ("int64" if key.endswith("num_batches_tracked") else "float64")
        np.testing.assert_array_equal(tensor, arrays[f"state/{key}"])
    layer.load(path)
    assert {key: list(array.shape) for key, array in layer.state_dict().items()} == entry["state"]


def test_every_layer_has_golden_values_or_a_reason_for_none():
    assert set(LAYERS) == {entry["kind"] for entry in CASES.values()} | set(WITHOUT_MODULE)
