"""Steps of a session: sums to the bit, reductions, limits, options of one step, parameters without a gradient."""

import numpy as np
import pytest

import engine


def cut(batch, start, stop):
    """Return some rows of a batch."""
    return {name: array[start:stop] for name, array in batch.items()}


@pytest.mark.parametrize("executor", engine.executors())
@pytest.mark.parametrize("clean", [True, False])
def test_calls_for_the_parts_of_a_batch_come_to_the_bits_of_one_call_in_parts(
    classifier, batch, state, executor, clean
):
    apart, whole = classifier(execution=engine.Execution(executor)), classifier(execution=engine.Execution(executor))
    for session in (apart, whole):
        if not clean:
            session.forward_backward(batch)
    losses = [apart.forward_backward(cut(batch, i, i + 5), reduction="sum").loss for i in (0, 5, 10)]
    stepped = whole.forward_backward(batch, reduction="sum", micro_batch_size=5)
    assert stepped.loss == pytest.approx(sum(losses), rel=1e-12)
    assert state(apart) == state(whole)
    apart.optim_step()
    whole.optim_step()
    assert state(apart) == state(whole)


@pytest.mark.parametrize("micro", [None, 5])
@pytest.mark.parametrize(
    ("loss", "natural"), [("mse_loss(pred, y)", "mean"), ('mse_loss(pred, y, reduction="sum")', "sum")]
)
def test_reductions_are_what_they_say_whatever_the_graph_does(program, loss, natural, micro):
    x, y = np.linspace(-1, 1, 12).reshape(12, 1), np.arange(12.0)

    def session():
        return program(f"pred = x @ w\nloss = {loss}", {"w": [0.5]}, {"x": ["n", 1], "y": ["n"]})

    total = ((x[:, 0] * 0.5 - y) ** 2).sum(), (2 * (x[:, 0] * 0.5 - y) * x[:, 0]).sum()
    for reduction, divisor in ((None, {"mean": 12, "sum": 1}[natural]), ("mean", 12), ("sum", 1)):
        one = session()
        stepped = one.forward_backward({"x": x, "y": y}, reduction=reduction, micro_batch_size=micro)
        assert stepped.loss == stepped.losses["loss"] == pytest.approx(total[0] / divisor, rel=1e-12)
        assert one.gradients["w"] == pytest.approx(total[1] / divisor, rel=1e-12)


def test_the_sum_over_weighted_targets_counts_their_weights():
    definition = engine.parse_graph(
        {
            "inputs": {"x": ["n", 2], "t": {"shape": ["n"], "dtype": "int64"}},
            "parameters": {"w": [2, 3]},
            "program": "loss = cross_entropy(x @ w, t, ignore_index=2)",
        }
    )
    x, t = np.arange(8.0).reshape(4, 2) / 5, np.array([0, 2, 1, 2])
    session = engine.Session(definition, "sgd", precision="float64")
    mean = session.forward_backward({"x": x, "t": t}, reduction="mean").loss
    assert session.forward_backward({"x": x, "t": t}, reduction="sum").loss == pytest.approx(2 * mean)
    only_ignored = session.forward_backward({"x": x[[1, 3]], "t": t[[1, 3]]}, reduction="sum")
    assert only_ignored.loss == 0
    assert np.isfinite(only_ignored.norm)
    with pytest.raises(engine.DocumentError, match="no sum over parts"):
        session.forward_backward({"x": x, "t": t}, micro_batch_size=2)


def test_a_loss_that_compares_rows_has_only_its_own_reduction(program):
    session = program("loss = max(x) + sum(w)", {"w": [0.5]}, {"x": ["n", 1]})
    session.forward_backward({"x": [[1.0], [2.0]]})
    for request in ({"reduction": "sum"}, {"micro_batch_size": 1}):
        with pytest.raises(engine.DocumentError, match="neither adds nor averages"):
            session.forward_backward({"x": [[1.0], [2.0]]}, **request)


