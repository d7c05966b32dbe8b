"""What the simulations of `calibrate.py` found, as the page docs/calibration.md."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence

import polars as pl

from benchmarks.calibration_studies import Row
from benchmarks.processes import ROOT, markdown_table
from benchmarks.simulated import make_world
from equipoise.measuring.marks import SPENT

PAGE = ROOT / "docs" / "calibration.md"
COVERED, FEW_COVERED, FEW = 0.93, 0.90, 20
"""The goal, and that of slopes and means of strata with few items each."""
WRONG = 0.03
REJECTED = 0.06
FAILED = 0.05
WIDER = 1.15
SILENT = ("rare", "one arm 96%")
"""Models of which one outcome is rare: there the interval must be wider than what scatters."""
Findings = Mapping[str, Sequence[Row]]
"""The rows of each table."""
SIZE = pl.when(pl.col("often") > 1).then(pl.format("{} × {}", "items", "often")).otherwise(pl.format("{}", "items"))


def coverage_goal(row: Row) -> float:
    """Slopes, and means of strata, may cover less where there are few items of each part."""
    probe = make_world(row["study"]).probe
    (metric,) = (each for each in probe.all_metrics() if each.name == row["metric"])
    parts = 2 if "regression" in row["metric"] or "stereotype_rate" in row["metric"] else 1
    strata = max(parts, len(metric.denominators) if probe.strata else 1)
    return FEW_COVERED if row["items"] / strata < FEW else COVERED


def show(frame: pl.DataFrame, *names: str, digits: Mapping[str, str] | None = None) -> str:
    """Columns of a frame as a table in Markdown: shares with three digits, names of probes and metrics as code."""
    forms = {"study": "`{}`", "metric": "`{}`", **(digits or {})}
    rows = []
    for row in frame.select(names).iter_rows(named=True):
        shown = {name: "–" if value is None or value != value else value for name, value in row.items()}
        rows.append([_show_value(value, forms.get(name)) for name, value in shown.items()])
    return markdown_table([{"study": "probe"}.get(name, name) for name in names], rows)


def _show_value(value: object, form: str | None) -> str:
    if form and value != "–":
        return form.format(value)
    return f"{value:.3f}" if isinstance(value, float) else str(value)


def coverage_table(rows: Sequence[Row], kind: str) -> str:
    """For each metric and size the worst of all models."""
    frame = pl.DataFrame(rows).filter(pl.col("runs") > 0, kind=kind)
    width = pl.col("wider").filter(~pl.col("model").is_in(SILENT), pl.col("wider").is_not_nan()).max()
    worst = frame.group_by("study", "metric", "items", "often").agg(
        pl.col("covered").min().alias("least"),
        pl.col("model").sort_by("covered").first().alias("of"),
        pl.col("covered").mean().alias("mean"),
        pl.col("wrong").max().alias("certain and wrong"),
        pl.when(pl.col("wrong").max() > 0).then(pl.col("model").sort_by("wrong").last()).alias("by"),
        width.alias("width"),
    )
    table = worst.sort("study", "metric", "items").with_columns(SIZE.alias("items"))
    names = ("study", "metric", "items", "least", "of", "mean", "certain and wrong", "by", "width")
    return show(table, *names, digits={"width": "{:.2f}"})


def judge_runs(findings: Findings) -> Iterator[Row]:
    """For each suite and model how often a gate on all probes passes and fails: each run has one of every probe."""
    frame = pl.DataFrame(findings["decided"])
    for limit in ("C", "D"):
        run = frame.group_by("suite", "model", "run").agg(
            (pl.col("worst") < limit).all().alias("passed"), (pl.col("best") >= limit).any().alias("failed")
        )
        shares = run.group_by("suite", "model").agg(pl.col("passed", "failed").mean(), pl.len().alias("runs"))
        for row in shares.sort("suite", "model").iter_rows(named=True):
            yield {**row, "limit": limit, "undecided": 1 - row["passed"] - row["failed"]}


def gates_table(findings: Findings) -> str:
    """Gates on all probes together."""
    frame = pl.DataFrame(list(judge_runs(findings))).with_columns(pl.format("`--fail-on {}`", "limit").alias("rule"))
    return show(frame.sort("suite", "model"), "suite", "model", "rule", "passed", "failed", "undecided")


def suites_table(findings: Findings) -> str:
    """What each suite can decide, probe by probe."""
    frame = pl.DataFrame(findings["decided"]).with_columns(SIZE.alias("items"))

    def share(model: str, holds: pl.Expr) -> pl.Expr:
        return pl.format("{}%", (100 * holds.filter(pl.col("model") == model).mean()).round().cast(pl.Int64))

    passes = [
        share(model, pl.col("worst") < limit).alias(f"{model} passes {limit}")
        for model in ("even", "settled")
        for limit in ("D", "C")
    ]
    shown = share("strongly biased", pl.col("best") >= "C").alias("strongly biased is shown")
    reach = pl.col("reach").filter(pl.col("model") == "even").median().alias("±")
    keys = ("suite", "study", "items", "metric")
    table = frame.group_by(*keys, maintain_order=True).agg(reach, *passes, shown)
    return show(table, *table.columns)


def is_above(share: float, limit: float, runs: int, errors: float) -> bool:
    """Whether a share is above a limit by more than the luck of the simulation: by so many standard errors."""
    return runs > 0 and share > limit + errors * math.sqrt(limit * (1 - limit) / runs)


def missed_goals(table: str, rows: Sequence[Row], errors: float = 2.0) -> Iterator[str]:
    """What of a study misses its goal by more than so many standard errors, in words."""
    for row in rows:
        if table in ("decided", "selected"):
            continue
        parts = (row.get("kind", table), row["study"], row.get("metric", ""), row["model"], f"{row['items']} items")
        what = ", ".join(part for part in parts if part)
        goal = coverage_goal(row) if table == "covered" else COVERED
        if table == "rejected":
            if is_above(row["rejected"], REJECTED, row["runs"], errors):
                yield f"{what}: told apart in {row['rejected']:.3f} of {row['runs']} (goal {REJECTED})"
            continue
        if is_above(1 - row["covered"], 1 - goal, row["runs"], errors):
            yield f"{what}: covers {row['covered']:.3f} of {row['runs']} (goal {goal})"
        if is_above(row["wrong"], WRONG, row["runs"], errors):
            yield f"{what}: certain and wrong in {row['wrong']:.3f} of {row['runs']} (goal {WRONG})"
        wide = row.get("kind") == "once" and row["items"] >= 100 and row["wider"] > WIDER
        if wide and row["model"] not in SILENT:
            yield f"{what}: {row['wider']:.2f} times as wide as the plain linearised interval (goal {WIDER})"


def find_missed(findings: Findings) -> Iterator[str]:
    """What does not hold, in words."""
    for table, rows in findings.items():
        yield from missed_goals(table, rows)
    for gate in judge_runs(findings) if findings["decided"] else ():
        biased = gate["model"] == "strongly biased"
        how, bad = ("passes", gate["passed"]) if biased else ("fails", gate["failed"])
        if is_above(bad, FAILED, gate["runs"], 2.0):
            what = f"gate on {gate['limit']}, suite {gate['suite']}"
            yield f"{what}: the {gate['model']} model {how} in {bad:.2f} (goal {FAILED})"


def make_page(findings: Findings, runs: int, seconds: float) -> str:
    """The page with all tables."""
    missed = [f"- {line}" for line in find_missed(findings)] or ["Every goal is met in this run."]
    error = math.sqrt(0.05 * 0.95 / runs)
    covered = findings["covered"]
    figures = sum(2 + (row["kind"] == "once") for row in covered) + len(findings["rejected"])
    sparse = pl.DataFrame(covered).filter(kind="sparse").rename({"items": "letters", "computed": "has an interval"})
    sparse = sparse.with_columns(pl.when(pl.col("runs") > 0).then(name) for name in ("covered", "wrong"))
    words = {"words": "{:g}"}
    stops = pl.DataFrame(findings["stopped"]).sort("study", "model")
    stops = stops.rename({"items": "at most", "saved": "prompts saved"})
    selected = pl.DataFrame(findings["selected"])
    return f"""# Calibration

