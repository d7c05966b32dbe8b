"""What a terminal shows cannot steer it (S12)."""

from __future__ import annotations

import pytest

from equipoise.probes import get
from equipoise.report.terminal import bar, printable
from equipoise.stats.resample import Estimate

STEERING = [
    ("\x1b[2Jgone", "\\x1b[2Jgone"),
    ("\x1b]0;title\x07", "\\x1b]0;title\\x07"),
    ("over\rwritten", "over\\rwritten"),
    ("\x9b31mred", "\\x9b31mred"),
    ("back\x08space", "back\\x08space"),
    ("right\u202eleft", "right\\u202eleft"),
    ("two\nlines", "two\nlines"),
    ("plain — ünïcode", "plain — ünïcode"),
]


@pytest.mark.parametrize(("text", "shown"), STEERING)
def test_s12_control_characters_are_made_visible(text: str, shown: str) -> None:
    assert printable(text) == shown


@pytest.mark.parametrize(
    ("low", "value", "high", "drawn"),
    [
        (0.0, 0.0, 0.0, "●····················"),
        (0.0, 0.5, 1.0, "──────────●──────────"),
        (0.9, 1.0, 1.0, "··················──●"),
    ],
)
def test_a_bar_shows_the_interval_on_the_scale(low: float, value: float, high: float, drawn: str) -> None:
    metric = next(metric for metric in get("jobs_lum").metrics if metric.name == "masculine_rate")
    assert bar(metric, Estimate(value=value, low=low, high=high, n=10)) == drawn
