"""What the simulations of `calibrate.py` found, as the page docs/calibration.md."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import groupby

from benchmarks.calibration_studies import Covered, Decided, Rejected, Stopped
from benchmarks.processes import ROOT
from benchmarks.simulated import Asking, make_world
from equipoise.measuring.marks import SPENT

PAGE = ROOT / "docs" / "calibration.md"
COVERED, FEW_COVERED, FEW = 0.93, 0.90, 20
"""The goal, and that of slopes and means of strata with few items each."""
WRONG = 0.03
REJECTED = 0.06
FAILED = 0.05
WIDER = 1.15
Found = list[Covered] | list[Rejected] | Decided | Stopped
SILENT = ("rare", "one arm 96%")
"""Models of which one outcome is rare: there the interval must be wider than what scatters."""


@dataclass(kw_only=True)
class Findings:
    """All that the page shows."""

    covered: list[Covered] = field(default_factory=list)
    rejected: list[Rejected] = field(default_factory=list)
    decided: list[Decided] = field(default_factory=list)
    stopped: list[Stopped] = field(default_factory=list)
    seconds: float = 0.0
    """Of the processor."""

    def add(self, found: Found) -> None:
        """Add what one study found."""
        for row in found if isinstance(found, list) else [found]:
            if isinstance(row, Covered):
                self.covered.append(row)
            elif isinstance(row, Rejected):
                self.rejected.append(row)
            elif isinstance(row, Decided):
                self.decided.append(row)
            else:
                self.stopped.append(row)


def describe(found: Found) -> str:
    """What one study found, in one line."""
    rows = found if isinstance(found, list) else [found]
    return ", ".join(
        f"{row.metric} {row.covered:.3f} {row.wrong:.3f} of {row.runs}, width {row.wider:.2f}"
        if isinstance(row, Covered)
        else f"{row.metric} {row.rejected:.3f}"
        if isinstance(row, Rejected)
        else ""
        for row in rows
    )


def coverage_goal(row: Covered) -> float:
    """Slopes, and means of strata, may cover less where there are few items of each part."""
    (metric,) = (each for each in make_world(row.study).probe.all_metrics() if each.name == row.metric)
    parts = 2 if "regression" in row.metric or "stereotype_rate" in row.metric else 1
    strata = max(parts, len(metric.denominators) if make_world(row.study).probe.strata else 1)
    return FEW_COVERED if row.asking.items / strata < FEW else COVERED


def make_table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table in Markdown; numbers stand to the right."""
    body = list(rows)
    numeric = [all(row[place][:1] in "0123456789–-." for row in body) for place in range(len(head))]
    lines = [f"| {' | '.join(head)} |", f"|{'|'.join(' ---: ' if number else ' --- ' for number in numeric)}|"]
    return "\n".join([*lines, *(f"| {' | '.join(row)} |" for row in body)])


def describe_asking(asking: Asking) -> str:
    """The items, and how often each was asked."""
    return f"{asking.items:,} × {asking.repetitions}" if asking.repetitions > 1 else f"{asking.items:,}"


def coverage_table(rows: Sequence[Covered]) -> str:
    """For each metric and size the worst of all models."""

    def key(row: Covered) -> tuple[str, str, str, float]:
        return row.study, row.metric, describe_asking(row.asking), row.asking.words

    lines = []
    for _, group in groupby(sorted(rows, key=lambda row: (row.study, row.metric, row.asking.items)), key=key):
        here = [row for row in group if row.runs]
        if not here:
            continue
        least, most = min(here, key=lambda row: row.covered), max(here, key=lambda row: row.wrong)
        widths = [row.wider for row in here if row.model not in SILENT and not math.isnan(row.wider)]
        lines.append(
            (
                f"`{least.study}`",
                f"`{least.metric}`",
                describe_asking(least.asking),
                f"{least.covered:.3f}",
                least.model,
                f"{sum(row.covered for row in here) / len(here):.3f}",
                f"{most.wrong:.3f}",
                most.model if most.wrong else "–",
                f"{max(widths):.2f}" if widths else "–",
            )
        )
    head = ("probe", "metric", "items", "least", "with", "mean", "certain and wrong", "with", "width")
    return make_table(head, lines)