def test_clipping_by_the_norm_takes_the_length_of_all_gradients(program):
    session = program("loss = sum(x * w)", {"w": [0.0, 0.0]}, {"x": [2]}, clip={"norm": 5.0})
    assert session.forward_backward({"x": [30.0, 40.0]}).norm == 50.0
    updated = session.optim_step(lr=1.0)
    assert (updated.norm, updated.norms, updated.clipped, updated.taken) == (50.0, {"w": 50.0}, True, True)
    np.testing.assert_allclose(session.parameters["w"], [-3.0, -4.0], rtol=1e-6)
    session.forward_backward({"x": [0.3, 0.4]})
    updated = session.optim_step(lr=1.0)
    assert (updated.clipped, updated.step) == (False, 2)
    np.testing.assert_allclose(session.parameters["w"], [-3.3, -4.4], rtol=1e-6)


def test_options_given_with_a_step_are_those_of_an_optimizer_made_with_them(matrices, pairs):
    given = [
        {"lr": 0.1},
        {"lr": 0.05, "weight_decay": 0.1},
        {"betas": [0.5, 0.9], "eps": 1e-3},
        {},
        {"lr": 0.2, "groups": [{"lr": 0.0}]},
    ]
    groups = [{"match": "v", "lr": 0.01}]
    session = matrices({"kind": "adamw", "groups": groups})
    for options in given:
        plain = {name: value for name, value in options.items() if name != "groups"}
        own = options.get("groups", [plain])[0]
        created = matrices({"kind": "adamw", **plain, "groups": [{**groups[0], **own}]})
        session.forward_backward(pairs)
        created.restore(session.snapshot())
        assert session.optim_step(**options) == created.optim_step()
        for name, parameter in created.parameters.items():
            np.testing.assert_array_equal(session.parameters[name], parameter)


@pytest.mark.parametrize(
    ("options", "pointer"),
    [
        ({"rate": 0.1}, "/rate"),
        ({"lr": "fast"}, "/lr"),
        ({"lr": -1.0}, "/lr"),
        ({"betas": [0.9]}, "/betas"),
        ({"groups": [{"lr": 1.0}]}, "/groups"),
        ({"amsgrad": True}, ""),
    ],
)
def test_options_that_do_not_suit_are_refused_and_change_nothing(matrices, pairs, state, options, pointer):
    session = matrices()
    session.forward_backward(pairs)
    before = state(session)
    with pytest.raises(engine.DocumentError) as error:
        session.optim_step(**options)
    assert [finding.pointer for finding in error.value.findings] == [pointer]
    assert state(session) == before


def test_what_has_no_gradient_stays_where_it_is_with_its_moments_and_its_count(program):
    """As torch.optim does: each parameter counts its own steps."""
    start, ones = {"a": [1.0, 2.0], "b": [3.0]}, {"a": np.ones(2), "b": np.ones(1)}
    options = {"optimizer": {"kind": "adam", "lr": 0.1, "weight_decay": 0.1}}
    session, alone = (
        program("y = a * 1\nz = b * 1", start, **options),
        program("z = b * 1", {"b": start["b"]}, **options),
    )
    for names in ("a", "a", "ab", "b", "ab", ""):
        for name in names:
            session.set_gradient(name, ones[name])
        if "b" in names:
            alone.set_gradient("b", ones["b"])
            alone.optim_step()
        before = {name: array.copy() for name, array in session.parameters.items()}
        updated = session.optim_step()
        assert set(updated.norms) == set(names)
        assert updated.taken == bool(names)
        for name, array in session.parameters.items():
            assert (name in names) == (not np.array_equal(array, before[name]))
        np.testing.assert_array_equal(session.parameters["b"], alone.parameters["b"])
    assert session.step == 5


def test_a_step_that_is_not_finite_is_an_error_or_left_out(program, state):
    for nonfinite in ("error", "skip"):
        session = program("loss = sum(x * w)", {"w": [1.0, 2.0]}, {"x": [2]}, clip={"nonfinite": nonfinite})
        session.forward_backward({"x": [np.nan, 1.0]})
        before = state(session)
        if nonfinite == "error":
            with pytest.raises(engine.EngineError, match="not finite"):
                session.optim_step()
            assert state(session) == before
        else:
            updated = session.optim_step()
            assert (updated.taken, updated.step, session.gradients["w"]) == (False, 0, None)
        np.testing.assert_array_equal(session.parameters["w"], [1.0, 2.0])


def test_lbfgs_is_refused_by_name(matrices):
    with pytest.raises(engine.DocumentError, match="/optimizer: lbfgs evaluates the loss several times"):
        matrices("lbfgs")


