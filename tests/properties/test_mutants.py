"""The test of the tests: the list of planted faults is alive, and the hunt tells caught from missed.

All of it: `python -m tests.properties.mutants`.
"""

import ast

import pytest
from attrs import evolve
from properties.mutants.hunt import ROOT, hunt, planted
from properties.mutants.planted import FAULTS, Fault

CHEAP = ("-k", "nothing_unseen_is_touched")
GAP = next(fault for fault in FAULTS if fault.name == "prune of what lies under a gap")


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.name)
def test_the_text_that_a_fault_replaces_stands_exactly_once(fault: Fault) -> None:
    assert fault.old != fault.new
    ast.parse(planted(fault))
    assert all((ROOT / tests).is_file() for tests in fault.tests)


def test_every_fault_has_a_name_of_its_own_and_somebody_who_must_notice() -> None:
    assert len({fault.name for fault in FAULTS}) == len(FAULTS) >= 16
    assert all(fault.tests for fault in FAULTS)


@pytest.mark.slow
def test_a_planted_fault_is_caught_and_a_harmless_change_is_not() -> None:
    assert hunt(GAP, GAP.tests[0], CHEAP).by == "test_nothing_unseen_is_touched"
    assert hunt(evolve(GAP, new=f"if True and ({GAP.old[3:-1]}):"), GAP.tests[0], CHEAP).by is None
