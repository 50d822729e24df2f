"""Sessions whose processes are killed or drained, or find their files damaged: not a bit is another one for it."""

import random
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from app.domain.messages import Failed, Finished, NumericsChanged
from app.worker.session.session_dir import find_newest, read_log
from app.worker.session.wal import DamagedLog
from tests.extent import FULL

from .driver import DEMANDING, MLP, Lost, SessionHarness, batch
from .loops import Loop, Step, end_of, loop_steps, undisturbed

Make = Callable[..., SessionHarness]

KILLS = 20 if FULL else 2

SMALL: list[Step] = [
    ("forward_backward", batch(1), {}),
    ("optim_step", None, {"lr": 0.01}),
    ("forward", batch(2), {"keep": True}),
    ("forward_backward", {"x": np.ones((2, 3))}, {}),
    ("backward", {"linear_1": np.ones((8, 3))}, {"tape_id": "tape_3"}),
    ("save", None, {}),
    ("zero_grad", None, {"notify": True}),
    ("forward_backward", batch(3), {"notify": True}),
    ("optim_step", None, {}),
]


def test_kills_at_any_step_change_no_bit(session: Make) -> None:
    steps = loop_steps(200)
    expected = undisturbed(session(DEMANDING, "adamw", clip={"norm": 1.0}), steps)
    harness = session(DEMANDING, "adamw", clip={"norm": 1.0})
    loop, chance = Loop(harness, steps), random.Random(7)
    for upto in sorted(chance.sample(range(1, 200), KILLS)):
        process = harness.open()
        loop.run(process, upto)
        # Those that are on their way get lost, or are done and not heard of.
        for seq in range(upto + 1, min(upto + 3, 200)):
            loop._send(process, seq, {})
        end_of(process)
    process = harness.open()
    loop.run(process)
    assert loop.result(process) == expected


def survived(harness: SessionHarness, kill_at_op: int) -> tuple[bool, dict[str, bytes]]:
    """Carry out `SMALL` with a process that is killed before an operation on the disk, and by others after it.

    Return whether there was no such operation, and what has come of it.
    """
    loop = Loop(harness, SMALL, ahead=0)
    process = harness.start(kill_at_op=kill_at_op)
    killed = False
    try:
        process.ready()
        loop.run(process)
        process.drain()
    except Lost:
        killed = True
    killed |= process.end().reason == "killed"
    process = harness.open(saved=loop.saved)
    loop.run(process)
    return not killed, loop.result(process)


def test_a_kill_before_any_operation_on_the_disk_changes_no_bit(session: Make) -> None:
    expected = undisturbed(session(DEMANDING), SMALL)
    step, place = (1 if FULL else 17), 1
    done = False
    while not done:
        done, found = survived(session(DEMANDING), place)
        assert found == expected, f"killed before operation {place}"
        place += step
    assert place > 40, "the walk was shorter than it should be"


OPTIMIZERS: dict[str, dict[str, Any]] = {
    "sgd": {"optimizer": {"kind": "sgd", "lr": 0.1, "momentum": 0.9, "nesterov": True}},
    "adam in groups": {"optimizer": {"kind": "adam", "groups": [{"match": "*bias", "lr": 0.5}]}},
    "adamw, clipped": {"optimizer": "adamw", "clip": {"norm": 0.1}},
    "lion": {"optimizer": "lion"},
    "adafactor": {"optimizer": "adafactor"},
    "lamb": {"optimizer": "lamb"},
    "float16": {"optimizer": "adam", "precision": "mixed_float16"},
    "bfloat16": {"optimizer": "adam", "precision": "mixed_bfloat16"},
}


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_a_snapshot_holds_all_that_the_next_steps_depend_on(session: Make, name: str) -> None:
    steps = [*loop_steps(4), ("forward_backward", batch(9), {"reduction": "sum"})]
    harness = session(DEMANDING, **OPTIMIZERS[name])
    loop, process = Loop(harness, steps), harness.open()
    loop.run(process, 5)
    process.drain()
    assert process.end().reason == "finished"
    assert process.said[-1] == Finished("drained")
    assert [path.name for path in sorted(harness.folder().iterdir())] == ["lock", "log-6", "snapshot-6.safetensors"]
    more = [*steps, *loop_steps(6)[3:]]
    process = harness.open()
    loop.steps = more
    loop.run(process)
    other = session(DEMANDING, **OPTIMIZERS[name])
    assert loop.result(process) == undisturbed(other, more)