def test_frozen_parameters_have_no_gradient_and_never_move(matrices, pairs):
    session = matrices({"kind": "sgd", "groups": [{"match": "v", "frozen": True}]})
    before = session.parameters["v"].copy()
    assert set(session.forward_backward(pairs).norms) == {"w"}
    session.optim_step(lr=1.0)
    assert session.gradients["v"] is None
    np.testing.assert_array_equal(session.parameters["v"], before)
    with pytest.raises(engine.DocumentError, match="/gradients/v"):
        session.set_gradient("v", np.zeros((4, 3)))


@pytest.mark.parametrize("executor", engine.executors())
def test_sums_over_parts_step_to_the_bits_of_a_fit_in_micro_batches(pairs, executor):
    document = {
        "inputs": {"x": ["n", 4], "y": ["n", 2]},
        "parameters": {"v": [4, 3], "w": [3, 2]},
        "program": 'loss = mse_loss(tanh(x @ v) @ w, y, reduction="sum")',
    }
    definition = engine.parse_graph(document)
    recipe = {"steps": 3, "batch_size": 12, "micro_batch_size": 5, "shuffle": False, "optimizer": "adam", "seed": 1}
    fit = engine.Fit(definition, engine.read_recipe(recipe), pairs, execution=engine.Execution(executor))
    session = engine.Session(definition, "adam", execution=engine.Execution(executor), seed=1)
    for _ in range(3):
        (point,) = (p for p in fit.advance() if p.split == "train")
        losses = [session.forward_backward(cut(pairs, i, i + 5), reduction="sum").loss for i in (0, 5, 10)]
        updated = session.optim_step()
        assert point.values["loss"] == sum(losses)
        assert point.values["grad_norm"] == pytest.approx(updated.norm, rel=1e-12)
        for name, parameter in fit.model.parameters.items():
            np.testing.assert_array_equal(session.parameters[name], parameter)


def test_a_forward_pass_that_limits_rows_changes_parameters_and_records_that(state):
    document = {
        "inputs": {"at": {"shape": ["n"], "dtype": "int64"}, "y": ["n", 4]},
        "layers": [{"layer": "embedding", "rows": 5, "units": 4, "max_norm": 0.5}],
        "loss": {"kind": "mse_loss", "target": "y"},
    }
    session = engine.Session(engine.parse_graph(document), "sgd")
    (name,) = session.parameters
    inputs = {"at": [0, 1, 1, 3], "y": np.zeros((4, 4))}
    before = session.parameters[name].copy()
    tape = session.forward(inputs, keep=True).tape
    assert not np.array_equal(session.parameters[name], before)
    assert (np.linalg.norm(session.parameters[name][[0, 1, 3]], axis=1) <= 0.5 + 1e-6).all()
    session.backward(tape, {"loss": 1.0})
    by_tape = session.gradients[name].copy()
    session.zero_grad()
    session.forward_backward(inputs)
    np.testing.assert_allclose(session.gradients[name], by_tape, rtol=1e-5)


def test_an_optimizer_starts_again_when_its_momenta_are_reset(matrices, pairs):
    session, start = matrices(), matrices()
    session.forward_backward(pairs)
    session.optim_step()
    session.reset(momenta=True)
    start.restore(session.snapshot(), optimizer=False)
    for one in (session, start):
        one.forward_backward(pairs)
        one.optim_step()
    for name, parameter in start.parameters.items():
        np.testing.assert_array_equal(session.parameters[name], parameter)


def test_gradients_of_two_sessions_are_averaged_by_hand(matrices, pairs):
    sessions, whole = (matrices("sgd"), matrices("sgd")), matrices("sgd")
    for session, part in zip(sessions, (cut(pairs, 0, 6), cut(pairs, 6, 12)), strict=True):
        session.forward_backward(part)
    for name in "vw":
        mean = sum(session.gradients[name] for session in sessions) / 2
        sessions[0].set_gradient(name, mean)
    norms = sessions[0].norms()
    stepped = whole.forward_backward(pairs)
    assert norms.norm == pytest.approx(stepped.norm, rel=1e-6)
    sessions[0].optim_step(lr=1.0)
    whole.optim_step(lr=1.0)
    for name, parameter in whole.parameters.items():
        np.testing.assert_allclose(sessions[0].parameters[name], parameter, rtol=1e-5, atol=1e-7)
