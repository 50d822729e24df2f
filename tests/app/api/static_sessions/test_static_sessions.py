"""Where ggml's documents and its code differ (D1 to D6), and what sessions of kind static have of all sessions."""

import json
from typing import Any

import httpx
import numpy as np
import pytest

from app.ingest.encoding import safetensors_body

from .stage import PARABOLA, X2A3B4, Begin, Static, created, program


def test_d1_without_a_loss_to_be_found_the_advice_is_to_mark_one(begin: Begin) -> None:
    session = begin(program("p = x * 2.0\nq = x * 3.0", {}, {"x": []}, outputs=["p", "q"]))
    session.do("build_forward_expand", outputs=["p", "q"])
    assert "set_loss" in session.refused("build_backward_expand", 422, "no_gradient")["detail"]


def test_d2_accumulators_are_given_by_name_or_one_for_each_node_or_output(begin: Begin) -> None:
    for accumulators, expected in (
        ({"x": 100.0}, 112.0),
        ([None], 12.0),
        ([{"dtype": "float32", "shape": [1], "data": [100]}, None, None, None], 112.0),
        ({"x": 100.0, "f": 0.5}, 106.0),
    ):
        session = begin()
        session.do("build_forward_expand", outputs=["f"])
        session.do("build_backward_expand", accumulators=accumulators)
        session.do("graph_compute", inputs=X2A3B4)
        assert session.gradient("x") == [expected]


def test_d4_a_loss_that_feeds_another_keeps_its_seed(begin: Begin) -> None:
    session = begin(program("p = x * x\nq = p * 3.0", {}, {"x": []}, losses=["p", "q"]))
    session.do("build_forward_expand", outputs=["p", "q"])
    session.do("build_backward_expand")
    for total in (8.0, 16.0):
        session.do("graph_compute", inputs={"x": 1.0})
        assert session.gradient("x") == [total]


def test_d5_moments_are_reset_where_there_are_some(begin: Begin) -> None:
    session = begin().built()
    session.refused("graph_reset", 409, "graph_invalid", momenta=True)
    session.do("opt_step_adamw", pars=[0.1, 0.9, 0.999, 1e-8, 0.0, 10.0, 1000.0])
    session.do("graph_compute")
    assert session.numbers("x") == pytest.approx([1.9])
    assert session.numbers("m for x") == pytest.approx([1.2])
    session.do("graph_reset", momenta=True)
    assert session.numbers("m for x") == [0.0]


def test_steps_survive_a_pause_to_the_bit(begin: Begin) -> None:
    session = begin(mem_size=2**20, threadpool={"n_threads": 2, "poll": 1}).built()
    session.do("graph_dup", name="copy")
    session.do("graph_compute")
    before = {path: session.see(path) for path in ("graph/nodes", "graph/overhead", "threadpool", "graph/tensors/f")}
    for verb in ("pause", "resume"):
        assert session.http.post(f"/v1/sessions/{session.id}:{verb}").status_code == 200
    assert {path: session.see(path) for path in before} == before
    session.do("graph_compute", graph="copy")
    assert session.gradient("x") == [24.0]


def test_a_step_that_comes_again_is_not_carried_out_again(begin: Begin) -> None:
    session = begin().built()
    first = session.do("graph_compute", seq=5)
    assert session.do("graph_compute", seq=5) == first
    assert session.gradient("x") == [12.0]


def test_inputs_come_as_bytes_and_tensors_go_as_bytes(begin: Begin) -> None:
    session = begin().built()
    body = safetensors_body({"x": np.array([5.0], np.float32)})
    answer = session.http.post(
        f"/v1/sessions/{session.id}:graph_compute?abort_after=f",
        content=body,
        headers={"Content-Type": "application/vnd.safetensors"},
    )
    assert answer.status_code == 200, answer.text
    assert session.numbers("f") == [79.0]


def test_steps_go_together_in_a_batch(begin: Begin) -> None:
    session = begin()
    steps = [
        {"verb": "build_forward_expand", "outputs": ["f"]},
        {"verb": "build_backward_expand"},
        {"verb": "graph_compute", "inputs": X2A3B4, "gradients": ["x"]},
    ]
    result = session.do("batch", steps=steps)["data"]
    assert [one["status"] for one in result] == [200, 200, 200]
    assert result[2]["answer"]["gradients"]["x"]["data"] == [12.0]


