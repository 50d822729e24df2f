"""`python -m tests.fuzz`: fuzz every reader by turns for FUZZ_SECONDS, from FUZZ_SEED, and keep what breaks one."""

import hashlib
import os
import sys
import time
import warnings
from pathlib import Path

from tests.fuzz.campaign import Campaign
from tests.fuzz.targets import TARGETS

FOUND = Path("fuzz-found")
TURN_SECONDS = 5.0


def main() -> int:
    """Return 1 if a reader broke; the inputs that did it lie in `fuzz-found`, by their digests."""
    seconds, seed = float(os.environ.get("FUZZ_SECONDS", "120")), int(os.environ.get("FUZZ_SEED", time.time_ns()))
    sys.stdout.write(f"FUZZ_SEED={seed} FUZZ_SECONDS={seconds:g}\n")
    warnings.simplefilter("ignore")
    campaigns = [Campaign(target, seed) for target in TARGETS]
    end = time.monotonic() + seconds
    while (left := end - time.monotonic()) > 0:
        for campaign in campaigns:
            campaign.run(seconds=min(TURN_SECONDS, left / len(campaigns)))
    for campaign in campaigns:
        _report(campaign)
    return int(any(campaign.broken for campaign in campaigns))


def _report(campaign: Campaign) -> None:
    kept, edges = len(campaign.corpus), len(campaign.edges)
    sys.stdout.write(f"{campaign.target.name:20}{campaign.executions:9} inputs {kept:6} kept {edges:6} edges\n")
    for fault, data in campaign.broken.items():
        FOUND.mkdir(exist_ok=True)
        path = FOUND / hashlib.sha256(data).hexdigest()[:16]
        path.write_bytes(data)
        sys.stdout.write(f"  {fault}\n  {path}\n")


if __name__ == "__main__":
    sys.exit(main())
