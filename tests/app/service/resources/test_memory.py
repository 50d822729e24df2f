from app.service.resources.memory import Room


def test_fits_get_what_they_need_as_long_as_there_is_so_much() -> None:
    room = Room(100)
    assert room.take_for_fit("fit_1", 60)
    assert not room.take_for_fit("fit_2", 60)
    assert room.fit_waits
    assert room.take_for_fit("fit_3", 40)
    assert not room.fit_waits
    assert room.taken == 100
    room.leave_fit("fit_1")
    assert room.take_for_fit("fit_2", 60)


def test_a_fit_of_which_nothing_is_known_runs_alone() -> None:
    room = Room(100)
    assert room.take_for_session("sess_1", 1)
    assert not room.take_for_fit("fit_1", None)
    room.leave_session("sess_1")
    assert room.take_for_fit("fit_1", None)
    assert not room.take_for_fit("fit_2", 1)
    assert not room.take_for_session("sess_1", 1)


def test_where_memory_is_not_limited_there_is_room_for_all() -> None:
    room = Room()
    assert room.take_for_fit("fit_1", None)
    assert room.take_for_fit("fit_2", 10**18)
    assert room.take_for_session("sess_1", 10**18)
    assert room.would_be_enough(10**18)
    assert room.budget is None


def test_what_a_fit_waits_for_no_session_gets() -> None:
    room = Room(100)
    assert room.take_for_fit("fit_1", 50)
    assert room.take_for_session("sess_1", 10)
    assert not room.take_for_fit("fit_2", 80)
    assert room.take_for_session("sess_2", 10)
    assert not room.take_for_session("sess_3", 10)
    assert room.would_be_enough(20)
    assert not room.would_be_enough(21)
    room.nothing_awaited()
    assert room.take_for_session("sess_3", 10)


def test_a_process_that_is_started_again_keeps_its_room() -> None:
    room = Room(100)
    assert room.take_for_session("sess_1", 60)
    assert not room.take_for_fit("fit_1", 100)
    assert room.take_for_session("sess_1", 60)
    assert room.taken == 60


def test_a_session_counts_for_what_it_holds_if_that_is_more_than_was_estimated() -> None:
    room = Room(100)
    assert room.take_for_session("sess_1", 20)
    room.measure({"sess_1": 70, "sess_2": 1000})
    assert room.taken == 70
    assert not room.take_for_fit("fit_1", 40)
    room.measure({"sess_1": 5})
    assert room.taken == 20
    assert room.take_for_fit("fit_1", 40)


def test_the_end_of_a_session_is_told_and_only_once() -> None:
    told: list[int] = []
    room = Room(100)
    room.on_session_gone(lambda: told.append(room.taken))
    room.take_for_fit("fit_1", 10)
    room.take_for_session("sess_1", 20)
    for _ in range(2):
        room.leave_session("sess_1")
        room.leave_fit("fit_1")
    assert told == [10]
    assert room.taken == 0


def test_what_an_idle_process_keeps_stands_in_nobodys_way() -> None:
    room, told = Room(100), list[str]()
    room.on_overdrawn(lambda: told.append("give up"))
    assert room.take_for_computing("compute-1", 60)
    assert not room.take_for_session("sess_1", 50)
    assert not room.take_for_computing("compute-2", 50)
    assert room.take_for_computing("compute-1", 90)
    room.rest_computing("compute-1", 60)
    assert (room.taken, room.kept, told) == (60, 0, [])
    assert room.take_for_session("sess_1", 50)
    assert told == ["give up"]
    assert not room.take_for_computing("compute-1", 60)
    room.leave_computing("compute-1")
    assert room.taken == 50


def test_a_fit_that_waits_hears_of_memory_that_a_computation_gives_back() -> None:
    room, told = Room(100), list[str]()
    room.on_session_gone(lambda: told.append("look"))
    assert room.take_for_computing("compute-1", 60)
    assert not room.take_for_fit("fit_1", 80)
    assert not room.take_for_computing("compute-1", 70)
    assert not told
    room.rest_computing("compute-1", 10)
    assert told == ["look"]
    assert room.take_for_fit("fit_1", 80)
