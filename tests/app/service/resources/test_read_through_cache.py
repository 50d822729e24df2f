import threading

import pytest

from app.domain.access import acting_for
from app.service.resources.read_through_cache import ReadThroughCache
from tests.support.patience import PATIENCE


class Source:
    """A value that changes, and how often it was read."""

    def __init__(self) -> None:
        self.value = 1
        self.reads = 0

    def read(self, _key: str) -> int:
        self.reads += 1
        return self.value


def test_what_is_known_is_not_read_again_until_it_changes() -> None:
    source, recent = Source(), ReadThroughCache[int](10)
    assert recent.get("a") is None
    assert [recent.read("a", source.read) for _ in range(3)] == [1, 1, 1]
    assert (recent.get("a"), source.reads) == (1, 1)
    source.value = 2
    recent.invalidate("a")
    assert recent.get("a") is None
    assert (recent.read("a", source.read), source.reads) == (2, 2)


def test_what_was_read_before_a_change_and_comes_after_it_is_not_kept() -> None:
    source, recent = Source(), ReadThroughCache[int](10)
    reading, changed = threading.Event(), threading.Event()

    def slowly(key: str) -> int:
        value = source.read(key)
        reading.set()
        assert changed.wait(PATIENCE)
        return value

    thread = threading.Thread(target=recent.read, args=("a", slowly))
    thread.start()
    assert reading.wait(PATIENCE)
    source.value = 2
    recent.invalidate("a")
    changed.set()
    thread.join()
    assert recent.get("a") is None
    assert recent.read("a", source.read) == 2


def test_a_slow_reading_does_not_outlive_one_that_began_after_the_change() -> None:
    source, recent = Source(), ReadThroughCache[int](10)

    def overtaken(key: str) -> int:
        value = source.read(key)
        source.value = 2
        recent.invalidate("a")
        assert recent.read("a", source.read) == 2
        return value

    assert recent.read("a", overtaken) == 1
    assert recent.get("a") == 2


def test_only_so_many_are_kept_and_those_that_were_asked_for_last() -> None:
    recent = ReadThroughCache[str](2)
    for key in ("a", "b"):
        recent.read(key, str.upper)
    recent.get("a")
    recent.read("c", str.upper)
    assert [recent.get(key) for key in ("a", "b", "c")] == ["A", None, "C"]


def test_what_is_not_worth_keeping_and_what_fails_leaves_nothing() -> None:
    recent = ReadThroughCache[str](2, lambda value: len(value) < 3)
    assert recent.read("large", lambda key: key) == "large"
    assert recent.get("large") is None

    def fail(key: str) -> str:
        raise KeyError(key)

    with pytest.raises(KeyError):
        recent.read("a", fail)
    assert recent.get("a") is None
    assert recent.read("a", str.upper) == "A"


def test_readers_and_changes_in_many_threads_never_leave_an_old_value() -> None:
    source, recent = Source(), ReadThroughCache[int](4)
    lock = threading.Lock()

    def read(_key: str) -> int:
        with lock:
            return source.value

    def ask() -> None:
        for _ in range(2000):
            recent.read("a", read)

    threads = [threading.Thread(target=ask) for _ in range(3)]
    for thread in threads:
        thread.start()
    for value in range(2, 500):
        with lock:
            source.value = value
        recent.invalidate("a")
        assert recent.read("a", read) == value
    for thread in threads:
        thread.join()


def test_what_is_used_is_read_again_when_it_changes() -> None:
    source, recent = Source(), ReadThroughCache[int](10)
    recent.renew("a", source.read)
    with acting_for("other"):
        recent.read("a", source.read)
        recent.renew("a", source.read)
        assert (recent.get("a"), source.reads) == (None, 1), "nobody had asked again"
        recent.read("a", source.read)
        assert recent.get("a") == 1
    source.value = 2
    recent.renew("a", source.read)
    assert (recent.get("a"), source.reads) == (None, 3), "it is the other tenant's"
    with acting_for("other"):
        assert (recent.get("a"), source.reads) == (2, 3)


def test_what_cannot_be_read_again_is_not_kept() -> None:
    recent = ReadThroughCache[str](2)

    def fail(key: str) -> str:
        raise OSError(key)

    with acting_for("some"):
        recent.read("a", str.upper)
        assert recent.get("a") == "A"
        recent.renew("a", fail)
        assert recent.get("a") is None