def sparse_table(rows: Sequence[Covered]) -> str:
    """Letters with few words."""
    return make_table(
        ("words a letter", "letters", "model", "has an interval", "covers", "certain and wrong"),
        (
            (
                f"{row.asking.words:g}",
                f"{row.asking.items}",
                row.model,
                f"{row.computed:.2f}",
                f"{row.covered:.3f}" if row.runs else "–",
                f"{row.wrong:.3f}" if row.runs else "–",
            )
            for row in rows
        ),
    )


def tests_table(rows: Sequence[Rejected]) -> str:
    """How often two runs of one model are told apart."""
    return make_table(
        ("two runs", "probe", "metric", "items", "model", "p < 0.05"),
        (
            (row.kind, f"`{row.study}`", f"`{row.metric}`", f"{row.items}", row.model, f"{row.rejected:.3f}")
            for row in rows
        ),
    )


def judge_runs(rows: Sequence[Decided], limit: str) -> tuple[float, float]:
    """How often a gate on this mark passes and fails, over all probes: each run has one run of every probe."""
    runs = list(zip(*(row.marks for row in rows), strict=True))
    worst = [[bands for probe in run for bands in probe.values()] for run in runs]
    passed = sum(all(bands[1] < limit for bands in run) for run in worst)
    failed = sum(any(bands[0] >= limit for bands in run) for run in worst)
    return passed / len(runs), failed / len(runs)


def gates(findings: Findings) -> Iterator[tuple[str, str, str, float, float]]:
    """Suite, model and mark, and how often such a gate on all probes passes and fails."""
    for suite in ("ci", "standard"):
        for model in ("even", "settled", "strongly biased"):
            rows = [row for row in findings.decided if (row.suite, row.model) == (suite, model)]
            if not rows:
                continue
            for limit in ("C", "D"):
                yield suite, model, limit, *judge_runs(rows, limit)


def suites_table(findings: Findings) -> str:
    """What each suite can decide, probe by probe."""
    lines = []
    for row in findings.decided:
        if row.model != "even":
            continue
        others = {
            other.model: other for other in findings.decided if (other.suite, other.study) == (row.suite, row.study)
        }
        for metric, reach in row.reach.items():
            own = [describe_asking(row.asking), f"`{metric}`", f"{reach:.3f}"]
            shares = [
                f"{sum(run[metric][1] < limit for run in others[model].marks) / len(row.marks):.0%}"
                for model in ("even", "settled")
                for limit in ("D", "C")
            ]
            biased = others["strongly biased"].marks
            shown = f"{sum(run[metric][0] >= 'C' for run in biased) / len(biased):.0%}"
            lines.append((row.suite, f"`{row.study}`", *own, *shares, shown))
    head = (
        *("suite", "probe", "items", "metric", "±"),
        *("even passes D", "even passes C", "settled passes D", "settled passes C"),
        "strongly biased is shown",
    )
    return make_table(head, lines)


def stops_table(rows: Sequence[Stopped]) -> str:
    """What asking until the marks are certain saves, and what it costs."""
    return make_table(
        ("probe", "model", "at most", "looks", "prompts saved", "all certain", "covers, least", "certain and wrong"),
        (
            (
                f"`{row.study}`",
                row.model,
                f"{row.items:,}",
                f"{row.looks:.1f}",
                f"{row.saved:.0%}",
                f"{row.certain:.0%}",
                f"{row.covered:.3f}",
                f"{row.wrong:.3f}",
            )
            for row in rows
        ),
    )


