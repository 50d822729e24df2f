from app.service.resources.memory import MemoryPool


def test_fits_get_what_they_need_as_long_as_there_is_so_much() -> None:
    room = MemoryPool(100)
    assert room.reserve_fit("fit_1", 60)
    assert not room.reserve_fit("fit_2", 60)
    assert room.has_waiting_fit
    assert room.reserve_fit("fit_3", 40)
    assert not room.has_waiting_fit
    assert room.reserved == 100
    room.release_fit("fit_1")
    assert room.reserve_fit("fit_2", 60)


def test_a_fit_of_which_nothing_is_known_runs_alone() -> None:
    room = MemoryPool(100)
    assert room.reserve_session("sess_1", 1)
    assert not room.reserve_fit("fit_1", None)
    room.release_session("sess_1")
    assert room.reserve_fit("fit_1", None)
    assert not room.reserve_fit("fit_2", 1)
    assert not room.reserve_session("sess_1", 1)


def test_where_memory_is_not_limited_there_is_space_for_all() -> None:
    room = MemoryPool()
    assert room.reserve_fit("fit_1", None)
    assert room.reserve_fit("fit_2", 10**18)
    assert room.reserve_session("sess_1", 10**18)
    assert room.could_fit(10**18)
    assert room.budget is None


def test_what_a_fit_waits_for_no_session_gets() -> None:
    room = MemoryPool(100)
    assert room.reserve_fit("fit_1", 50)
    assert room.reserve_session("sess_1", 10)
    assert not room.reserve_fit("fit_2", 80)
    assert room.reserve_session("sess_2", 10)
    assert not room.reserve_session("sess_3", 10)
    assert room.could_fit(20)
    assert not room.could_fit(21)
    room.clear_waiting_fit()
    assert room.reserve_session("sess_3", 10)


def test_a_process_that_is_started_again_keeps_its_space() -> None:
    room = MemoryPool(100)
    assert room.reserve_session("sess_1", 60)
    assert not room.reserve_fit("fit_1", 100)
    assert room.reserve_session("sess_1", 60)
    assert room.reserved == 60


def test_a_session_counts_for_what_it_holds_if_that_is_more_than_was_estimated() -> None:
    room = MemoryPool(100)
    assert room.reserve_session("sess_1", 20)
    room.record_usage({"sess_1": 70, "sess_2": 1000})
    assert room.reserved == 70
    assert not room.reserve_fit("fit_1", 40)
    room.record_usage({"sess_1": 5})
    assert room.reserved == 20
    assert room.reserve_fit("fit_1", 40)


def test_the_end_of_a_session_is_reported_and_only_once() -> None:
    reported: list[int] = []
    room = MemoryPool(100)
    room.on_released(lambda: reported.append(room.reserved))
    room.reserve_fit("fit_1", 10)
    room.reserve_session("sess_1", 20)
    for _ in range(2):
        room.release_session("sess_1")
        room.release_fit("fit_1")
    assert reported == [10]
    assert room.reserved == 0


def test_what_an_idle_process_keeps_stands_in_nobodys_way() -> None:
    room, reported = MemoryPool(100), list[str]()
    room.on_overcommitted(lambda: reported.append("give up"))
    assert room.reserve_compute("compute-1", 60)
    assert not room.reserve_session("sess_1", 50)
    assert not room.reserve_compute("compute-2", 50)
    assert room.reserve_compute("compute-1", 90)
    room.mark_compute_idle("compute-1", 60)
    assert (room.reserved, room.committed, reported) == (60, 0, [])
    assert room.reserve_session("sess_1", 50)
    assert reported == ["give up"]
    assert not room.reserve_compute("compute-1", 60)
    room.release_compute("compute-1")
    assert room.reserved == 50


def test_a_fit_that_waits_hears_of_memory_that_a_computation_gives_back() -> None:
    room, reported = MemoryPool(100), list[str]()
    room.on_released(lambda: reported.append("look"))
    assert room.reserve_compute("compute-1", 60)
    assert not room.reserve_fit("fit_1", 80)
    assert not room.reserve_compute("compute-1", 70)
    assert not reported
    room.mark_compute_idle("compute-1", 10)
    assert reported == ["look"]
    assert room.reserve_fit("fit_1", 80)
