"""A fit that is stopped, saved, loaded and resumed goes on to the bit: rows, arrays, averages and cursor."""

import random
import threading

import numpy as np
import pytest

import engine
from engine.optim.optimizers import CLOSURE_OPTIMIZERS, OPTIMIZERS
from engine.training.distributed.collective import in_memory
from tests.extent import FULL, paired

pytestmark = pytest.mark.law

ROWS = np.random.default_rng(3)
X = ROWS.standard_normal((15, 3)).astype(np.float32)
LABELS = (X[:, 0] > 0).astype(np.int64) + (X[:, 1] > 0.5)
EPOCHS, STEPS = 3, 9


def network(*between):
    """A small classifier with layers in its middle."""
    return {
        "inputs": {"x": ["n", 3], "label": {"shape": ["n"], "dtype": "int64"}},
        "layers": [{"layer": "linear", "units": 4, "activation": "tanh"}, *between, {"layer": "linear", "units": 3}],
        "loss": "cross_entropy",
    }


DROPOUT, NORM = {"layer": "dropout", "p": 0.4}, "batch_norm"
PLAIN = network(DROPOUT, NORM)


def start(document=PLAIN, columns=None, collective=None, **recipe):
    """Start a fit of three epochs of three steps each."""
    recipe = {"epochs": EPOCHS, "batch_size": 4, "validation": {"split": 0.2}, "seed": 9, **recipe}
    columns = columns or {"x": X, "label": LABELS}
    return engine.Fit(
        engine.parse_graph(document),
        engine.read_recipe(recipe),
        columns,
        execution=engine.Execution(collective=collective or engine.Alone()),
    )


def state(fit):
    """Every array of a fit by name, and where it stands."""
    snapshot = fit.snapshot()
    tables = (snapshot.parameters, snapshot.buffers, snapshot.optimizer, snapshot.state)
    arrays = {
        f"{place}:{name}": (array.dtype.name, array.shape, array.tobytes())
        for place, table in enumerate(tables)
        for name, array in table.items()
    }
    return arrays, snapshot.cursor, fit.best, repr(sorted(fit.latest.items())), fit.stopped


def advanced(fit, most=1000):
    """Run so many steps at most; return the rows of each as clients get them."""
    steps = (fit.advance() for _ in range(most) if not fit.done)
    return [[point.to_json() for point in points] for points in steps]


def somewhere(steps, name, every=3):
    """Choose how many of so many steps to do before stopping within an epoch; the same for the same name each time."""
    return random.Random(name).choice([step for step in range(1, steps) if step % every])


def check_resumption(make, name, path):
    """Run a fit, and another one that is stopped somewhere; return the first."""
    whole = make()
    rows = advanced(whole)
    stop = somewhere(len(rows), name)
    fit = make()
    assert advanced(fit, stop) == rows[:stop]
    fit.snapshot().save(path)
    resumed = make()
    resumed.restore(engine.Checkpoint.load(path))
    assert state(resumed) == state(fit)
    assert advanced(resumed) == rows[stop:]
    assert state(resumed) == state(whole)
    return whole


CHAIN = [{"kind": "scale_by_adam"}, {"kind": "add_decayed_weights", "weight_decay": 0.1}]
KINDS = {kind: {"kind": kind} for kind in OPTIMIZERS} | {
    "muon": {"kind": "adam", "groups": [{"ndim": 2, "kind": "muon"}]},
    "sgd with momentum": {"kind": "sgd", "lr": 0.1, "momentum": 0.9},
    "a chain of two": {"kind": "chain", "transforms": CHAIN},
}
CYCLED = {kind for kind, one in KINDS.items() if engine.make_optimizer({"kind": one["kind"]}).has_momentum}
ONE_CYCLE = {"kind": "one_cycle", "total_steps": STEPS, "max_lr": 0.05, "per": "step"}
SCHEDULES = {
    "constant": "constant",
    "cosine": {"kind": "cosine", "t_max": STEPS, "per": "step"},
    "one cycle": ONE_CYCLE,
    "plateau": {"kind": "reduce_on_plateau", "patience": 0, "threshold": 0.2, "factor": 0.5},
}
EMA, SWA = {"kind": "ema", "decay": 0.7}, {"kind": "swa", "every_steps": 2, "first_epoch": 2}
FEATURES = {
    "constant": {"document": PLAIN, "average": EMA},
    "cosine": {"document": network(NORM), "precision": "mixed_float16", "average": SWA},
    "one cycle": {"document": network(DROPOUT), "precision": "mixed_bfloat16", "average": EMA},
    "plateau": {"document": PLAIN, "average": SWA},
}
"""What occurs with each schedule: with the four, every optimizer meets every schedule and every feature."""
MET = [
    (kind, schedule)
    for number, kind in enumerate(KINDS)
    for place, schedule in enumerate(SCHEDULES)
    if FULL or (number + place) % 4 == 0
]
"""Beside the other tests every optimizer meets one schedule, and every schedule a quarter of the optimizers."""


@pytest.mark.parametrize(("kind", "schedule"), MET)
def test_a_fit_by_any_optimizer_and_schedule_is_resumed_to_the_bit(kind, schedule, tmp_path):
    if schedule == "one cycle":
        pytest.importorskip("ml_dtypes")
    rate = SCHEDULES[schedule]
    if schedule == "one cycle" and kind not in CYCLED:
        rate = {**ONE_CYCLE, "cycle_momentum": False}
    scale = {"loss_scaling": {"initial": 2.0**18, "growth_interval": 3}}

    def make():
        return start(optimizer=KINDS[kind], schedule=rate, **FEATURES[schedule], **scale)

    whole = check_resumption(make, kind + schedule, tmp_path / "c.safetensors")
    assert whole.step == STEPS
    assert whole.snapshot().under("average/")


