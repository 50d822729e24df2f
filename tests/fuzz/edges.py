"""Which lines follow which while something runs: the coverage that distinguishes a new input from a known one."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

ROOT = Path(__file__).parents[2]
Edge = tuple[int, int, int]


class Edges:
    """Collects the edges (code, line before, line) of the files of some packages, as `sys.settrace` reports them."""

    def __init__(self, *packages: str) -> None:
        """Watch files under these folders of the repository ("app/ingest")."""
        self._prefixes = tuple(str(ROOT / package) for package in packages)
        self._watched: dict[CodeType, bool] = {}
        self._last: dict[FrameType, int] = {}
        self.seen: set[Edge] = set()

    @contextmanager
    def watching(self) -> Iterator[None]:
        """Collect the edges of what runs inside."""
        self.seen = set()
        before = sys.gettrace()
        sys.settrace(self._call)
        try:
            yield
        finally:
            sys.settrace(before)
            self._last.clear()

    def _call(self, frame: FrameType, event: str, argument: Any) -> Any:
        code = frame.f_code
        watched = self._watched.get(code)
        if watched is None:
            watched = self._watched[code] = code.co_filename.startswith(self._prefixes)
        return self._line if watched else None

    def _line(self, frame: FrameType, event: str, argument: Any) -> Any:
        if event == "line":
            line = frame.f_lineno
            self.seen.add((id(frame.f_code), self._last.get(frame, 0), line))
            self._last[frame] = line
        elif event == "return":
            self._last.pop(frame, None)
        return self._line
