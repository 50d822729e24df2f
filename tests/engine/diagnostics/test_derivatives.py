"""Every derivative a request can want: known numbers, and the transforms of the engine on the same function."""

import numpy as np
import pytest

import engine
from engine.execution.interpreter import node_runner as bounds
from tests.support.rows import each_row

CUBES = {"inputs": {"a": []}, "parameters": {"x": [2]}, "program": "loss = a * sum(x ** 3)\ny = a * x ** 2"}
AT_CUBES = {"inputs": {"a": 1.0}, "parameters": {"x": [1.0, 2.0]}}
NETWORK = {
    "inputs": {"x": {"shape": ["n", 3], "dtype": "float64"}, "t": {"shape": ["n"], "dtype": "float64"}},
    "parameters": {
        "w": {"shape": [3, 2], "dtype": "float64"},
        "v": {"shape": [2], "dtype": "float64"},
        "still": {"shape": [2], "dtype": "float64", "frozen": True},
    },
    "program": "h = tanh(x @ w) + still\npred = h @ v\nloss = mean((pred - t) ** 2)",
    "outputs": ["pred"],
}
RNG = np.random.default_rng(5)
ARRAYS = {
    "x": RNG.normal(size=(4, 3)),
    "t": RNG.normal(size=4),
    "w": RNG.normal(size=(3, 2)),
    "v": RNG.normal(size=2),
    "still": RNG.normal(size=2),
}
AT_NETWORK = {
    "inputs": {name: ARRAYS[name].tolist() for name in ("x", "t")},
    "parameters": {name: ARRAYS[name].tolist() for name in ("w", "v", "still")},
}
DIRECTIONS = {name: RNG.normal(size=array.shape) for name, array in ARRAYS.items()}


def derived(document, request, *wants, **more):
    """Return the tensors of each want as lists or arrays."""
    result = engine.compute(engine.parse_graph(document), {**request, **more, "want": list(wants)})
    return [found["tensors"] for found in result["derivatives"]]


def network(of, by):
    """Return the value `of` of the network as a function of the leaves `by`, in plain calls of the engine."""
    definition = engine.parse_graph({**NETWORK, "outputs": [of]})
    function = engine.graph_function(definition)

    def call(*values):
        return function(**{**ARRAYS, **dict(zip(by, values, strict=True))})

    return call


KNOWN = {
    "gradient of a scalar": ({"gradient_of": ["loss"]}, {"x": [3.0, 12.0]}),
    "gradient by an input": ({"gradient_of": ["loss"], "by": ["a"]}, {"a": 9.0}),
    "gradient with cotangents": (
        {"gradient_of": ["y"], "cotangents": {"y": [1.0, 10.0]}, "by": ["a", "x"]},
        {"a": 41.0, "x": [2.0, 40.0]},
    ),
    "gradient of several": (
        {"gradient_of": ["y", "loss"], "cotangents": {"y": [1.0, 1.0], "loss": 2.0}, "by": ["x"]},
        {"x": [8.0, 28.0]},
    ),
    "jacobian": ({"jacobian": {"of": "y", "by": "x"}}, {"x": [[2.0, 0.0], [0.0, 4.0]]}),
    "jacobian by an input": ({"jacobian": {"of": "y", "by": "a"}}, {"a": [1.0, 4.0]}),
    "hessian": ({"hessian": {"by": "x"}}, {"x": [[6.0, 0.0], [0.0, 12.0]]}),
    "hessian of a named scalar": ({"hessian": {"of": "loss", "by": "a"}}, {"a": 0.0}),
    "hvp": ({"hvp": {"by": {"x": [1.0, 1.0]}}}, {"x": [6.0, 12.0]}),
    "vhp": ({"vhp": {"of": "loss", "by": {"x": [1.0, -1.0]}}}, {"x": [6.0, -12.0]}),
    "hvp across leaves": ({"hvp": {"by": {"x": [0.0, 0.0], "a": 1.0}}}, {"x": [3.0, 12.0], "a": 0.0}),
    "jvp": ({"jvp": {"tangents": {"x": [1.0, 0.5]}}}, {"loss": 9.0, "y": [2.0, 2.0]}),
    "jvp of one value": ({"jvp": {"of": ["y"], "tangents": {"a": 1.0}}}, {"y": [1.0, 4.0]}),
}