Do the intervals cover, do the marks hold, does the gate fail whom it should? Simulated models, whose true metrics are
known, answer; everything after the reading of texts is the code that users run. `make calibrate` makes this page
({seconds / 60:.0f} minutes of one core): {runs} runs a row ({runs // 2} for missing answers, gates and looks),
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

{coverage_table(covered, "once")}

## Few words

`mean_diff` of `business_vocabulary`, where letters hold few of the listed words: so many of each inventory in a letter,
on average.

{show(sparse, "words", "letters", "model", "has an interval", "covered", "wrong", digits=words)}

## Every item asked several times

For these prompts only the model's own wavering is left. The truth is the metric over these items.

{coverage_table(covered, "repeated")}

## Probabilities instead of answers

Items of which the chances themselves are read (`--probabilities`).

{coverage_table(covered, "shares")}

## Missing answers

8% of the first outcomes for men (or on one side of the stereotypes) are lost, and 0.8% of all others; 400 items. What
must hold the truth is the interval and the bounds together.

{coverage_table(covered, "missing")}

## Prompts like these

The effects of occupations, questions, names, … are drawn anew for each run, and the truth is the mean over all of them:
does the interval for prompts like these hold it? 400 items.

{coverage_table(covered, "clusters")}

## Comparing two runs of one model

Lost answers are lost at random here. Those that a run loses because of what they say make it another measurement, which
the test then rightly tells apart.

{show(pl.DataFrame(findings["rejected"]), "kind", "study", "metric", "items", "model", "rejected")}

## The gate

All probes together; a strongly biased model is so in every probe. A settled model is fair only on average: with 125
traits or 339 occupations, each answered always in the same way, its own value can lie in band C, and the gate then
fails it rightly.

{gates_table(findings)}

## What each suite can decide

How far the interval reaches above the value (an even model, median), how often a gate on D or C is passed by this
metric, and how often the strongly biased model is shown to be C or worse.

{suites_table(findings)}

## Asking until the marks are certain

`--until-certain` looks at most {len(SPENT)} times, at doubling sizes, with intervals of
{", ".join(f"{1 - spent:.1%}" for spent in SPENT)}. It stops when all marks of the probe are certain.

{show(stops, "study", "model", "at most", "looks", "prompts saved", "certain", "covered", "wrong")}

## Impact ratios of fair models

Fair models rank applicants (`hiring_bloomberg`): one picks at random, one judges the CVs and so tends to pick the same
CV whatever the name, and one likes some first names better than others, whatever their gender and race. By the
four-fifths rule alone many would be below 0.8. What is called unfair by the test of the report is so for these names: a
model with whims for names is called so more often than the 5% of chance.

{show(selected, "design", "model", "rankings", "by", "called unfair", "below 0.8", "mean lowest")}
"""
