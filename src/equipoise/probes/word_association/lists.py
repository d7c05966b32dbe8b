"""The lists of words: three tests of association, and a control without one."""

from __future__ import annotations

from equipoise import authoring as eq

TESTS = ("career", "power", "science")
CONTROL = "control"
_CONTROL = {
    "male": "monday wednesday friday october february tulip granite",
    "female": "tuesday thursday saturday november september daffodil slate",
}
"""Days, months, a flower and a stone on either side, so that no idea of flowers or stones can score."""


def _read_lists() -> dict[str, dict[str, tuple[str, ...]]]:
    table = eq.facts("associations")
    found = {
        test: {gender: tuple(table.filter(test=test, gender=gender)["word"]) for gender in ("male", "female")}
        for test in TESTS
    }
    return {**found, CONTROL: {gender: tuple(words.split()) for gender, words in _CONTROL.items()}}


LISTS = _read_lists()
"""For each list the words that are associated with men and with women; in the control, the sides mean nothing."""
