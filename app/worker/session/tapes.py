"""The tapes of a session, each named after the step that kept it."""

import re
from collections import OrderedDict

import engine
from app.domain.errors import Gone, NotFound

MOST = 16
MOST_BYTES = 256 * 1024**2

_NAME = re.compile(r"tape_([1-9]\d{0,15})")


class Tapes:
    """The newest tapes, within bounds; the newest one itself may be larger."""

    def __init__(self) -> None:
        """Begin with none."""
        self._tapes: OrderedDict[int, engine.Tape] = OrderedDict()
        self._bytes = 0

    def __len__(self) -> int:
        """Count them."""
        return len(self._tapes)

    def keep(self, seq: int, tape: engine.Tape) -> str:
        """Keep the tape of the step at a place, and return its name."""
        self._tapes[seq] = tape
        self._bytes += tape.nbytes
        while len(self._tapes) > MOST or (self._bytes > MOST_BYTES and len(self._tapes) > 1):
            self._bytes -= self._tapes.popitem(last=False)[1].nbytes
        return f"tape_{seq}"

    def get(self, name: str) -> engine.Tape:
        """Return a tape; Gone if it is not kept any more, NotFound if that is no name of one."""
        match = _NAME.fullmatch(name)
        if match is None:
            raise NotFound(f"there is no tape {name[:64]!r}; it is called as :forward with keep says")
        tape = self._tapes.get(int(match[1]))
        if tape is None:
            detail = f"{name} is gone: {MOST} tapes are kept, until the parameters change; call forward with keep again"
            raise Gone(detail, code="tape_gone")
        return tape

    def clear(self) -> None:
        """Give up all of them."""
        self._tapes.clear()
        self._bytes = 0
