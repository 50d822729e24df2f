"""Static sessions by the Python client: their own verbs, numbers that keep their dtype, and no verb of training."""

import math
from typing import Any

import numpy as np
import pytest

from adjoint_client import AsyncStaticSession, Client, Session, StaticSession

PARABOLA: dict[str, Any] = {
    "inputs": {"a": {"shape": [1], "dtype": "float64"}, "b": {"shape": [1], "dtype": "float64"}},
    "parameters": {"x": {"shape": [1], "dtype": "float64"}},
    "program": "f = a * x ** 2 + b",
    "outputs": ["f"],
}


def test_the_example_of_the_header_gives_12(client: Client) -> None:
    with client.static_session(PARABOLA) as session:
        session.build_forward_expand(["f"])
        assert session.build_backward_expand([None])["losses"] == ["f"]
        session.tensor_set(x=[2.0], a=[3.0], b=[4.0])
        session.graph_reset()
        done = session.graph_compute(fetch=["f"], gradients=["x", "a"])
        assert (done.status, done.losses) == ("SUCCESS", {"f": 16.0})
        assert (done.tensors["f"], done.gradients["x"], done.gradients["a"]) == (16.0, 12.0, None)
        assert session.gradient("x", accumulator=True) == session.gradient("x") == 12.0
        assert session.graph()["n_nodes"] == len(session.graph_nodes(leafs=False))
        session.graph_dup("copy")
        assert session.graph("copy")["graph"] == "copy"
        session.threadpool_new(n_threads=2)
        assert session.threadpool_params_match(n_threads=2)
        assert not session.threadpool_params_match(n_threads=1)
        session.graph_compute({"a": 0.1})
        assert session.tensor("a").tolist() == [0.1]


def test_numbers_that_are_not_finite_go_and_come(client: Client) -> None:
    with client.static_session(PARABOLA) as session:
        session.build_forward_expand(["f"])
        for number in (math.nan, math.inf, -math.inf):
            done = session.graph_compute(x=[1.0], a=[number], b=[0.0], fetch=["f"])
            np.testing.assert_equal(done.tensors["f"], np.array([number]))
            np.testing.assert_equal(session.tensor("a"), np.array([number]))


def test_each_kind_of_session_has_its_own_verbs(client: Client) -> None:
    for verb in ("forward_backward", "optim_step", "predict", "pipeline"):
        assert not hasattr(StaticSession, verb)
        assert not hasattr(AsyncStaticSession, verb)
    assert not hasattr(Session, "graph_compute")
    with pytest.raises(TypeError, match="open it by static_session"):
        client.session(PARABOLA, kind="static")
    with client.static_session(PARABOLA) as session:
        with pytest.raises(TypeError, match="open it by open_static_session"):
            client.open_session(session.id)
        with client.open_static_session(session.id) as again:
            again.build_forward_expand(["f"])
        assert session.refresh().next_seq == 2
    with client.session(PARABOLA) as training, pytest.raises(TypeError, match="open it by open_session"):
        client.open_static_session(training.id)
