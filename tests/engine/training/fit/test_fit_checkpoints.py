"""Checkpoints of fits: resumed bit for bit, and refused when they are damaged or of another fit."""

import numpy as np
import pytest

import engine
from tests.engine.training.fit.fits import PLATEAU, X, classifier, line, run, state
from tests.support.rows import each_row

pytestmark = pytest.mark.law


@pytest.mark.slow
def test_a_fit_stopped_after_any_step_goes_on_to_the_same_bits(tmp_path):
    whole = classifier()
    rows, states = [], []
    while not whole.done:
        rows.append([point.to_json() for point in whole.advance()])
        whole.snapshot().save(tmp_path / f"{whole.step}.safetensors")
        states.append(state(whole))
    assert whole.step == whole.total_steps == 15
    for step in range(1, whole.total_steps):
        resumed = classifier()
        resumed.restore(engine.Checkpoint.load(tmp_path / f"{step}.safetensors"))
        assert (resumed.step, state(resumed)) == (step, states[step - 1])
        rest = [[point.to_json() for point in resumed.advance()] for _ in range(2) if not resumed.done]
        assert rest == rows[step : step + 2]
        assert state(resumed) == states[resumed.step - 1]
        assert (resumed.latest, resumed.best) == (whole.latest, whole.best) or not resumed.done


@pytest.mark.slow
@pytest.mark.parametrize("kind", engine.optim.optimizers.OPTIMIZERS)
def test_a_fit_by_any_optimizer_goes_on_to_the_same_bits_from_any_step(kind, tmp_path):
    document = {
        "inputs": {"x": ["n", 2], "y": ["n", 2]},
        "parameters": {"v": [2, 3], "w": [3, 2]},
        "program": "loss = mse_loss(tanh(x @ v) @ w, y)",
    }
    columns = {"x": X[:12, :2], "y": X[:12, 1:3]}

    def start():
        return line(columns, document, optimizer={"kind": kind})

    whole, states = start(), []
    while not whole.done:
        whole.advance()
        whole.snapshot().save(tmp_path / f"{whole.step}.safetensors")
        states.append(state(whole))
    assert len(set(map(repr, states))) == len(states) == 6
    for step in range(1, 6):
        resumed = start()
        resumed.restore(engine.Checkpoint.load(tmp_path / f"{step}.safetensors"))
        while not resumed.done:
            resumed.advance()
            assert state(resumed) == states[resumed.step - 1]


def test_a_resumed_fit_ends_where_the_whole_one_ends(tmp_path):
    whole = classifier()
    expected = run(whole)
    for step in (1, 5, 7):
        fit = classifier()
        head = [point.to_json() for _ in range(step) for point in fit.advance()]
        fit.snapshot().save(tmp_path / "state.safetensors")
        resumed = classifier()
        resumed.restore(engine.Checkpoint.load(tmp_path / "state.safetensors"))
        assert head + run(resumed) == expected
        assert state(resumed) == state(whole)
        assert (resumed.best, resumed.latest, resumed.seq) == (whole.best, whole.latest, whole.seq)


def test_a_checkpoint_whose_slots_have_their_older_names_is_resumed():
    recipe = {"divergence": {"action": "roll_back"}, "optimizer": "adam"}
    fit, fresh = line(**recipe), line(**recipe)
    while fit.step < 4:
        fit.advance()
    checkpoint = fit.snapshot()
    renamed = {name: name.replace("anchor/slot:", "anchor/") for name in checkpoint.state}
    assert "anchor/moment1:vector:float32" in renamed.values()
    checkpoint.state = {renamed[name]: array for name, array in checkpoint.state.items()}
    fresh.restore(checkpoint)
    assert state(fresh) == state(fit)


HALF_A_COUNT = {"rate": "0x1p-3", "best": "inf", "bad": 0.5, "cooling": 0}


@each_row("plateaus", [None, [], [{}], [HALF_A_COUNT], [{**HALF_A_COUNT, "bad": 0}] * 2])
def test_damaged_plateaus_are_refused(plateaus):
    fit = classifier(schedule=PLATEAU)
    checkpoint = fit.snapshot()
    checkpoint.cursor["plateaus"] = plateaus
    with pytest.raises(engine.CheckpointError, match="cursor"):
        fit.restore(checkpoint)


@pytest.mark.parametrize("field", ["parameters", "cursor", "optimizer"])
def test_a_checkpoint_that_lacks_something_is_refused_and_changes_nothing(field):
    fit = classifier()
    fit.advance()
    checkpoint = fit.snapshot()
    getattr(checkpoint, field).popitem()
    fresh = classifier()
    before = state(fresh)
    with pytest.raises(engine.CheckpointError):
        fresh.restore(checkpoint)
    if field != "cursor":
        assert state(fresh) == before


KEPT = {
    "average/": {"average": "ema"},
    "best/": {"early_stopping": {"patience": 9}},
    "anchor/": {"divergence": {"action": "roll_back"}},
    "loss_scale": {"precision": "mixed_float16"},
}


@pytest.mark.parametrize(("prefix", "recipe"), KEPT.items(), ids=KEPT)
def test_a_checkpoint_that_lacks_what_a_fit_keeps_is_refused_and_changes_nothing(prefix, recipe):
    fit = classifier(**recipe)
    while fit.step < 6:
        fit.advance()
    checkpoint, fresh = fit.snapshot(), classifier(**recipe)
    before = state(fresh)
    for name in [name for name in checkpoint.state if name.startswith(prefix)]:
        array = checkpoint.state.pop(name)
        if len(checkpoint.under(prefix)) or prefix != "best/":
            with pytest.raises(engine.CheckpointError):
                fresh.restore(checkpoint)
        checkpoint.state[name] = np.zeros((3, 1, 7))
        with pytest.raises(engine.CheckpointError):
            fresh.restore(checkpoint)
        checkpoint.state[name] = array
    assert state(fresh) == before
    fresh.restore(checkpoint)
    assert state(fresh) == state(fit)


@each_row(
    "cursor",
    [
        {},
        {"step": -1},
        {"step": 1.5},
        {"epoch_losses": {}},
        {"rate_factor": "0x1p99999"},
        {"seq": None},
        {"best": 3},
        {"latest": []},
        {"stopped": 1},
        {"averaged": -1},
    ],
)
def test_a_damaged_cursor_is_refused(cursor):
    fit = classifier()
    checkpoint = fit.snapshot()
    checkpoint.cursor = {**checkpoint.cursor, **cursor} if cursor else {}
    with pytest.raises(engine.CheckpointError, match="cursor"):
        fit.restore(checkpoint)


def test_a_checkpoint_of_another_graph_is_refused():
    with pytest.raises(engine.CheckpointError, match="another graph"):
        line().restore(classifier().snapshot())


def test_a_snapshot_names_its_seed_and_is_refused_under_another() -> None:
    definition = engine.parse_graph(
        {"inputs": {"x": ["batch"]}, "parameters": {"w": []}, "program": "loss = mean((w * x - 1) ** 2)"}
    )
    fits = [
        engine.Fit(definition, engine.read_recipe({"steps": 2, "seed": seed}), {"x": np.ones(4)}) for seed in (1, 1, 2)
    ]
    snapshot = fits[0].snapshot()
    assert snapshot.cursor["seed"] == 1
    fits[1].restore(snapshot)
    with pytest.raises(engine.CheckpointError, match="another seed"):
        fits[2].restore(snapshot)