def test_parameters_are_saved_and_begun_with(http: httpx.Client, begin: Begin) -> None:
    session = begin().built()
    saved = http.post(f"/v1/sessions/{session.id}:save", json={})
    assert saved.status_code == 201, saved.text
    other = begin(checkpoint=saved.json()["id"])
    assert other.numbers("x") == [2.0]
    session.do("tensor_set", tensors={"x": 7.0})
    session.do("load", checkpoint=saved.json()["id"])
    assert session.numbers("x") == [2.0]


def test_parameters_and_gradients_are_listed_as_in_any_session(parabola: Static) -> None:
    lists = [parabola.see(of)["data"] for of in ("parameters", "gradients", "buffers")]
    assert [[(each["name"], each["norm"]) for each in found] for found in lists] == [[("x", 2.0)], [("x", 12.0)], []]
    assert parabola.see("parameters/x")["data"] == [2.0]


WRONG_REQUESTS = [
    ({"optimizer": "adam"}, ""),
    ({"dims": {"batch": 2}}, "/dims/batch"),
    ({"size": 0}, "/size"),
    ({"size": 2**30}, "/size"),
    ({"mem_size": 2**40}, "/mem_size"),
    ({"order": "up"}, "/order"),
    ({"precision": "mixed_float16"}, ""),
    ({"sizes": 3}, "/sizes"),
]


@pytest.mark.parametrize(("options", "pointer"), WRONG_REQUESTS, ids=json.dumps)
def test_a_request_that_does_not_suit_is_pointed_at(http: httpx.Client, options: Any, pointer: str) -> None:
    refused = created(http, **options)
    assert refused.status_code == 422, refused.text
    assert refused.json()["errors"][0]["pointer"] == pointer


def test_extents_that_need_more_memory_than_there_is_are_refused(http: httpx.Client) -> None:
    refused = created(http, program("y = sum(x)", {"x": ["n", "n"]}, {}), dims={"n": 2**30})
    assert refused.status_code in (413, 422)


def test_options_of_one_kind_are_nothing_for_the_other(http: httpx.Client) -> None:
    refused = http.post("/v1/sessions", json={"graph": PARABOLA, "size": 2048})
    assert (refused.status_code, refused.json()["errors"][0]["code"]) == (422, "conflict")


WRONG_STEPS = [
    ("build_forward_expand", {"outputs": ["f", "g"]}, "/outputs/1"),
    ("build_forward_expand", {"outputs": []}, "/outputs"),
    ("build_forward_expand", {"outputs": ["f"], "graph": "gf"}, "/graph"),
    ("tensor_set", {"tensors": {"x": [1, 2]}}, "/tensors/x"),
    ("tensor_set", {"tensors": {"y": 1}}, "/tensors/y"),
    ("tensor_set", {"tensors": {"x": [[1], 2]}}, "/tensors/x"),
    ("tensor_set", {"accumulators": {"y": 1}}, "/accumulators/y"),
    ("tensor_set", {"elements": [{"tensor": "x", "index": -1, "value": 0}]}, "/elements/0/index"),
    ("set_loss", {"names": ["y"]}, "/names/0"),
    ("graph_compute", {"abort_after": "nobody"}, "/abort_after"),
    ("graph_compute", {"fetch": ["f", "nobody"]}, "/fetch/1"),
    ("graph_compute", {"n_threads": 1000}, "/n_threads"),
    ("opt_step_sgd", {"pars": [0.1]}, "/pars"),
    ("threadpool_new", {"params": {"poll": -1}}, "/params/poll"),
    ("new_graph", {"name": ""}, "/name"),
    ("graph_view", {"name": "v", "start": 0, "stop": 99}, ""),
]


def test_a_step_that_does_not_suit_is_pointed_at_and_changes_nothing(begin: Begin) -> None:
    session = begin().built()
    before = [session.see(path) for path in ("graph", "graph/nodes", "graph/overhead", "graph/tensors/x")]
    for verb, options, pointer in WRONG_STEPS:
        answer = session.post(verb, **options)
        assert answer.status_code == 422, (verb, options, answer.text)
        assert answer.json()["errors"][0]["pointer"].startswith(pointer), (verb, options, answer.text)
    assert [session.see(path) for path in ("graph", "graph/nodes", "graph/overhead", "graph/tensors/x")] == before


def test_verbs_of_the_other_kind_are_unknown(begin: Begin) -> None:
    assert begin().post("zero_grad").json()["code"] == "unknown_verb"