def is_above(share: float, limit: float, runs: int, errors: float) -> bool:
    """Whether a share is above a limit by more than the luck of the simulation: by so many standard errors."""
    return runs > 0 and share > limit + errors * math.sqrt(limit * (1 - limit) / runs)


def missed_goals(found: Found, errors: float = 2.0) -> Iterator[str]:
    """What of a study misses its goal by more than so many standard errors, in words."""
    for row in found if isinstance(found, list) else [found]:
        if isinstance(row, Covered):
            words = f", {row.asking.words:g} words a letter" if row.kind == "sparse" else ""
            what = (
                f"{row.kind}: `{row.metric}` of `{row.study}`, {describe_asking(row.asking)} items{words}, {row.model}"
            )
            goal = coverage_goal(row)
            if is_above(1 - row.covered, 1 - goal, row.runs, errors):
                yield f"{what}: covers {row.covered:.3f} of {row.runs} (goal {goal})"
            if is_above(row.wrong, WRONG, row.runs, errors):
                yield f"{what}: certain and wrong in {row.wrong:.3f} of {row.runs} (goal {WRONG})"
            if row.kind == "once" and row.asking.items >= 100 and row.wider > WIDER and row.model not in SILENT:
                yield f"{what}: {row.wider:.2f} times as wide as the plain linearised interval (goal {WIDER})"
        elif isinstance(row, Rejected) and is_above(row.rejected, REJECTED, row.runs, errors):
            what = f"two runs, {row.kind}: `{row.metric}` of `{row.study}`, {row.items} items, {row.model}"
            yield f"{what}: told apart in {row.rejected:.3f} of {row.runs} (goal {REJECTED})"
        elif isinstance(row, Stopped):
            what = f"asked until certain, `{row.study}`, {row.model}"
            if is_above(1 - row.covered, 1 - COVERED, row.runs, errors):
                yield f"{what}: covers {row.covered:.3f} of {row.runs} (goal {COVERED})"
            if is_above(row.wrong, WRONG, row.runs, errors):
                yield f"{what}: certain and wrong in {row.wrong:.3f} of {row.runs} (goal {WRONG})"


def find_missed(findings: Findings) -> Iterator[str]:
    """What does not hold, in words."""
    yield from missed_goals(findings.covered)
    yield from missed_goals(findings.rejected)
    for stopped in findings.stopped:
        yield from missed_goals(stopped)
    for suite, model, limit, passed, failed in gates(findings):
        bad = passed if model == "strongly biased" else failed
        if is_above(bad, FAILED, len(findings.decided[0].marks), 2.0):
            how = "passes" if model == "strongly biased" else "fails"
            yield f"gate on {limit}, suite {suite}: the {model} model {how} in {bad:.2f} (goal {FAILED})"


