"""Numbers in JSON take the dtype of the tensor they are for, on every route that takes tensors."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import httpx
import pytest

from tests.app.api.conftest import created, refused
from tests.support.contract import contract

DOCUMENT = contract()
TENSOR = DOCUMENT["components"]["schemas"]["TensorInput"]["description"]
STATES_ITS_OWN_DTYPE = {
    "create_graph", "validate_graph", "create_session", "create_fit", "create_dataset", "append_to_dataset",
    "replay_fit", "evaluate_checkpoint",
}  # fmt: skip
"""Operations whose tensors are constants and columns: their dtype is stated beside them, or inferred."""

FLOATS = [0.1, 1e300, 16777217.0]
INTEGERS = [2**53 + 1, -(2**63), 7]
WIDE = {
    "inputs": {"x": {"shape": ["batch"], "dtype": "float64"}, "k": {"shape": ["batch"], "dtype": "int64"}},
    "parameters": {"w": {"shape": [], "dtype": "float64", "init": "ones"}},
    "program": "pred = x * w\nkept = k * 1\nloss = mean(pred)",
    "outputs": ["pred", "kept"],
}
FORMS: list[Callable[[list[Any]], Any]] = [
    lambda numbers: numbers,
    lambda numbers: {"data": numbers},
    lambda numbers: {"data": numbers, "shape": [len(numbers)], "nonfinite": {}},
]


@dataclass
class GraphHarness:
    """A graph of float64 and int64 inputs, and what can be made of it."""

    http: httpx.Client
    paths: dict[str, str] = field(default_factory=dict)

    def post(self, path: str, **body: Any) -> dict[str, Any]:
        answer = self.http.post(path, json=body)
        assert answer.status_code in (200, 201), answer.text
        document: dict[str, Any] = answer.json()
        return document

    def get(self, path: str) -> dict[str, Any]:
        document: dict[str, Any] = self.http.get(path).json()
        return document

    def graph(self, verb: str, **body: Any) -> dict[str, Any]:
        return self.post(f"{self.paths['graph']}:{verb}", **body)

    def training(self, verb: str, **body: Any) -> dict[str, Any]:
        return self.post(f"{self.paths['training']}:{verb}", **body)

    def static(self, verb: str, **body: Any) -> dict[str, Any]:
        return self.post(f"{self.paths['static']}:{verb}", **body)

    def static_data(self, name: str) -> Any:
        return self.get(f"{self.paths['static']}/graph/tensors/{name}")["data"]


@pytest.fixture(scope="module")
def harness(http: httpx.Client) -> Iterator[GraphHarness]:
    """Begin sessions of both kinds, and store a checkpoint."""
    graph = created(http.post("/v1/graphs", json=WIDE))["id"]
    training = created(http.post("/v1/sessions", json={"graph": graph, "optimizer": "sgd"}))["id"]
    asked = {"graph": graph, "kind": "static", "dims": {"batch": 3}}
    static = created(http.post("/v1/sessions", json=asked))["id"]
    built = GraphHarness(
        http,
        {"graph": f"/v1/graphs/{graph}", "training": f"/v1/sessions/{training}", "static": f"/v1/sessions/{static}"},
    )
    built.paths["checkpoint"] = f"/v1/checkpoints/{built.training('save')['id']}"
    built.static("build_forward_expand", outputs=["pred", "kept", "loss"])
    built.static("graph_dup", name="spare", force_grads=True)
    built.static("set_loss", names=["loss"])
    yield built
    for kind in ("training", "static"):
        http.delete(built.paths[kind])


Numbers = tuple[Any, Any]
"""What came back of the float64 and of the int64 tensor; None of one that the route does not take or return."""


def outputs(answer: dict[str, Any]) -> Numbers:
    return answer["outputs"]["pred"]["data"], answer["outputs"]["kept"]["data"]


def computed(harness: GraphHarness, x: Any, k: Any) -> Numbers:
    want = ["outputs", {"jvp": {"of": ["pred"], "tangents": {"x": x}}}]
    answer = harness.graph("compute", inputs={"x": x, "k": k}, want=want)
    assert answer["derivatives"][0]["tensors"]["pred"]["data"] == FLOATS
    return outputs(answer)


def set_parameters(harness: GraphHarness, x: Any, _: Any) -> Numbers:
    found = []
    for number in x["data"] if isinstance(x, dict) else x:
        harness.training("set", parameters={"w": {"data": number} if isinstance(x, dict) else number})
        found += harness.get(f"{harness.paths['training']}/parameters/w")["data"]
    harness.training("set", parameters={"w": 1.0})
    return found, None


def replaced(kind: str) -> Callable[[GraphHarness, Any, Any], Numbers]:
    def replace(harness: GraphHarness, x: Any, _: Any) -> Numbers:
        found, path = [], f"{harness.paths['training']}/{kind}s/w"
        for number in x["data"] if isinstance(x, dict) else x:
            answer = harness.http.put(path, json={"data": number} if isinstance(x, dict) else number)
            assert answer.status_code == 200, answer.text
            found += harness.get(path)["data"]
        harness.http.put(path, json=1.0)
        return found, None

    return replace


def pulled_back(harness: GraphHarness, x: Any, k: Any) -> Numbers:
    found = []
    for place, number in enumerate(FLOATS):
        harness.training("zero_grad", set_to_none=True)
        ones = [float(place == other) for other in range(len(FLOATS))]
        tape = harness.training("forward", inputs={"x": ones, "k": k}, keep=True)["tape_id"]
        harness.training("backward", tape_id=tape, cotangents={"pred": x})
        found += harness.get(f"{harness.paths['training']}/gradients/w")["data"]
        assert found[-1] == number
    harness.training("zero_grad", set_to_none=True)
    return found, None


def batched(harness: GraphHarness, x: Any, k: Any) -> Numbers:
    steps = [{"verb": "predict", "inputs": {"x": x, "k": k}}]
    return outputs(harness.training("batch", steps=steps)["data"][0]["answer"])


def tensors_set(harness: GraphHarness, x: Any, k: Any) -> Numbers:
    harness.static("tensor_set", tensors={"x": x, "k": k})
    whole = harness.static_data("x"), harness.static_data("k")
    harness.static("tensor_set", tensors={"x": 0, "k": 0})
    given = (("x", FLOATS), ("k", INTEGERS))
    elements = [{"tensor": n, "index": i, "value": v} for n, values in given for i, v in enumerate(values)]
    harness.static("tensor_set", elements=elements)
    assert (harness.static_data("x"), harness.static_data("k")) == (FLOATS, INTEGERS)
    return whole


def graph_computed(harness: GraphHarness, x: Any, k: Any) -> Numbers:
    result = harness.static("graph_compute", inputs={"x": x, "k": k}, fetch=["pred", "kept"])["tensors"]
    return result["pred"]["data"], result["kept"]["data"]


def differentiated(harness: GraphHarness, x: Any, _: Any) -> Numbers:
    harness.static("graph_dup", name="differentiated", graph="spare", force_grads=True)
    harness.static("set_loss", names=["loss"], graph="differentiated")
    harness.static("build_backward_expand", graph="differentiated", accumulators={"pred": x})
    path = f"{harness.paths['static']}/graph/gradients/pred?graph=differentiated&accumulator=true"
    return harness.get(path)["gradient"]["data"], None


def asked(call: Callable[[GraphHarness, Any, Any], object]) -> Callable[[GraphHarness, Any, Any], Numbers]:
    """Make a case of a route that takes tensors and does not show them: 1e300 is in reach of no float32."""

    def ask(harness: GraphHarness, x: Any, k: Any) -> Numbers:
        call(harness, x, k)
        return None, None

    return ask


CASES: dict[str, Callable[[GraphHarness, Any, Any], Numbers]] = {
    "compute_graph": computed,
    "check_graph_gradients": asked(lambda s, x, k: s.graph("gradcheck", inputs={"x": x, "k": k})),
    "profile_graph": asked(lambda s, x, k: s.graph("profile", inputs={"x": x, "k": k})),
    "compute_graph_row_losses": lambda s, x, k: (s.graph("row_losses", inputs={"x": x, "k": k})["losses"], None),
    "trace_graph_nonfinite": asked(lambda s, x, k: s.graph("trace_nonfinite", inputs={"x": x, "k": k})),
    "predict_with_checkpoint": lambda s, x, k: outputs(
        s.post(f"{s.paths['checkpoint']}:predict", inputs={"x": x, "k": k})
    ),
    "run_forward": lambda s, x, k: outputs(s.training("forward", inputs={"x": x, "k": k})),
    "run_forward_backward": lambda s, x, k: outputs(
        s.training("forward_backward", inputs={"x": x, "k": k}, outputs=True)
    ),
    "predict_with_session": lambda s, x, k: outputs(s.training("predict", inputs={"x": x, "k": k})),
    "run_backward": pulled_back,
    "run_batch": batched,
    "set_parameters": set_parameters,
    "replace_session_parameter": replaced("parameter"),
    "replace_session_gradient": replaced("gradient"),
    "compute_session_row_losses": lambda s, x, k: (s.training("row_losses", inputs={"x": x, "k": k})["losses"], None),
    "trace_session_nonfinite": asked(lambda s, x, k: s.training("trace_nonfinite", inputs={"x": x, "k": k})),
    "profile_session": asked(lambda s, x, k: s.training("profile", inputs={"x": x, "k": k})),
    "set_session_tensors": tensors_set,
    "compute_session_graph": graph_computed,
    "differentiate_session_graph": differentiated,
}


def takes_tensors(node: Any, seen: frozenset[str] = frozenset()) -> bool:
    """Tell whether a schema holds a tensor somewhere."""
    if isinstance(node, list):
        return any(takes_tensors(child, seen) for child in node)
    if not isinstance(node, dict):
        return False
    name = str(node.get("$ref", "")).rpartition("/")[2]
    if name:
        return name not in seen and takes_tensors(DOCUMENT["components"]["schemas"].get(name), seen | {name})
    return node.get("description") == TENSOR or any(takes_tensors(child, seen) for child in node.values())


def test_every_operation_that_takes_tensors_is_asked() -> None:
    operations = [operation for path in DOCUMENT["paths"].values() for operation in path.values()]
    found = {each["operationId"] for each in operations if takes_tensors(each.get("requestBody"))}
    # The steps of a batch are described as objects, each of which its verb reads.
    assert found - STATES_ITS_OWN_DTYPE | {"run_batch"} == CASES.keys()


@pytest.mark.parametrize("form", FORMS, ids=["list", "object", "as answered"])
@pytest.mark.parametrize("operation", CASES)
def test_numbers_take_the_dtype_of_their_tensor(
    harness: GraphHarness, operation: str, form: Callable[[Any], Any]
) -> None:
    x, k = CASES[operation](harness, form(FLOATS), form(INTEGERS))
    assert x in (None, FLOATS)
    assert k in (None, INTEGERS)


@pytest.mark.parametrize("operation", CASES)
def test_an_integer_beside_a_float_keeps_its_digits(harness: GraphHarness, operation: str) -> None:
    _, k = CASES[operation](harness, FLOATS, [2**53 + 1, -(2**63), 7.0])
    assert k in (None, INTEGERS)


NOT_FINITE = {"dtype": "float64", "shape": [3], "data": [None, 1.0, None], "nonfinite": {"0": "nan", "2": "-inf"}}


def test_what_a_session_answers_can_be_sent_back(harness: GraphHarness) -> None:
    inputs = {"x": NOT_FINITE, "k": INTEGERS}
    for _ in range(2):
        result = harness.training("forward", inputs=inputs)["outputs"]
        assert result["pred"] == NOT_FINITE
        inputs = {"x": result["pred"], "k": result["kept"]}
    for name, tensor in inputs.items():
        harness.static("tensor_set", tensors={name: tensor})
        assert harness.get(f"{harness.paths['static']}/graph/tensors/{name}") == tensor
    result = harness.static("graph_compute", inputs=inputs, fetch=["pred", "kept"])["tensors"]
    assert (result["pred"], result["kept"]) == (NOT_FINITE, inputs["k"])
    assert harness.post(f"{harness.paths['checkpoint']}:predict", inputs=inputs)["outputs"]["pred"] == NOT_FINITE


@pytest.mark.parametrize(
    ("tensor", "pointer", "code"),
    [
        ([0.1, None], "/inputs/x", "tensor_invalid"),
        ({"data": [0.1, None], "nonfinite": {"0": "nan"}}, "/inputs/x/nonfinite/0", "tensor_invalid"),
        ({"data": [0.1, None], "nonfinite": {"1": "NaN"}}, "/inputs/x/nonfinite/1", "attribute_invalid"),
        ({"values": [0.1]}, "/inputs/x/values", "unknown_field"),
        ({"data": [0.1, [0.2]]}, "/inputs/x", "tensor_invalid"),
    ],
)
def test_what_is_no_tensor_is_refused_on_every_route_alike(
    harness: GraphHarness, tensor: Any, pointer: str, code: str
) -> None:
    body = {"inputs": {"x": tensor, "k": [1, 2]}}
    verbs = [(harness.paths["graph"], "compute"), (harness.paths["checkpoint"], "predict")]
    verbs += [(harness.paths["training"], "forward_backward"), (harness.paths["static"], "graph_compute")]
    for path, verb in verbs:
        assert (pointer, code) in refused(harness.http.post(f"{path}:{verb}", json=body)), verb
