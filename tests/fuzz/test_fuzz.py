"""A short campaign against every reader, the same one each time; `make fuzz` takes FUZZ_SECONDS."""

import pytest

from tests.fuzz.campaign import Campaign
from tests.fuzz.targets import TARGETS, Target

SEED = 8
EXECUTIONS = 40


@pytest.mark.filterwarnings("ignore")  # an op may warn of what a graph says
@pytest.mark.parametrize("target", TARGETS, ids=lambda target: target.name)
def test_whatever_is_sent_is_read_or_refused(target: Target) -> None:
    campaign = Campaign(target, SEED)
    campaign.run(executions=EXECUTIONS)
    assert campaign.broken == {}
    assert len(campaign.edges) > 10, "the campaign does not see where its inputs go"


def test_inputs_that_go_where_none_had_gone_are_kept() -> None:
    target = Target("fault", _reader_with_a_fault, lambda: [b"...."], (), [b"ab"], ("tests/fuzz",))
    campaign = Campaign(target, SEED)
    campaign.run(executions=4000)
    assert len(campaign.corpus) > 2
    assert [name.partition(" at ")[0] for name in campaign.broken] == ["ZeroDivisionError"]


def _reader_with_a_fault(data: bytes) -> int:
    """Fail behind three conditions, each of which must be met before the next is seen."""
    if b"a" not in data:
        return 0
    rest = data[data.index(b"a") + 1 :]
    if not rest.startswith(b"b"):
        return 1
    return 2 if rest[1:2] != b"[" else 1 // 0


def test_a_campaign_repeats_itself() -> None:
    ran = [Campaign(TARGETS[0], SEED) for _ in range(2)]
    for campaign in ran:
        campaign.run(executions=30)
    assert ran[0].corpus == ran[1].corpus
