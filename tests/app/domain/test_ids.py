import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from app.domain.ids import CROCKFORD, IdSource, is_id, new_id


def test_an_id_is_a_prefix_and_26_crockford_characters() -> None:
    prefix, _, body = new_id("fit").partition("_")
    assert prefix == "fit"
    assert len(body) == 26
    assert set(body) <= set(CROCKFORD)


def test_ids_of_one_process_increase() -> None:
    ids = [new_id("fit") for _ in range(5000)]
    assert ids == sorted(ids)
    assert len(set(ids)) == len(ids)


def test_ids_increase_although_the_clock_is_set_back() -> None:
    clock = iter([1000, 1000, 999, 0, 1001])
    source = IdSource(lambda: next(clock))
    ids = [source.new("fit") for _ in range(5)]
    assert ids == sorted(ids)
    assert len(set(ids)) == 5


def test_ids_of_many_threads_differ() -> None:
    with ThreadPoolExecutor(8) as pool:
        ids = [*pool.map(new_id, ["ds"] * 4000)]
    assert len(set(ids)) == len(ids)


def test_sources_that_share_a_last_id_go_on_differently() -> None:
    first, second = IdSource(lambda: 1), IdSource(lambda: 1)
    second._last = first._last = 1 << 81
    assert first.new("fit") != second.new("fit")


def test_an_id_shows_when_it_was_made() -> None:
    earlier = IdSource(lambda: time.time_ns() // 1_000_000).new("fit")
    later = IdSource(lambda: time.time_ns() // 1_000_000 + 1000).new("fit")
    assert earlier < later


@pytest.mark.parametrize("prefix", ["graph", "ds", "fit", "ckpt", "sess"])
def test_is_id_knows_what_new_id_makes(prefix: str) -> None:
    assert is_id(prefix, new_id(prefix))


@pytest.mark.parametrize(
    "text",
    [
        "",
        "fit",
        "fit_",
        "fit_0123",
        "ds_01jd0000000000000000000000",
        "fit_01jd000000000000000000000",
        "fit_01jd00000000000000000000000",
        "fit_01JD0000000000000000000000",
        "fit_81jd0000000000000000000000",
        "fit_01jd000000000000000000000u",
        "fit_01jd000000000000000000000\n",
        "fit_01jd0000000000000000000000\n",
        "fit_../../../../../../etc/passwd",
        "fit_\u06601jd0000000000000000000000",
    ],
)
def test_is_id_refuses_everything_else(text: str) -> None:
    assert not is_id("fit", text)
