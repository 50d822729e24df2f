from app.service.resources.memory import MemoryPool


def test_fits_get_what_they_need_as_long_as_there_is_so_much() -> None:
    memory_pool = MemoryPool(100)
    assert memory_pool.reserve_fit("fit_1", 60)
    assert not memory_pool.reserve_fit("fit_2", 60)
    assert memory_pool.has_waiting_fit
    assert memory_pool.reserve_fit("fit_3", 40)
    assert not memory_pool.has_waiting_fit
    assert memory_pool.reserved == 100
    memory_pool.release_fit("fit_1")
    assert memory_pool.reserve_fit("fit_2", 60)


def test_a_fit_of_which_nothing_is_known_runs_alone() -> None:
    memory_pool = MemoryPool(100)
    assert memory_pool.reserve_session("sess_1", 1)
    assert not memory_pool.reserve_fit("fit_1", None)
    memory_pool.release_session("sess_1")
    assert memory_pool.reserve_fit("fit_1", None)
    assert not memory_pool.reserve_fit("fit_2", 1)
    assert not memory_pool.reserve_session("sess_1", 1)


def test_where_memory_is_not_limited_there_is_space_for_all() -> None:
    memory_pool = MemoryPool()
    assert memory_pool.reserve_fit("fit_1", None)
    assert memory_pool.reserve_fit("fit_2", 10**18)
    assert memory_pool.reserve_session("sess_1", 10**18)
    assert memory_pool.could_fit(10**18)
    assert memory_pool.budget is None


def test_what_a_fit_waits_for_no_session_gets() -> None:
    memory_pool = MemoryPool(100)
    assert memory_pool.reserve_fit("fit_1", 50)
    assert memory_pool.reserve_session("sess_1", 10)
    assert not memory_pool.reserve_fit("fit_2", 80)
    assert memory_pool.reserve_session("sess_2", 10)
    assert not memory_pool.reserve_session("sess_3", 10)
    assert memory_pool.could_fit(20)
    assert not memory_pool.could_fit(21)
    memory_pool.clear_waiting_fit()
    assert memory_pool.reserve_session("sess_3", 10)


def test_a_process_that_is_started_again_keeps_its_space() -> None:
    memory_pool = MemoryPool(100)
    assert memory_pool.reserve_session("sess_1", 60)
    assert not memory_pool.reserve_fit("fit_1", 100)
    assert memory_pool.reserve_session("sess_1", 60)
    assert memory_pool.reserved == 60


def test_a_session_counts_for_what_it_holds_if_that_is_more_than_was_estimated() -> None:
    memory_pool = MemoryPool(100)
    assert memory_pool.reserve_session("sess_1", 20)
    memory_pool.record_usage({"sess_1": 70, "sess_2": 1000})
    assert memory_pool.reserved == 70
    assert not memory_pool.reserve_fit("fit_1", 40)
    memory_pool.record_usage({"sess_1": 5})
    assert memory_pool.reserved == 20
    assert memory_pool.reserve_fit("fit_1", 40)


def test_the_end_of_a_session_is_reported_and_only_once() -> None:
    reported: list[int] = []
    memory_pool = MemoryPool(100)
    memory_pool.on_released(lambda: reported.append(memory_pool.reserved))
    memory_pool.reserve_fit("fit_1", 10)
    memory_pool.reserve_session("sess_1", 20)
    for _ in range(2):
        memory_pool.release_session("sess_1")
        memory_pool.release_fit("fit_1")
    assert reported == [10]
    assert memory_pool.reserved == 0


def test_what_an_idle_process_keeps_stands_in_nobodys_way() -> None:
    memory_pool, reported = MemoryPool(100), list[str]()
    memory_pool.on_overcommitted(lambda: reported.append("give up"))
    assert memory_pool.reserve_compute("compute-1", 60)
    assert not memory_pool.reserve_session("sess_1", 50)
    assert not memory_pool.reserve_compute("compute-2", 50)
    assert memory_pool.reserve_compute("compute-1", 90)
    memory_pool.mark_compute_idle("compute-1", 60)
    assert (memory_pool.reserved, memory_pool.committed, reported) == (60, 0, [])
    assert memory_pool.reserve_session("sess_1", 50)
    assert reported == ["give up"]
    assert not memory_pool.reserve_compute("compute-1", 60)
    memory_pool.release_compute("compute-1")
    assert memory_pool.reserved == 50


def test_a_fit_that_waits_hears_of_memory_that_a_computation_gives_back() -> None:
    memory_pool, reported = MemoryPool(100), list[str]()
    memory_pool.on_released(lambda: reported.append("look"))
    assert memory_pool.reserve_compute("compute-1", 60)
    assert not memory_pool.reserve_fit("fit_1", 80)
    assert not memory_pool.reserve_compute("compute-1", 70)
    assert not reported
    memory_pool.mark_compute_idle("compute-1", 10)
    assert reported == ["look"]
    assert memory_pool.reserve_fit("fit_1", 80)
