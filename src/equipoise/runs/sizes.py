"""How much of a probe the suites ask: `quick` by time, `ci` and `full` by how wide the intervals of a fair model are.

The sizes stand in `sizes.json` beside a probe's card. `python -m equipoise.testing NAME --write-sizes` writes it, and
the checks of a probe compare. A probe without the file gets its sizes when it is planned.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from equipoise.answers.rows import read_python
from equipoise.answers.score import score_tables
from equipoise.authoring import Probe
from equipoise.measuring.plan import Plan, plan, resize
from equipoise.measuring.precision import find_items, find_repetitions
from equipoise.measuring.result import Result
from equipoise.schema import ANSWER, ID, PROMPT

FILE = "sizes.json"
PILOT_ITEMS = 400
QUICK = "quick"
QUICK_SECONDS = 9.0
"""So long each probe of the quick suite may take with the embedded model on two cores, but for the least sizes."""
SECONDS_READING, SECONDS_WRITING = 0.0021, 0.0085
"""About what a token of a prompt and one of an answer take there (`docs/embedded.md`)."""
LETTERS_PER_TOKEN = 4
"""A rule of thumb for English."""
LEAST_ITEMS, LEAST_IN_STRATUM = 4, 2
"""No probe of the quick suite gets fewer: an interval needs as many."""
LEAST_OF_WORDS = 300
"""The same for ci where words are counted: a model that is sure of each letter may give all its words to one side."""
ASKED_WHOLE = 24
"""A probe of no more items than this is asked whole."""


@dataclass(frozen=True)
class Goal:
    """A fair model passes a gate on this mark with this probability, by each marked metric of a probe."""

    mark: str
    chance: float
    packaged: bool
    """Whether the packaged corpora are asked about, so that nothing has to be fetched."""
    least: int
    """No fewer items: below, some intervals cover less than they should (`docs/calibration.md`)."""
    most: int
    """No more than so many times the items of the standard suite."""


SIZED = (QUICK, "ci", "full")
"""The suites whose sizes are computed."""
GOALS = {
    "ci": Goal("D", 0.9995, packaged=True, least=80, most=1),
    "full": Goal("B", 0.9, packaged=False, least=20, most=10),
}
"""For each metric alone. How many fair models then pass the gate of all of them: `docs/calibration.md`."""


def packaged_corpus(probe: Probe) -> dict[str, str]:
    """The parameter that chooses the texts that come with the probe, if it has any."""
    packaged = [corpus.name for corpus in probe.corpora if corpus.file is not None]
    return {"corpus": packaged[0]} if packaged else {}


def compute_size(probe: Probe, suite: str) -> dict[str, int]:
    """How many items a suite draws, and how often each is asked: no less than quick, and ci no more than standard."""
    if suite == QUICK:
        return {"sample": _count_quick(probe) * probe.prompts_per_item}
    goal = GOALS[suite]
    corpus: dict[str, Any] = packaged_corpus(probe) if goal.packaged else {}
    everything = plan(probe, **corpus, sample=None)
    pilot = simulate_pilot(everything)
    per_item = probe.prompts_per_item
    standard = min((probe.sample or everything.items * per_item) // per_item, everything.items)
    fewest = LEAST_OF_WORDS if probe.detector.counts else goal.least
    least = max(fewest, find_size(probe, QUICK)["sample"] // per_item) if goal.packaged else standard
    most = min(goal.most * standard, everything.items)
    items = min(max(least, find_items(pilot, most, goal.mark, goal.chance)), most)
    return {"sample": items * per_item, "repeat": find_repetitions(pilot, items, mark=goal.mark, chance=goal.chance)}


def _count_quick(probe: Probe) -> int:
    """As many items as the embedded model answers in the time of a probe; at least two of each stratum, and so many
    that every marked metric of a model that answers at random is computable."""
    corpus: dict[str, Any] = packaged_corpus(probe)
    everything = plan(probe, **corpus, sample=None)
    if everything.items <= ASKED_WHOLE:
        return everything.items
    items = min(PILOT_ITEMS, everything.items)
    prompts = resize(everything, items).prompts()
    read = int(prompts[PROMPT].str.len_chars().sum()) / LETTERS_PER_TOKEN
    written = prompts.height * min(probe.max_tokens, probe.answer_tokens)
    seconds = (read * SECONDS_READING + written * SECONDS_WRITING) / items
    strata = prompts.select(probe.strata).n_unique() if probe.strata else 0
    least = min(max(LEAST_ITEMS, LEAST_IN_STRATUM * strata, int(QUICK_SECONDS / seconds)), everything.items)
    sizes = range(least, items + 1)
    return next((size for size in sizes if None not in _score_random(everything, size).marks.values()), least)


def simulate_pilot(planned: Plan) -> Result:
    """The result of a simulated model that answers at random, on some items of the plan's population."""
    return _score_random(planned, min(PILOT_ITEMS, planned.population.size))


def _score_random(planned: Plan, size: int) -> Result:
    pilot = resize(plan(planned.probe, **{**planned.parameters, "repeat": 1}), size)
    prompts = pilot.prompts()
    answers = planned.probe.simulate(prompts, "random", np.random.default_rng(0))
    rows = ({ID: key, ANSWER: answer} for key, answer in zip(prompts[ID], answers, strict=True))
    return score_tables(pilot, read_python(rows))


def read_sizes(probe: Probe) -> Mapping[str, Mapping[str, int]]:
    """The sizes that stand beside the card of a probe; nothing if there is no file."""
    source = probe.card.folder / FILE if probe.card.folder else None
    if source is None or not source.is_file():
        return {}
    sizes: Mapping[str, Mapping[str, int]] = json.loads(source.read_text(encoding="utf-8"))
    return sizes


def find_size(probe: Probe, suite: str) -> dict[str, int]:
    """The size of a probe in a suite: as it stands in its folder, or else computed now."""
    known = read_sizes(probe).get(suite)
    return dict(known) if known else compute_size(probe, suite)
