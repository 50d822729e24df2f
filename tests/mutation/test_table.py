"""The table of mutants fits the sources: a fault whose text has changed would no longer be planted."""

from tests.mutation.mutants import HERE, read_mutants


def test_each_mutant_has_its_place_and_its_tests() -> None:
    for mutant in read_mutants():
        mutant.check(HERE.parents[1])
