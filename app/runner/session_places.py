"""Which sessions have a process: so many at a time, as far as the memory goes. For the event loop."""

from collections import deque
from collections.abc import Callable, Mapping

from app.domain.errors import SessionsFull
from app.runner.session_post import Post
from app.service.resources.room import Room

_NO_MEMORY = (
    "the process of the session needs about {} bytes of memory, which fits and other sessions have, or wait for; send "
    "the step again later, or cancel a fit"
)


class SessionPlaces:
    """The places for processes, and the sessions that wait for one, in turn."""

    def __init__(
        self,
        posts: Mapping[str, Post],
        most: int,
        room: Room,
        start: Callable[[Post], None],
        stop: Callable[[Post], None],
    ) -> None:
        """Let `most` of the `posts` have a process, by calling `start`; `stop` has one put everything aside and go."""
        self._posts = posts
        self._most = most
        self._room = room
        self._start = start
        self._stop = stop
        self._queue: deque[Post] = deque()

    def ask(self, post: Post) -> None:
        """Have a process started as soon as there is a place; SessionsFull if there will be none."""
        self._make_way_among_all()
        post.move("queued")
        self._queue.append(post)
        self._fill()

    def leave(self, post: Post, *, returns: bool) -> None:
        """Give up the place of a process that is gone; if it `returns`, the session has the place again."""
        post.move(None)
        if returns:
            post.move("queued")
            self._queue.appendleft(post)
        else:
            self._room.leave_session(post.session_id)
        self._fill()

    def _make_way_among_all(self) -> None:
        """See that there will be a place for one more: the process that has been idle for longest is to go."""
        if self._count("queued", "starting", "ready") >= self._most and not self._has_idle_one_go():
            raise SessionsFull(
                f"all {self._most} processes of sessions are at work; wait until one is idle, or close a session"
            )

    def _fill(self) -> None:
        """Start processes for those that wait, as far as there are places."""
        running = self._count("starting", "ready", "stopping")
        while self._queue and running < self._most:
            post = self._queue[0]
            if post.state == "queued":
                if self._room.take_for_session(post.session_id, post.memory_bytes):
                    post.move("starting")
                    running += 1
                    self._start(post)
                elif self._room.would_be_enough(post.memory_bytes) and self._memory_comes():
                    return
                else:
                    post.move(None)
                    post.refuse(SessionsFull(_NO_MEMORY.format(post.memory_bytes), code="memory_full"))
            self._queue.popleft()

    def _memory_comes(self) -> bool:
        """Whether a process is about to leave its memory to another."""
        return self._count("stopping") > 0 or self._has_idle_one_go()

    def _has_idle_one_go(self) -> bool:
        idle = [post for post in self._posts.values() if post.state == "ready" and not (post.flying or post.wanted)]
        if idle:
            self._stop(min(idle, key=lambda post: post.progress_at))
        return bool(idle)

    def _count(self, *states: str) -> int:
        return sum(post.state in states for post in self._posts.values())
