"""Modules: what they hold, modes, states, files, freezing; and models updated by hand."""

import gc
import json
import tracemalloc
from pathlib import Path

import numpy as np
import pytest

import engine
from engine import Module, Value, ops
from engine.core.errors import CheckpointError, DeviceError, DTypeError, EngineError, GradientError, UnknownName

GOLDEN = Path(__file__).parent / "golden"


class Block(Module):
    """A stack in a module in a module, with a parameter and a buffer of its own."""

    def __init__(self, seed: int = 0) -> None:
        super().__init__()
        self.scale = engine.parameter(np.array([2.0], "float32"))
        self.register_buffer("calls", engine.tensor(0))
        self.body = engine.Sequential(
            ("conv1d", {"channels": 3, "kernel": 1}),
            "batch_norm",
            ("dropout", {"p": 0.5}),
            ("flatten", {}),
            ("linear", {"units": 2}),
            inputs=(2, 4),
            seed=seed,
        )

    def forward(self, x: object) -> Value:
        return self.body(x) * self.scale


class Net(Module):
    def __init__(self, seed: int = 0) -> None:
        super().__init__()
        self.block = Block(seed)

    def forward(self, x: object) -> Value:
        return self.block(x)


PARAMETERS = [
    "block.scale",
    *(f"block.body.{name}" for name in ("conv1d_0.weight", "conv1d_0.bias", "batch_norm_0.weight")),
    *(f"block.body.{name}" for name in ("batch_norm_0.bias", "linear_0.weight", "linear_0.bias")),
]
BUFFERS = [
    "block.calls",
    *(f"block.body.batch_norm_0.{name}" for name in ("running_mean", "running_var", "num_batches_tracked")),
]


def rows():
    return np.sin(np.arange(48.0)).reshape(6, 2, 4).astype("float32")


def test_names_are_paths_and_the_leaves_bear_them():
    net = Net()
    assert list(net.parameters()) == PARAMETERS
    assert list(net.buffers()) == BUFFERS
    gradients = engine.gradients_by_name(ops.sum(ops.square(net(rows()))))
    assert set(gradients) == set(PARAMETERS)


def test_a_part_used_twice_has_its_parameters_once():
    layer = engine.Sequential(("linear", {"units": 4}), inputs=(4,))
    model = engine.Sequential(layer, "relu", layer, inputs=(4,))
    assert list(model.parameters()) == ["sequential_0.linear_0.weight", "sequential_0.linear_0.bias"]
    x = np.ones((2, 4), "float32")
    np.testing.assert_array_equal(model(x).numpy(), layer(ops.relu(layer(x))).numpy())
    engine.TapeOptimizer(model.parameters()).step(engine.gradients_by_name(ops.sum(model(x))))


def test_parts_are_reached_as_attributes():
    net = Net()
    assert net.block.body.linear_0.parameters()["weight"] is net.parameters()["block.body.linear_0.weight"]
    assert len(net.block.body) == len(list(net.block.body.modules())) - 1 == 5
    assert net.block.body[-1] is net.block.body.linear_0


def test_modes_reach_every_part():
    net, x = Net(), rows()
    engine.seed(0)
    assert (net(x).numpy() != net(x).numpy()).any()
    net.eval()
    assert not any(module.training for module in net.modules())
    np.testing.assert_array_equal(net(x).numpy(), net(x).numpy())
    net.train()
    assert all(module.training for module in net.modules())


def test_a_state_makes_another_model_the_same():
    first, second = Net(1), Net(2)
    first(rows())
    leaf = second.parameters()["block.scale"]
    second.load_state_dict(first.state_dict())
    np.testing.assert_array_equal(first.eval()(rows()).numpy(), second.eval()(rows()).numpy())
    assert second.parameters()["block.scale"] is leaf


def test_a_state_is_a_copy():
    net = Net()
    state = net.state_dict()
    with engine.no_grad():
        net.parameters()["block.scale"].fill_(9.0)
    assert state["block.scale"].tolist() == [2]


def test_a_file_keeps_parameters_and_running_statistics(tmp_path):
    first, second = Net(1), Net(2)
    first(rows())
    first.save(tmp_path / "net.safetensors")
    second.load(tmp_path / "net.safetensors")
    for name, array in first.state_dict().items():
        np.testing.assert_array_equal(second.state_dict()[name], array)
    other = engine.Sequential(("linear", {"units": 1}), inputs=(2,))
    with pytest.raises(CheckpointError, match="which the model does not have"):
        other.load(tmp_path / "net.safetensors")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda state: state.pop("block.scale"), "has no 'block.scale'"),
        (lambda state: state.update({"block.scal": np.ones(1)}), "did you mean 'block.scale'"),
        (lambda state: state.update({"block.scale": np.ones(3)}), r"in shape \[3\], the model in \[1\]"),
    ],
)
def test_a_state_that_does_not_fit_is_refused_and_changes_nothing(change, message):
    net = Net(1)
    before, state = net.state_dict(), Net(2).state_dict()
    change(state)
    with pytest.raises(CheckpointError, match=message):
        net.load_state_dict(state)
    for name, array in net.state_dict().items():
        np.testing.assert_array_equal(before[name], array)


