"""Threads that work for all fits of a process."""

import threading

from engine.execution.native.thread_pool import ThreadPool
from tests.support.patience import PATIENCE


def test_no_more_threads_work_than_there_are_cores():
    thread_pool = ThreadPool(3)
    with thread_pool.members(8) as first:
        assert len(first) == 2
        with thread_pool.members(2) as second:
            assert second == []
    with thread_pool.members(2) as again:
        assert len(again) == 1


def test_a_member_runs_what_it_is_given_and_comes_back():
    thread_pool = ThreadPool(2)
    reported: list[int] = []
    done = threading.Semaphore(0)
    for turn in range(3):
        with thread_pool.members(2) as (jobs,):
            jobs.put(lambda turn=turn: (reported.append(turn), done.release()))
            assert done.acquire(timeout=PATIENCE)
    assert reported == [0, 1, 2]


def test_two_that_ask_at_once_share_the_cores():
    thread_pool = ThreadPool(2)
    with thread_pool.members(2) as first, thread_pool.members(2) as second:
        assert (len(first), len(second)) == (1, 0)
