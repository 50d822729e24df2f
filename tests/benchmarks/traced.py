"""A server that writes down when a fit passes the stages to its first row: `python -m tests.benchmarks.traced`.

It serves as `adjoint serve` does; `traced fork_server` is the process that its workers are forked from. Lines of the
monotonic time, the CPU time of the process and a duration, all in seconds, and the name of a stage go to the file that
TRACE names. Durations are in CPU time of the thread.
"""

import functools
import os
import sys
import time
from collections.abc import Callable
from typing import Any

TRACE = "FIRST_ROW_TRACE"

PRELOADED = "kernels preloaded"
LOADED = "loading kernels"
"""Stage of one kernel. Like PLANNED and BOUND it happens more than once, within other stages."""
PLANNED = "making plans"
BOUND = "binding plans, kernels included"


class Trace:
    """The file, opened once: forked processes add to it too."""

    def __init__(self) -> None:
        """Open it."""
        self._file = os.open(os.environ[TRACE], os.O_WRONLY | os.O_APPEND)

    def note(self, stage: str, seconds: float = 0.0) -> None:
        """Write down that a stage is reached, and how long it took if that is known."""
        os.write(self._file, f"{time.monotonic()} {time.process_time()} {seconds} {stage}\n".encode())

    def before(self, owner: Any, name: str, stage: str) -> None:
        """Note a stage at each call of a function, and then call it."""
        self._replace(owner, name, stage, lambda call: (self.note(stage), call())[1])

    def after(self, owner: Any, name: str, stage: str, then: Callable[[], None] = lambda: None) -> None:
        """Note a stage when a function returns, with the CPU time it took."""

        def timed(call: Callable[[], Any]) -> Any:
            began = time.thread_time()
            result = call()
            self.note(stage, time.thread_time() - began)
            then()
            return result

        self._replace(owner, name, stage, timed)

    @staticmethod
    def _replace(owner: Any, name: str, stage: str, around: Callable[[Callable[[], Any]], Any]) -> None:
        function = getattr(owner, name)

        @functools.wraps(function)
        def traced(*arguments: Any, **options: Any) -> Any:
            return around(functools.partial(function, *arguments, **options))

        setattr(owner, name, traced)


def serve() -> None:
    """Serve, with the URL in a line."""
    from app.config.settings import Settings
    from app.main.application import run
    from app.runner import local
    from app.runner.attempt_starter import AttemptStarter
    from app.service.attempts.attempts import Attempts

    trace = Trace()
    trace.before(AttemptStarter, "_start", "claimed")
    trace.after(Attempts, "assignment", "assignment made")
    trace.after(Attempts, "record", "row stored")
    local._COMMAND = (sys.executable, "-P", "-m", __spec__.name, "fork_server")
    sys.exit(run(Settings(), lambda url: print(url, flush=True)))


def serve_forks(log_format: str) -> None:
    """Fork workers."""
    from app.worker import fit_loop, fork_server, process
    from app.worker.control import Control
    from app.worker.reporter import Reporter
    from app.worker.warm_up import WarmUp

    trace = Trace()
    load = WarmUp.take_step

    def take_step(self: WarmUp) -> None:
        load(self)
        if self.is_idle:
            trace.note(PRELOADED)

    WarmUp.take_step = take_step
    trace.before(process, "run_worker", "process forked")
    trace.after(Control, "assignment", "assignment read")
    trace.after(fit_loop, "select_executor", "executor loaded", lambda: _trace_plans(trace))
    trace.after(fit_loop, "_prepare_fit", "fit made")
    trace.before(Reporter, "report_step", "first step done")
    fork_server.main(log_format)


def _trace_plans(trace: Trace) -> None:
    # Imported here: the first worker imports them as late when nothing is traced.
    from engine.execution.native.executor import NativeExecutor
    from engine.execution.native.kernel import Kernel
    from engine.training.step.plan_cache import PlanCache

    trace.after(Kernel, "_compile", LOADED)
    trace.after(PlanCache, "plan", PLANNED)
    trace.after(NativeExecutor, "__init__", BOUND)


if __name__ == "__main__":
    serve_forks(sys.argv[2]) if sys.argv[1:2] == ["fork_server"] else serve()
    os._exit(0)
