"""The code of ggmlR's vignette on autograd, section by section; matrices hold an example in each column."""

import numpy as np
import pytest

import engine
from engine import ops
from engine.core.errors import DeviceError

BS = 32


@pytest.fixture
def columns() -> tuple[np.ndarray, np.ndarray]:
    """150 examples of 4 features and their classes, one of 3, as one-hot columns."""
    rng = np.random.default_rng(42)
    x = rng.standard_normal((4, 150)).astype(np.float32)
    return x, np.eye(3, dtype=np.float32)[x[:3].argmax(axis=0)].T


def test_primitives_on_a_tape() -> None:
    x = engine.tensor([k / 6 for k in range(1, 7)], shape=(2, -1), layout="col")
    w = engine.parameter(np.array([[0.5, -0.25], [1.0, 0.75]]), name="W")
    b = engine.parameter(np.zeros((2, 1)), name="b")
    with engine.tape.tape():
        h = ops.relu(ops.add(ops.matmul(w, x), b))
        loss = ops.mean(ops.mul(h, h))
    grads = engine.gradients_by_name(loss)
    slope = 2 * np.maximum(w.data @ x.data + b.data, 0) / 6
    np.testing.assert_allclose(grads["W"], slope @ x.data.T, rtol=1e-6)
    np.testing.assert_allclose(grads["b"], slope.sum(axis=1, keepdims=True), rtol=1e-6)


def test_the_model_is_trained_clipped_loaded_and_evaluated(columns: tuple[np.ndarray, np.ndarray]) -> None:
    x_tr, y_tr = (part[:, :120] for part in columns)
    x_vl, y_vl = (part[:, 120:] for part in columns)
    model = engine.Sequential(
        {"layer": "linear", "units": 64, "activation": "relu"},
        {"layer": "batch_norm"},
        {"layer": "dropout", "p": 0.3},
        {"layer": "linear", "units": 32, "activation": "relu"},
        {"layer": "linear", "units": 3},
        inputs=(4,),
        layout="col",
        seed=42,
    )
    params = model.parameters()
    assert len(params) == 8
    opt = engine.TapeOptimizer(params, "adam", lr=1e-2)
    rng, n = np.random.default_rng(1), x_tr.shape[1]
    model.train()
    losses = []
    for _ in range(10):
        perm = rng.permutation(n)
        for b in range(-(-n // BS)):
            idx = perm[b * BS : min((b + 1) * BS, n)]
            xb, yb = engine.tensor(x_tr[:, idx]), y_tr[:, idx]
            with engine.tape.tape():
                loss = engine.softmax_cross_entropy_loss(model.forward(xb), yb, layout="col")
            grads = engine.gradients_by_name(loss)
            opt.step(grads)
            opt.zero_grad()
        losses.append(float(loss.data))
    assert losses[-1] < 0.7 * losses[0]

    with engine.tape.tape():
        loss = engine.softmax_cross_entropy_loss(model.forward(engine.tensor(x_tr)), y_tr, layout="col")
    grads = engine.gradients_by_name(loss)
    norm = engine.clip_gradients(grads, max_norm=0.01)
    assert norm > 0.01
    clipped = np.sqrt(sum(np.square(grad.data).sum() for grad in grads.values()))
    assert clipped == pytest.approx(0.01 * norm / (norm + 1e-6), rel=1e-5)
    opt.step(grads)
    opt.zero_grad()

    dl = engine.DataLoader(x_tr, y_tr, batch_size=BS, shuffle=True, layout="col")
    for batch in dl.epoch():
        with engine.tape.tape():
            loss = engine.softmax_cross_entropy_loss(model.forward(batch.x), batch.y.data, layout="col")
        opt.step(engine.gradients_by_name(loss))
        opt.zero_grad()

    model.eval()
    out = []
    for s in range(0, 30, 7):
        lg = model.forward(engine.tensor(x_vl[:, s : s + 7])).data
        ev = np.exp(lg - lg.max(axis=0))
        out.append(ev / ev.sum(axis=0))
    probs = np.hstack(out)
    whole = ops.softmax(model.forward(engine.tensor(x_vl)), axis=0)
    np.testing.assert_allclose(probs, whole.data, rtol=1e-5, atol=1e-7)
    assert (probs.argmax(axis=0) == y_vl.argmax(axis=0)).mean() > 0.6


def test_raw_parameters_under_full_manual_control(columns: tuple[np.ndarray, np.ndarray]) -> None:
    x_tr, y_tr = columns
    rng, n = np.random.default_rng(7), x_tr.shape[1]
    w1 = engine.parameter((rng.standard_normal((64, 4)) * np.sqrt(2 / 4)).astype(np.float32))
    b1 = engine.parameter(np.zeros((64, 1), np.float32))
    w2 = engine.parameter((rng.standard_normal((3, 64)) * np.sqrt(2 / 64)).astype(np.float32))
    b2 = engine.parameter(np.zeros((3, 1), np.float32))

    def forward(x: engine.Value) -> engine.Value:
        return ops.add(ops.matmul(w2, ops.relu(ops.add(ops.matmul(w1, x), b1))), b2)

    opt_raw = engine.TapeOptimizer({"W1": w1, "b1": b1, "W2": w2, "b2": b2}, "adam", lr=1e-3)
    losses = []
    for _ in range(20):
        perm = rng.permutation(n)
        for b in range(-(-n // BS)):
            idx = perm[b * BS : min((b + 1) * BS, n)]
            with engine.tape.tape():
                loss_r = engine.softmax_cross_entropy_loss(
                    forward(engine.tensor(x_tr[:, idx])), y_tr[:, idx], layout="col"
                )
            gr = engine.gradients_by_name(loss_r)
            assert set(gr) == {"W1", "b1", "W2", "b2"}
            opt_raw.step(gr)
            opt_raw.zero_grad()
        losses.append(loss_r.item())
    assert losses[-1] < 0.5 * losses[0]


def test_device_and_dtype_are_chosen_as_in_section_10() -> None:
    try:
        engine.set_default_device("gpu")
        device = "gpu"
    except DeviceError:
        device = "cpu"
    assert device == "cpu"
    previous = engine.set_default_dtype("f16" if device == "gpu" else "f32")
    try:
        for short, name in (("f16", "float16"), ("bf16", "bfloat16"), ("f32", "float32")):
            engine.set_default_dtype(short)
            assert engine.get_default_dtype() == name
            assert engine.tensor([1.0]).dtype == name
    finally:
        engine.set_default_dtype(previous)