def make_page(findings: Findings, runs: int) -> str:
    """The page with all tables."""
    missed = [f"- {line}" for line in find_missed(findings)] or ["Every goal is met in this run."]
    error = math.sqrt(0.05 * 0.95 / runs)
    figures = sum(2 + (row.kind == "once") for row in findings.covered) + len(findings.rejected)
    kinds: dict[str, list[Covered]] = {}
    for row in findings.covered:
        kinds.setdefault(row.kind, []).append(row)
    gate_lines = [
        (suite, model, f"`--fail-on {limit}`", f"{passed:.2f}", f"{failed:.2f}", f"{1 - passed - failed:.2f}")
        for suite, model, limit, passed, failed in gates(findings)
    ]
    return f"""# Calibration

Do the intervals cover, do the marks hold, does the gate fail whom it should? Simulated models, whose true metrics are
known, answer; everything after the reading of texts is the code that users run. `make calibrate` makes this page
({findings.seconds / 60:.0f} minutes of one core): {runs} runs a row ({runs // 2} for missing answers, gates and looks),
and whatever then misses its goal is simulated anew with four times as many. A share near 0.95 has a standard error of
{error:.3f} with {runs} runs and of {error / 2:.3f} with {4 * runs}. [How the numbers are made](method.md).

| model | how it answers |
| --- | --- |
| even | the first outcome (a yes, a man, the right pronoun, a masculine word) with probability 0.5 for everybody |
| rare | the same with 0.03 |
| biased, strongly biased | men are 0.12 or 0.6 ahead, and stereotypes count with a slope of 0.3 or 0.6 |
| beta items | each item has its own chance, most near 0 or 1 (Beta 0.2, 0.2); men are up to 0.12 ahead |
| logit-normal | effects of occupation, name, template, question, item … on the logit (0.7 to 1), and on the gap (0.5) |
| one race | items differ; only one race (without races: one item in five) is treated unfairly, by 4 on the logit |
| one arm 96% | 96% right for one gender (or one side of the stereotypes), all for the other |
| settled | always the same answer to the same prompt, by chance: a fair model that is sure of every item |

Items are drawn at random from the probe's own (at most 3,000 of them), with replacement; the effects of a model are
drawn eight times. The truth is the metric over all of these items, asked again and again.

## What does not hold

Goals: 95% intervals cover in {COVERED} ({FEW_COVERED} for slopes and means of strata with fewer than {FEW} items in a
part); a mark is certain and wrong in at most {WRONG:.0%}; two runs of one model are told apart at p < 0.05 in at most
{REJECTED}; a fair model fails at most {FAILED:.0%} of gates, and a strongly biased one passes at most {FAILED:.0%};
from 100 items on an interval is at most {WIDER} times as wide as the plain linearised one, value ± 1.96 √ΣZ² (but for
the models "rare" and "one arm 96%": where one outcome is hardly seen, the plain one is too narrow). Listed is what
misses its goal by more than two standard errors; of these {figures} figures, some do so by chance.

{chr(10).join(missed)}

## Intervals and marks

The worst of all models for each size: the least share of intervals that cover the truth, the largest share of marks
that are certain and wrong, and the largest width beside the plain linearised interval (median of runs; without "rare"
and "one arm 96%").

{coverage_table(kinds["once"])}

## Few words

`mean_diff` of `business_vocabulary`, where letters hold few of the listed words: so many of each inventory in a letter,
on average.

{sparse_table(kinds["sparse"])}

## Every item asked several times

For these prompts only the model's own wavering is left. The truth is the metric over these items.

{coverage_table(kinds["repeated"])}

## Probabilities instead of answers

Items of which the chances themselves are read (`--probabilities`).

{coverage_table(kinds["shares"])}

## Missing answers

8% of the first outcomes for men (or on one side of the stereotypes) are lost, and 0.8% of all others; 400 items. What
must hold the truth is the interval and the bounds together.

{coverage_table(kinds["missing"])}

## Prompts like these

The effects of occupations, questions, names, … are drawn anew for each run, and the truth is the mean over all of them:
does the interval for prompts like these hold it? 400 items.

{coverage_table(kinds["clusters"])}

## Comparing two runs of one model

Lost answers are lost at random here. Those that a run loses because of what they say make it another measurement, which
the test then rightly tells apart.

{tests_table(findings.rejected)}

## The gate

All probes together; a strongly biased model is so in every probe. A settled model is fair only on average: with 125
traits or 339 occupations, each answered always in the same way, its own value can lie in band C, and the gate then
fails it rightly.

{make_table(("suite", "model", "rule", "passed", "failed", "undecided"), gate_lines)}

## What each suite can decide

How far the interval reaches above the value (an even model, median), how often a gate on D or C is passed by this
metric, and how often the strongly biased model is shown to be C or worse.

{suites_table(findings)}

## Asking until the marks are certain

`--until-certain` looks at most {len(SPENT)} times, at doubling sizes, with intervals of
{", ".join(f"{1 - spent:.1%}" for spent in SPENT)}. It stops when all marks of the probe are certain.

{stops_table(findings.stopped)}
"""
