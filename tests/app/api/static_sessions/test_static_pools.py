"""ggml's thread pools over HTTP, row by row: C21 to C27."""

import os
from typing import Any

import httpx
import pytest

from .stage import Begin, created


@pytest.mark.parametrize(
    ("params", "pointer"),
    [
        ({"poll": 101}, "/threadpool/poll"),
        ({"n_threads": 513}, "/threadpool/n_threads"),
        ({"threads": 2}, "/threadpool/threads"),
        ({"cpumask": [600]}, "/threadpool"),
        ({"prio": "highest"}, "/threadpool/prio"),
    ],
)
def test_c21_the_fields_of_a_pool_have_bounds(http: httpx.Client, params: Any, pointer: str) -> None:
    refused = created(http, threadpool=params)
    assert refused.status_code == 422
    assert refused.json()["errors"][0]["pointer"].startswith(pointer)


def test_c22_a_pool_has_ggmls_defaults(begin: Begin) -> None:
    result = begin(threadpool={"n_threads": 3}).see("threadpool")
    assert {name: result[name] for name in ("n_threads", "prio", "poll", "strict_cpu", "paused", "cpumask")} == {
        "n_threads": 3,
        "prio": "normal",
        "poll": 50,
        "strict_cpu": False,
        "paused": False,
        "cpumask": [],
    }


def test_c23_a_priority_is_tried_and_the_result_reported(begin: Begin) -> None:
    session = begin()
    result = session.do("threadpool_new", params={"n_threads": 1, "prio": "low"})["threadpool"]
    assert (result["prio"], type(result["prio_applied"])) == ("low", bool)
    assert session.post("threadpool_new", params={"prio": 7}).status_code == 422


def test_c24_threads_are_bound_to_a_cpu_each_or_to_all_of_the_mask(begin: Begin) -> None:
    cpus = sorted(os.sched_getaffinity(0))[:2]
    session = begin(threadpool={"n_threads": len(cpus), "cpumask": cpus, "strict_cpu": True})
    assert session.see("threadpool")["affinity"] == [[cpu] for cpu in cpus]
    session.do("threadpool_new", params={"n_threads": 2, "cpumask": cpus})
    assert session.see("threadpool")["affinity"] == [cpus, cpus]
    session.refused("threadpool_new", 422, "pool_invalid", params={"cpumask": [511]})
    assert session.see("threadpool")["affinity"] == [cpus, cpus]


def test_c25_however_threads_wait_the_results_are_the_same(begin: Begin) -> None:
    session, results = begin().built(), []
    for poll in (0, 100):
        session.do("threadpool_new", params={"n_threads": 2, "poll": poll})
        session.do("graph_reset")
        session.do("graph_compute")
        results.append((session.numbers("f"), session.gradient("x")))
    assert results[0] == results[1] == ([16.0], [12.0])


def test_c26_a_pool_is_made_matched_paused_and_freed(begin: Begin) -> None:
    session = begin().built()
    session.refused("threadpool_pause", 409, "pool_missing")
    assert session.look("threadpool").status_code == 409
    session.do("threadpool_new", params={"n_threads": 2})
    for _ in range(2):
        assert session.do("threadpool_pause")["paused"]
    for params, matches in (({"n_threads": 2, "paused": True}, True), ({"n_threads": 2, "poll": 0}, False)):
        assert session.do("threadpool_params_match", params=params)["matches"] is matches
    assert not session.do("threadpool_resume")["paused"]
    session.do("threadpool_free")
    assert session.do("graph_compute", n_threads=2)["status"] == "SUCCESS"


def test_c27_a_paused_pool_computes_nothing_unless_it_may_be_resumed(begin: Begin) -> None:
    session = begin(threadpool={"n_threads": 2, "paused": True}).built()
    refused = session.refused("graph_compute", 409, "pool_paused", inputs={"x": 9.0})
    assert "resume" in refused["detail"]
    assert session.numbers("x") == [2.0]
    session.do("graph_compute", auto_resume=True)
    assert not session.see("threadpool")["paused"]