def test_a_drain_in_the_middle_answers_what_was_begun_and_nothing_is_lost(session: Make) -> None:
    steps = loop_steps(60)
    expected = undisturbed(session(), steps)
    harness = session()
    loop, process = Loop(harness, steps, ahead=60), harness.open()
    process.drain()
    with suppress(Lost):
        loop.run(process)
    assert process.end().reason == "finished"
    process = harness.open()
    loop.run(process)
    assert loop.result(process) == expected


def test_a_session_that_holds_a_tape_is_left_to_its_log(session: Make) -> None:
    harness = session()
    process = harness.open()
    process.do("forward", batch(1), keep=True)
    process.drain()
    process.end()
    assert (harness.folder() / "log-1").exists()
    process = harness.open()
    assert process.do("backward", {"linear_1": np.ones((8, 3))}, tape_id="tape_1")["seq"] == 2


def test_the_end_of_a_log_that_was_not_wholly_written_is_cut_off(session: Make) -> None:
    harness = session()
    process = harness.open()
    process.do("forward_backward", batch(1), seq=1)
    bits = process.parameters()
    process.do("forward_backward", batch(2), seq=2)
    end_of(process)
    log = harness.folder() / "log-1"
    log.write_bytes(log.read_bytes()[:-10])
    process = harness.open()
    assert process.parameters() == bits
    process.do("forward_backward", batch(2), seq=2)
    end_of(process)
    assert harness.open().do("zero_grad", seq=3)["seq"] == 3


def damaged(harness: SessionHarness, **said: Any) -> Failed:
    process = harness.start(**said)
    process.end()
    verdict = process.said[-1]
    assert isinstance(verdict, Failed)
    return verdict