@pytest.mark.parametrize(("line_search", "schedule"), paired([None, "strong_wolfe"], ["constant", "cosine", "plateau"]))
@pytest.mark.parametrize("kind", CLOSURE_OPTIMIZERS)
def test_a_fit_whose_optimizer_evaluates_the_loss_is_resumed_to_the_bit(kind, line_search, schedule, tmp_path):
    optimizer = {"kind": kind, "lr": 0.5, "max_iter": 3, "line_search": line_search}

    def make():
        return start(optimizer=optimizer, schedule=SCHEDULES[schedule], metrics=["accuracy"])

    check_resumption(make, schedule, tmp_path / "c.safetensors")


HUGE = {"kind": "sgd", "lr": 1e25}
OTHERS = {
    "parts of batches": {"micro_batch_size": 3},
    "parts of half precision": {"micro_batch_size": 3, "precision": "mixed_float16", "average": EMA},
    "rows of epochs": {"record": {"epochs": True, "every_steps": 2}, "metrics": ["accuracy", "auc", "f1"]},
    "early stopping": {"epochs": 8, "early_stopping": {"patience": 1, "min_delta": 0.02}, "optimizer": "rmsprop"},
    "validation within epochs": {"validation": {"split": 0.2, "every_steps": 2, "every_epochs": None}},
    "best weights with an average": {"early_stopping": {"patience": 9}, "average": SWA, "optimizer": HUGE},
    "returns": {"optimizer": HUGE, "divergence": {"action": "roll_back", "factor": 1e-4, "limit": 20}},
    "skipped steps": {"optimizer": HUGE, "divergence": {"action": "skip", "limit": 20}},
    "class weights": {"class_weights": [1.0, 2.0, 0.5]},
    "balanced classes": {"class_weights": "balanced", "micro_batch_size": 2},
    "sampling": {"sampling": {"weights": "balanced", "of": "label"}},
    "frozen epochs": {"freeze": [{"match": "linear_0.*", "first_epoch": 2, "last_epoch": 2}]},
    "groups": {
        "optimizer": {
            "kind": "adam",
            "groups": [{"match": "linear_0.bias", "frozen": True}, {"ndim": 2, "kind": "muon"}],
        }
    },
    "noise and limits": {"noise": {"eta": 0.1}, "clip": {"norm": 1.0, "adaptive": {}, "nonfinite": "skip"}},
    "prefetching": {"prefetch": 2},
    "normalised inputs": {"normalize": {"x": {"kind": "standard"}}},
    "warm restarts": {"schedule": {"kind": "cosine_warm_restarts", "t_0": 2}},
}


@pytest.mark.parametrize("name", OTHERS)
def test_a_fit_with_anything_else_is_resumed_to_the_bit(name, tmp_path):
    recipe = {"document": network(DROPOUT), "metrics": ["accuracy"], **OTHERS[name]}
    for attempt in range(2 if FULL else 1):
        check_resumption(lambda: start(**recipe), f"{name}{attempt}", tmp_path / "c.safetensors")


def test_a_fit_of_windows_is_resumed_to_the_bit(tmp_path):
    document = {
        "inputs": {"x": ["n", 4, 3], "y": ["n", 3]},
        "parameters": {"w": [12, 3]},
        "program": "loss = mse_loss(reshape(x, shape=[-1, 12]) @ w, y)",
    }
    wave = np.sin(np.arange(60.0) * 0.7).reshape(20, 3)
    recipe = {"windows": {"spans": {"x": [0, 4], "y": 4}}, "validation": {"split": 0.2, "order": "last"}}
    check_resumption(lambda: start(document, {"x": wave, "y": wave}, **recipe), "windows", tmp_path / "c.safetensors")


def on_ranks(make, work):
    """Run `work(rank, fit)` on two fits that share each batch, one a thread; return what it gave by rank."""
    found, failures = {}, []

    def run(rank, collective):
        try:
            found[rank] = work(rank, make(collective))
        except Exception as error:  # noqa: BLE001  # any, so that the other rank does not wait
            failures.append(error)
            collective.abort(b"failed")

    threads = [threading.Thread(target=run, args=pair) for pair in enumerate(in_memory(2))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if failures:
        raise failures[0]
    return [found[rank] for rank in range(2)]


SHARED = {
    "dropout and batch norm": {"document": PLAIN, "average": EMA, "metrics": ["accuracy"]},
    "parts and half precision": {"micro_batch_size": 1, "precision": "mixed_float16", "record": {"epochs": True}},
    "early stopping": {"epochs": 8, "early_stopping": {"patience": 1, "min_delta": 0.02}, "optimizer": "rmsprop"},
    "returns": OTHERS["returns"],
}


@pytest.mark.parametrize("name", SHARED)
def test_a_fit_on_two_ranks_is_resumed_to_the_bit_and_both_are_equal(name, tmp_path):
    def make(collective):
        return start(collective=collective, **{"document": network(DROPOUT), **SHARED[name]})

    def whole(rank, fit):
        return advanced(fit), state(fit)

    (rows, end), other = on_ranks(make, whole)
    assert other == (rows, end)
    stop = somewhere(len(rows), name)

    def halted(rank, fit):
        advanced(fit, stop)
        fit.snapshot().save(tmp_path / f"{rank}.safetensors")

    def resumed(rank, fit):
        fit.restore(engine.Checkpoint.load(tmp_path / f"{rank}.safetensors"))
        return advanced(fit), state(fit)

    on_ranks(make, halted)
    assert (tmp_path / "0.safetensors").read_bytes() == (tmp_path / "1.safetensors").read_bytes()
    assert on_ranks(make, resumed) == [(rows[stop:], end)] * 2
