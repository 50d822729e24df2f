"""`python -m tests.chaos.jumping_clock FILE` serves by a wall clock that is wrong by the seconds that FILE holds."""

import os
import sys
from datetime import datetime, timedelta
from functools import partial
from pathlib import Path

from app.config.settings import Settings
from app.domain.clock import SystemClock
from app.main import application as main
from tests.support.gate import VARIABLE, use_gate

SERVE = (sys.executable, "-m", "tests.chaos.jumping_clock")


class JumpingClock(SystemClock):
    """The machine's clock, whose wall time somebody else sets."""

    def __init__(self, setting: Path) -> None:
        self._setting = setting

    def now(self) -> datetime:
        """Return the wall time as it is set now."""
        return super().now() + timedelta(seconds=float(self._setting.read_text() or 0))


if __name__ == "__main__":
    use_gate(Path(os.environ[VARIABLE]))
    main.open_container = partial(main.open_container, clock=JumpingClock(Path(sys.argv[1])))
    sys.exit(main.run(Settings(), lambda url: print(url, flush=True)))  # noqa: T201 (as the tests' servers say it)
