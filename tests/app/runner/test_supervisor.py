"""The supervisor with processes that the test plays."""

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from app.domain.errors import DatabaseBusy, StorageFull
from app.domain.messages import CheckpointWritten, Failed, Finished, Log, Message, Phase, Points, Started
from app.runner.memory import MemoryRunner
from app.runner.port import Handle
from app.runner.supervisor import BACKOFF_SECONDS, CANCEL_GRACE_SECONDS, Supervisor
from app.service.attempts import Attempts

from .conftest import Workshop


def row(seq: int, loss: float = 0.5) -> str:
    return json.dumps({"seq": seq, "step": seq, "epoch": 1, "split": "train", "values": {"loss": loss}})


def points(*seqs: int, loss: float = 0.5) -> Points:
    return Points([row(seq, loss) for seq in seqs], seqs[-1], 1, {"loss": loss}, {"value": loss})