@each_row(("want", "expected"), KNOWN.values(), ids=KNOWN)
def test_a_derivative_of_known_numbers(want, expected):
    (found,) = derived(CUBES, AT_CUBES, want)
    assert {name: array.tolist() for name, array in found.items()} == expected


def test_a_vector_jacobian_product_is_that_of_the_engine():
    (found,) = derived(
        NETWORK,
        AT_NETWORK,
        {"gradient_of": ["pred"], "cotangents": {"pred": DIRECTIONS["t"].tolist()}, "by": ["w", "x"]},
    )
    _, pull = engine.vjp(network("pred", ("w", "x")), ARRAYS["w"], ARRAYS["x"])
    for array, expected in zip(found.values(), pull(DIRECTIONS["t"]), strict=True):
        np.testing.assert_allclose(array, expected.numpy(), rtol=1e-12)


@each_row("mode", [{}, {"mode": "reverse"}, {"mode": "forward"}])
@each_row("by", ["w", "v", "x", "still"])
def test_a_jacobian_is_that_of_the_engine_in_either_mode(by, mode):
    (found,) = derived(NETWORK, AT_NETWORK, {"jacobian": {"of": "pred", "by": by, **mode}})
    expected = engine.jacobian(network("pred", (by,)))(ARRAYS[by]).numpy()
    assert found[by].shape == (4, *ARRAYS[by].shape)
    np.testing.assert_allclose(found[by], expected, rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("by", ["w", "v", "x"])
def test_a_hessian_and_its_products_are_those_of_the_engine(by):
    direction = {by: DIRECTIONS[by].tolist()}
    matrix, left, right = derived(
        NETWORK, AT_NETWORK, {"hessian": {"by": by}}, {"vhp": {"by": direction}}, {"hvp": {"by": direction}}
    )
    function = network("loss", (by,))
    np.testing.assert_allclose(matrix[by], engine.hessian(function)(ARRAYS[by]).numpy(), rtol=1e-10, atol=1e-14)
    (expected,) = engine.vhp(function, [ARRAYS[by]], [DIRECTIONS[by]])
    np.testing.assert_allclose(left[by], expected.numpy(), rtol=1e-12)
    np.testing.assert_array_equal(left[by], right[by])
    np.testing.assert_allclose(np.tensordot(matrix[by], DIRECTIONS[by], DIRECTIONS[by].ndim), right[by], rtol=1e-10)


def test_a_jacobian_vector_product_is_that_of_the_engine():
    tangents = {name: DIRECTIONS[name].tolist() for name in ("x", "v")}
    (found,) = derived(NETWORK, AT_NETWORK, {"jvp": {"of": ["pred", "h"], "tangents": tangents}})
    for name in ("pred", "h"):
        _, expected = engine.jvp(
            network(name, ("x", "v")), [ARRAYS["x"], ARRAYS["v"]], [DIRECTIONS["x"], DIRECTIONS["v"]]
        )
        np.testing.assert_allclose(found[name], expected.numpy(), rtol=1e-12)


def test_derivatives_stand_beside_names_and_say_which_want_they_answer():
    request = {**AT_CUBES, "want": ["outputs", {"hessian": {"by": "x"}}, "gradients", {"gradient_of": ["loss"]}]}
    result = engine.compute(engine.parse_graph(CUBES), request)
    assert sorted(result) == ["derivatives", "gradients", "losses", "outputs"]
    described = [{key: value for key, value in one.items() if key != "tensors"} for one in result["derivatives"]]
    assert described == [
        {"want": 1, "kind": "hessian", "of": ["loss"], "by": ["x"]},
        {"want": 3, "kind": "gradient_of", "of": ["loss"], "by": ["x"]},
    ]
    np.testing.assert_array_equal(result["derivatives"][1]["tensors"]["x"], result["gradients"]["x"])


def test_a_scalar_left_out_is_the_sum_of_the_losses():
    document = {"parameters": {"x": []}, "program": "f = x ** 2\ng = x ** 3", "losses": ["f", "g"]}
    (found,) = derived({"inputs": {}, **document}, {"parameters": {"x": 2.0}}, {"hessian": {"by": "x"}})
    assert found["x"] == 2.0 + 12.0


def test_frozen_parameters_move_only_when_they_are_named():
    default, named = derived(NETWORK, AT_NETWORK, {"gradient_of": ["loss"]}, {"gradient_of": ["loss"], "by": ["still"]})
    assert list(default) == ["w", "v"]
    assert np.abs(named["still"]).min() > 0


def test_every_derivative_sees_the_mask_that_the_outputs_see():
    document = {
        "inputs": {"x": [40]},
        "parameters": {"s": []},
        "program": "y = dropout(x, p=0.5) * s\nloss = sum(y)",
        "outputs": ["y"],
    }
    request = {"inputs": {"x": [1.0] * 40}, "parameters": {"s": 1.0}, "training": True}
    wants = [
        "outputs",
        {"gradient_of": ["loss"], "by": ["x"]},
        {"jvp": {"of": ["y"], "tangents": {"s": 1.0}}},
        {"jacobian": {"of": "y", "by": "s", "mode": "reverse"}},
        {"hvp": {"by": {"x": [0.0] * 40, "s": 1.0}}},
    ]
    masks = []
    for seed in (0, 0, 1):
        result = engine.compute(engine.parse_graph(document), {**request, "seed": seed, "want": wants})
        masks.append(result["outputs"]["y"])
        gradient, pushed, jacobian, product = (found["tensors"] for found in result["derivatives"])
        for array in (gradient["x"], pushed["y"], jacobian["s"], product["x"]):
            np.testing.assert_array_equal(array, masks[-1])
    assert set(masks[0].tolist()) == {0.0, 2.0}
    np.testing.assert_array_equal(masks[0], masks[1])
    assert not np.array_equal(masks[0], masks[2])


def test_leaves_without_a_path_to_the_value_have_zeros():
    document = {"inputs": {"x": [2]}, "parameters": {"w": [3]}, "program": "y = x * 2.0\nz = w + 1.0"}
    at = {"inputs": {"x": [1.0, 2.0]}}
    pulled, jacobian = derived(
        document,
        at,
        {"gradient_of": ["y"], "cotangents": {"y": [1.0, 1.0]}, "by": ["x", "w"]},
        {"jacobian": {"of": "y", "by": "w"}},
    )
    assert pulled["w"].tolist() == [0.0, 0.0, 0.0]
    assert jacobian["w"].tolist() == [[0.0] * 3] * 2


def test_results_that_are_not_finite_are_results():
    (found,) = derived(CUBES, {"inputs": {"a": 3e38}, "parameters": {"x": [10.0, 0.0]}}, {"hessian": {"by": "x"}})
    assert found["x"][0, 0] == np.inf


SMOOTH = {
    "inputs": {"y": {"shape": [], "dtype": "float64"}},
    "parameters": {"x": {"shape": [], "dtype": "float64"}},
    "program": "quartic = x ** 4\nwave = sin(x) * x ** 4\nmixed = x ** 3 * y ** 2",
    "losses": ["quartic"],
}
# The derivatives of sin(x) x^4 at 0.7 by PyTorch 2.13, one taken of the other.
WAVE = (1.0675052760571175, 5.732050296160489, 21.479434719454243, 40.08784221636496, -56.81725765050381)


def of_order(of, by, at):
    want = {"derivative": {"by": by, **({"of": of} if of else {})}}
    (found,) = derived(SMOOTH, {"inputs": {"y": 3.0}, "parameters": {"x": at}}, want)
    return found[",".join(by)]


@each_row(("order", "expected"), list(enumerate([32.0, 48.0, 48.0, 24.0, 0.0, 0.0], 1)))
def test_a_fourth_power_is_differentiated_until_nothing_is_left(order, expected):
    assert of_order(None, ["x"] * order, at=2.0) == expected


@each_row(("order", "expected"), list(enumerate(WAVE, 1)))
def test_gradients_of_gradients_are_those_of_pytorch(order, expected):
    np.testing.assert_allclose(of_order("wave", ["x"] * order, at=0.7), expected, rtol=1e-12)


def test_mixed_derivatives_are_taken_by_one_leaf_after_the_other():
    assert of_order("mixed", ["x", "x", "y"], at=2.0) == of_order("mixed", ["y", "x", "x"], at=2.0) == 6 * 2 * 2 * 3
    assert of_order("mixed", ["y", "y", "y"], at=2.0) == 0.0


def test_derivatives_of_order_one_and_two_are_the_jacobian_and_the_hessian():
    wants = [{"derivative": {"of": "pred", "by": ["w"]}}, {"derivative": {"by": ["w", "w"]}}]
    wants += [{"jacobian": {"of": "pred", "by": "w"}}, {"hessian": {"by": "w"}}]
    first, second, jacobian, hessian = derived(NETWORK, AT_NETWORK, *wants)
    np.testing.assert_allclose(first["w"], jacobian["w"], rtol=1e-12)
    np.testing.assert_allclose(second["w,w"], hessian["w"], rtol=1e-12)


def test_the_third_derivative_is_the_slope_of_the_hessian():
    (found,) = derived(NETWORK, AT_NETWORK, {"derivative": {"of": "loss", "by": ["v", "v", "w"]}})
    slopes = np.empty((2, 2, 3, 2))
    for place in np.ndindex(3, 2):
        ends = []
        for step in (1e-5, -1e-5):
            moved = ARRAYS["w"].copy()
            moved[place] += step
            at = {**AT_NETWORK, "parameters": {**AT_NETWORK["parameters"], "w": moved.tolist()}}
            ends.append(derived(NETWORK, at, {"hessian": {"by": "v"}})[0]["v"])
        slopes[(..., *place)] = (ends[0] - ends[1]) / 2e-5
    np.testing.assert_allclose(found["v,v,w"], slopes, rtol=1e-6, atol=1e-9)


MATRICES = {
    "inputs": {"x": {"shape": [2, 2], "dtype": "float64"}},
    "parameters": {"w": {"shape": [2, 2], "dtype": "float64"}},
    "program": "loss = mean(tanh(x @ w) ** 2) + 0.1 * sum(exp(w))\ng = softmax(x @ w)",
}
AT_MATRICES = {"inputs": {"x": [[0.5, -1.0], [1.5, 0.25]]}, "parameters": {"w": [[0.1, -0.2], [0.3, 0.4]]}}
ALONG = [[1.0, -1.0], [0.5, 2.0]]
# By torch.autograd.functional of PyTorch 2.13, in float64.
PYTORCH = {
    "gradient": (
        {"gradient_of": ["loss"]},
        [0.21079311209003085, -0.1512492972497759, 0.2764049396513729, 0.3071871942959196],
    ),
    "hvp": (
        {"hvp": {"of": "loss", "by": {"w": ALONG}}},
        [1.099332629228341, -0.8950446374337272, 0.23229552994892952, 0.5455301347664854],
    ),
    "hessian": (
        {"hessian": {"of": "loss", "by": "w"}},
        [
            *(1.1196266518701734, 0.0, -0.04058804528366525, 0.0, 0.0, 1.0720141451411602, 0.0, 0.08848475385371644),
            *(-0.04058804528366522, 0.0, 0.5457671504651895, 0.0, 0.0, 0.08848475385371643, 0.0, 0.31700744431010086),
        ],
    ),
    "jacobian": (
        {"jacobian": {"of": "g", "by": "w"}},
        [
            *(0.12306704136879917, -0.12306704136879916, -0.24613408273759835, 0.24613408273759832),
            *(-0.12306704136879916, 0.12306704136879919, 0.24613408273759832, -0.24613408273759838),
            *(0.3585634338351559, -0.3585634338351559, 0.05976057230585931, -0.059760572305859315),
            *(-0.3585634338351559, 0.3585634338351559, -0.059760572305859315, 0.05976057230585931),
        ],
    ),
    "jvp": (
        {"jvp": {"of": ["g"], "tangents": {"w": ALONG}}},
        [0.6153352068439959, -0.6153352068439958, 0.6274860092115228, -0.6274860092115229],
    ),
}


@each_row(("want", "expected"), PYTORCH.values(), ids=PYTORCH)
def test_derivatives_are_those_of_pytorch(want, expected):
    document = {**MATRICES, "losses": ["loss"]}
    ((found,),) = (tensors.values() for tensors in derived(document, AT_MATRICES, want))
    np.testing.assert_allclose(found.reshape(-1), expected, rtol=1e-11, atol=1e-14)


WIDE = {"inputs": {"x": ["n"]}, "parameters": {"w": [5000]}, "program": "loss = sum(w ** 2)\ny = x * 2.0\ns = sum(y)"}
TOO_LARGE = {
    "a Hessian": ([1.0], [{"hessian": {"by": "w"}}], "/want/0/hessian", "bytes"),
    "Jacobians together": (
        [1.0] * 1500,
        [{"jacobian": {"of": "y", "by": "x"}}, {"jacobian": {"of": "y", "by": "x"}}],
        "/want/1/jacobian",
        "bytes",
    ),
    "a mode with many products": (
        [1.0] * 5000,
        [{"jacobian": {"of": "s", "by": "x", "mode": "forward"}}],
        "/want/0/jacobian",
        "mode",
    ),
    "a derivative of high order": (
        [1.0],
        [{"derivative": {"of": "s", "by": ["w"] * 3}}],
        "/want/0/derivative",
        "bytes",
    ),
    "many derivatives": ([1.0], [{"gradient_of": ["s"], "by": ["x"]}] * 17, "/want", "16"),
}


@pytest.mark.parametrize(("x", "wants", "pointer", "message"), TOO_LARGE.values(), ids=TOO_LARGE)
def test_what_is_too_large_is_refused_before_anything_is_computed(x, wants, pointer, message, monkeypatch):
    monkeypatch.setattr("engine.diagnostics.evaluation.derive", None)
    with pytest.raises(engine.DocumentError, match=message) as caught:
        derived(WIDE, {"inputs": {"x": x}}, *wants)
    assert [(found.pointer, found.code) for found in caught.value.findings] == [(pointer, "limit_exceeded")]


def test_a_high_order_of_many_nodes_is_refused_untraced(monkeypatch):
    lines = ["a0 = x * 1.0", *(f"a{n + 1} = tanh(a{n})" for n in range(50)), "loss = a50"]
    document = {"inputs": {"x": []}, "program": "\n".join(lines)}
    monkeypatch.setattr("engine.diagnostics.evaluation.derive", None)
    with pytest.raises(engine.DocumentError, match="lower order") as caught:
        derived(document, {"inputs": {"x": 0.5}}, {"derivative": {"by": ["x"] * 6}})
    assert caught.value.findings[0].pointer == "/want/0/derivative"


def test_too_many_operations_are_refused(monkeypatch):
    monkeypatch.setattr(bounds, "OPERATIONS", 10_000)
    with pytest.raises(engine.DocumentError, match="operations") as caught:
        derived(CUBES, AT_CUBES, {"hessian": {"by": "x"}})
    assert caught.value.findings[0].pointer == "/want"
