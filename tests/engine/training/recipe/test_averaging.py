"""When an average takes weights, and how far it moves."""

import pytest

import engine
from engine.training.recipe.options import Averaging
from tests.support.rows import each_row

TAKEN = {
    "every step of an ema": ({}, [1, 2, 3, 4, 5, 6, 7, 8, 9]),
    "the end of each epoch of an swa": ({"kind": "swa"}, [3, 6, 9]),
    "steps": ({"every_steps": 2}, [2, 4, 6, 8]),
    "steps of an swa, late": ({"kind": "swa", "every_steps": 2, "first_epoch": 2}, [4, 6, 8]),
    "epochs": ({"every_epochs": 2}, [6]),
    "epochs, late": ({"kind": "swa", "every_epochs": 1, "first_epoch": 3}, [9]),
    "steps from the second epoch on": ({"first_epoch": 2}, [4, 5, 6, 7, 8, 9]),
}


@each_row(("options", "steps"), TAKEN.values(), ids=TAKEN)
def test_weights_are_taken_after(options, steps):
    average = Averaging(**options)
    assert [step for step in range(1, 10) if average.due(step, 3)] == steps


def test_the_first_weights_replace_the_average():
    assert [Averaging(**options).rate(0) for options in ({}, {"warm_up": True}, {"kind": "swa"})] == [1, 1, 1]


def test_an_ema_moves_by_its_decay_which_may_warm_up():
    assert Averaging(decay=0.9).rate(7) == 1.0 - 0.9
    warm = Averaging(decay=0.5, warm_up=True)
    assert [warm.rate(taken) for taken in (1, 2, 100)] == [1 - 2 / 11, 1 - 3 / 12, 0.5]


def test_an_swa_is_the_mean():
    average, swa = 0.0, Averaging(kind="swa")
    for taken, weight in enumerate([4.0, 8.0, 3.0, 1.0]):
        average += (weight - average) * swa.rate(taken)
    assert average == pytest.approx(4.0)


def test_a_kind_may_be_written_alone_and_null_is_none():
    read = [engine.read_recipe({"epochs": 1, "average": given}).average for given in ("swa", {"kind": "swa"}, None)]
    assert read == [Averaging(kind="swa"), Averaging(kind="swa"), None]


FAULTS = {
    "an unknown kind": ("mean", "/average/kind"),
    "steps and epochs": ({"every_steps": 1, "every_epochs": 1}, "/average/every_steps"),
    "a decay above 1": ({"decay": 1.5}, "/average/decay"),
    "an epoch 0": ({"first_epoch": 0}, "/average/first_epoch"),
    "a number": (3, "/average"),
    "an unknown option": ({"beta": 0.9}, "/average/beta"),
}


@each_row(("given", "pointer"), FAULTS.values(), ids=FAULTS)
def test_faults_are_found(given, pointer):
    with pytest.raises(engine.DocumentError) as caught:
        engine.read_recipe({"epochs": 1, "average": given})
    assert [finding.pointer for finding in caught.value.findings] == [pointer]
