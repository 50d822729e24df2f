from pathlib import Path

import pytest

from app.service.resources.blobs import BlobSweeper
from app.store.blobs.local import LocalBlobStore
from app.store.unit_of_work import Store
from tests.support.manual_clock import ManualClock
from tests.support.sessions_harness import SessionsHarness, opened


@pytest.fixture
def harness(
    store: Store,
    blobs: LocalBlobStore,
    sweeper: BlobSweeper,
    clock: ManualClock,
    tmp_path: Path,
) -> SessionsHarness:
    """Open the use cases of sessions over a worker pool that is played."""
    return opened(store, blobs, sweeper, clock, tmp_path)