@pytest.mark.parametrize("file", ["log-1", "snapshot-1.safetensors"])
def test_damage_to_what_was_kept_is_reported(session: Make, file: str) -> None:
    harness = session()
    process = harness.open()
    for seq in (1, 2, 3):
        process.do("forward_backward", batch(seq), seq=seq)
    end_of(process)
    content = bytearray((harness.folder() / file).read_bytes())
    content[len(content) // 2] ^= 1
    (harness.folder() / file).write_bytes(content)
    assert damaged(harness).code == "session_damaged"


def flipped(place: float) -> Callable[[bytes], bytes]:
    def flip(content: bytes) -> bytes:
        damaged = bytearray(content)
        damaged[min(int(place * len(content)), len(content) - 1)] ^= 8
        return bytes(damaged)

    return flip


AT_REST: dict[str, Callable[[bytes], bytes | None]] = {
    "start": flipped(0),
    "head": flipped(0.02),
    "middle": flipped(0.5),
    "end": flipped(1),
    "truncated": lambda content: content[:-1],
    "emptied": lambda _: b"",
    "deleted": lambda _: None,
}


def _read(folder: Path) -> None:
    number = find_newest([each.name for each in folder.iterdir()], has_snapshot=True)
    assert number is not None
    read_log(folder, number)


def test_no_damage_to_a_session_at_rest_goes_unnoticed(session: Make) -> None:
    harness = session()
    process = harness.open()
    for seq in (1, 2, 3):
        process.do("forward_backward", batch(seq), seq=seq)
    process.drain()
    process.end()
    kept = {path: path.read_bytes() for path in harness.folder().iterdir() if path.name != "lock"}
    assert {path.name for path in kept} == {"log-4", "snapshot-4.safetensors"}
    for path, content in kept.items():
        for name, how in AT_REST.items():
            damage = how(content)
            path.unlink() if damage is None else path.write_bytes(damage)
            with pytest.raises(DamagedLog):
                _read(harness.folder())
            if name in ("end", "deleted"):
                assert damaged(harness, begun=True).code == "session_damaged", (path.name, name)
            path.write_bytes(content)
    assert harness.open(begun=True).do("zero_grad", seq=4)["seq"] == 4


def test_damage_to_the_last_step_of_a_session_that_rests_with_a_tape_is_reported(session: Make) -> None:
    harness = session()
    process = harness.open()
    process.do("forward_backward", batch(1))
    process.do("forward", batch(1), keep=True)
    process.drain()
    process.end()
    log = harness.folder() / "log-1"
    content = log.read_bytes()
    # Somewhere in the last step, which the mark of rest follows.
    log.write_bytes(flipped(0.7)(content))
    assert damaged(harness).code == "session_damaged"


def test_a_session_that_had_begun_does_not_start_again_without_its_files(session: Make) -> None:
    harness = session()
    process = harness.open()
    process.do("forward_backward", batch(1))
    end_of(process)
    for path in harness.folder().iterdir():
        path.unlink()
    assert damaged(harness, begun=True).code == "session_damaged"


def test_a_snapshot_without_its_log_is_damage(session: Make) -> None:
    harness = session()
    process = harness.open()
    process.do("zero_grad")
    process.drain()
    process.end()
    (harness.folder() / "log-2").unlink()
    assert damaged(harness).code == "session_damaged"


def test_a_process_makes_way_for_that_of_a_later_attempt(session: Make) -> None:
    harness = session()
    first = harness.open()
    first.do("forward_backward", batch(1), seq=1)
    second = harness.start()
    assert second.ready()["next_seq"] == 2, "it has read the log before the first process had ended"
    assert first.line.recv(1) == b"", "the first process works beside it"


@pytest.mark.parametrize(("starved", "code"), [(False, "step_lost_worker"), (True, "out_of_memory")])
def test_a_poisoned_step_is_answered_and_never_carried_out(session: Make, starved: bool, code: str) -> None:
    harness = session()
    process = harness.open(poison="bad", starved=starved)
    process.do("zero_grad", seq=1)
    error = process.refused("forward_backward", batch(1), seq=2, id="bad")
    assert (error["status"], error["code"], error["expected_seq"]) == (422, code, 3)
    assert process.do("gradients")["data"][0]["norm"] is None
    process.do("zero_grad", seq=3)
    end_of(process)
    process = harness.open()
    assert process.refused("forward_backward", batch(1), seq=2) == {**error, "expected_seq": 4}


def test_a_step_that_was_accepted_and_kills_its_process_is_not_replayed(session: Make) -> None:
    harness = session()
    process = harness.open(kill_at_op=10**9)
    process.do("zero_grad", seq=1)
    id = process.send("forward_backward", batch(1), seq=2, id="bad", notify=True)
    process.answer(id)
    end_of(process)
    process = harness.open(poison="bad")
    assert process.refused("forward_backward", batch(1), seq=2)["code"] == "step_lost_worker"
    end_of(process)
    assert harness.open().refused("forward_backward", batch(1), seq=2)["code"] == "step_lost_worker"


def test_a_poisoned_batch_ends_at_the_step_that_was_not_done(session: Make) -> None:
    process = session().open(poison="bad")
    head, body = process.answer(process.send("batch", steps=[{"verb": "zero_grad"}] * 3, stop_on_error=False, id="bad"))
    assert head.error is None
    assert body.count(b'"step_lost_worker"') == 1
    assert body.count(b'"not_carried_out"') == 2


def test_other_numerics_are_reported_once(session: Make) -> None:
    harness = session(MLP)
    process = harness.open()
    process.do("forward_backward", batch(1))
    end_of(process)
    runtime = {**harness.assignment.runtime, "executor": "native"}
    process = harness.open(runtime=runtime)
    end_of(process)
    assert any(isinstance(message, NumericsChanged) for message in process.said)
    process = harness.open(runtime=runtime)
    end_of(process)
    assert not any(isinstance(message, NumericsChanged) for message in process.said)


def test_a_session_goes_on_from_a_checkpoint(session: Make) -> None:
    harness = session(DEMANDING)
    process = harness.open()
    process.do("forward_backward", batch(1))
    process.do("optim_step")
    head, _ = process.answer(process.send("save"))
    path = str(harness.folder() / str(head.file))
    expected = process.parameters()["parameters"]
    whole, bare = session(DEMANDING), session(DEMANDING)
    for other, restore, step in ((whole, "all", 1), (bare, "parameters", 0)):
        process = other.start(start_from=path, restore=restore)
        assert process.ready()["step"] == step
        assert process.parameters()["parameters"] == expected
