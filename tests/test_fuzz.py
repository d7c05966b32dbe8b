"""A small part of `make fuzz`: nothing crashes, and nothing is read otherwise than it was written."""

from __future__ import annotations

import random
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[1]))

from benchmarks.fuzz import CRASHED, KINDS

pytestmark = pytest.mark.fault("S7", "D4", "D30", "E9", "L7", "S27")


@pytest.mark.parametrize("name", KINDS)
def test_random_damage_ends_in_order(name: str, tmp_path: Path) -> None:
    kind, many = KINDS[name]
    few = many // 80
    outcomes = list(kind(random.Random(f"1:{name}"), few, tmp_path))
    assert len(outcomes) >= few
    assert [outcome for outcome in outcomes if outcome.startswith(CRASHED)] == []
    assert len(set(outcomes)) > 1