def test_loading_a_state_is_noticed_by_a_rule_that_saved_a_parameter():
    net = Net()
    loss = ops.sum(net(rows()))
    net.load_state_dict(net.state_dict())
    with pytest.raises(GradientError, match="modified by an in-place operation"):
        loss.backward()


@pytest.mark.parametrize("kind", ["sgd", "adam", "adamw"])
def test_parameters_frozen_by_name_stay_bitwise_and_the_others_move(kind):
    net = Net()
    ops.sum(net(rows())).backward()
    frozen = net.freeze("conv1d", "scale")
    assert frozen == PARAMETERS[:3]
    before = net.state_dict()
    optimizer = engine.TapeOptimizer(net.parameters(), kind, lr=0.1, weight_decay=0.1)
    for _ in range(10):
        optimizer.step(engine.gradients_by_name(ops.sum(ops.square(net(rows()) - 1))))
    for name, leaf in net.parameters().items():
        assert np.array_equal(leaf.numpy(), before[name]) == (name in frozen), name
    assert net.unfreeze("conv1d") == PARAMETERS[1:3]
    assert set(engine.gradients_by_name(ops.sum(net(rows())))) == set(PARAMETERS) - {"block.scale"}
    with pytest.raises(UnknownName, match="'conv2d'"):
        net.freeze("conv2d")


def test_zero_grad_reaches_every_parameter():
    net = Net()
    ops.sum(net(rows())).backward()
    net.zero_grad(set_to_none=False)
    assert all(not leaf.grad.numpy().any() for leaf in net.parameters().values())
    net.zero_grad()
    assert all(leaf.grad is None for leaf in net.parameters().values())


def test_a_module_changes_its_dtype_in_the_same_leaves():
    net = Net()
    leaf = net.parameters()["block.scale"]
    assert net.to(dtype="float64", device="cpu") is net
    assert leaf.dtype == np.float64
    assert net(rows().astype("float64")).dtype == np.float64
    assert net.buffers()["block.calls"].dtype == np.int64
    with pytest.raises(DTypeError, match="int32"):
        net.to(dtype="int32")
    with pytest.raises(DeviceError, match="gpu"):
        net.to(device="gpu")


def test_attributes_are_reassigned_and_dropped():
    block = Block()
    block.scale = engine.parameter(np.array([3.0], "float32"))
    assert block.parameters()["scale"].item() == 3
    block.calls = engine.tensor(5)
    assert block.buffers()["calls"].item() == 5
    del block.body
    assert list(block.parameters()) == ["scale"]
    block.scale = None
    assert block.parameters() == {}


def test_what_cannot_be_held_is_refused():
    class Hasty(Module):
        def __init__(self) -> None:
            self.scale = engine.parameter([1.0])

        def forward(self, x: object) -> object:
            return x

    with pytest.raises(EngineError, match=r"super\(\).__init__\(\)"):
        Hasty()
    with pytest.raises(DTypeError, match="'n' must be a floating leaf"):
        Block().register_parameter("n", engine.tensor([1]))
    with pytest.raises(UnknownName, match="'forward'"):
        Block().register_buffer("forward", engine.tensor([1.0]))


@pytest.mark.slow
def test_an_update_by_new_leaves_releases_the_old_graph():
    w = engine.parameter(np.ones(2048))

    def step(w: Value) -> Value:
        ops.sum(w * w).backward()
        return engine.parameter(w.numpy() - 0.01 * w.grad.numpy())

    tracemalloc.start()
    sizes = []
    for count in range(300):
        w = step(w)
        if count in (99, 299):
            gc.collect()
            sizes.append(tracemalloc.get_traced_memory()[0])
    tracemalloc.stop()
    assert sizes[1] - sizes[0] < 10 * w.nbytes  # of the 200 arrays made since
    assert w.is_leaf
    assert w.grad is None


def test_digits_are_learnt_by_hand_with_the_losses_of_pytorch(waves):
    expected = json.loads((GOLDEN / "digits.json").read_text())["losses"]
    x, y = waves(16, 784), np.eye(10)[np.arange(16) % 10]
    first = engine.parameter(0.05 * waves(784, 512, start=1.0))
    second = engine.parameter(0.05 * waves(512, 10, start=2.0))
    losses = []
    for _ in expected:
        p = ops.softmax(ops.relu(x @ first) @ second, axis=1)
        loss = -(y * ops.log(p + 0.001)).sum() / 1200
        loss.backward()
        losses.append(loss.item())
        first, second = (engine.parameter(w.numpy() - 0.01 * w.grad.numpy()) for w in (first, second))
    np.testing.assert_allclose(losses, expected, rtol=1e-12)


def test_the_text_of_a_model_has_its_parts_shapes_and_counts():
    model = engine.Sequential(
        {"layer": "linear", "units": 8, "activation": "relu"}, "batch_norm", ("linear", {"units": 3}), inputs=(4,)
    )
    model.freeze("linear_0.weight")
    lines = repr(model).splitlines()
    assert lines[0] == "Sequential: 83 parameters, 51 trained, 17 elements in buffers"
    text = "\n".join(lines[1:])
    assert "linear_0 (linear)" in text
    assert "weight float32[8, 4] (frozen), bias float32[8]" in text
    assert "running_mean float32[8] (buffer)" in text
    assert len(lines) == 4
