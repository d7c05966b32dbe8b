"""What the simulations of `calibrate.py` found, as the tables of docs/calibration.md."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence

import polars as pl

from benchmarks.calibration_studies import Row
from benchmarks.processes import ROOT, markdown_table
from benchmarks.simulated import make_world

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


def coverage_table(covered: pl.DataFrame, kind: str) -> str:
    """For each metric and size the worst of all models."""
    frame = covered.filter(pl.col("runs") > 0, kind=kind)
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
    """For each suite and model how often a gate on all probes passes and fails: each run has one of every probe.

    It fails wrongly by a metric whose true mark is better than the limit.
    """
    frame = pl.DataFrame(findings["decided"])
    for limit in ("C", "D"):
        is_failed = pl.col("best") >= limit
        run = frame.group_by("suite", "model", "run").agg(
            (pl.col("worst") < limit).all().alias("passed"),
            is_failed.any().alias("failed"),
            (is_failed & (pl.col("true") < limit)).any().alias("wrongly"),
        )
        shares = run.group_by("suite", "model").agg(
            pl.col("passed", "failed", "wrongly").mean(), pl.len().alias("runs")
        )
        for row in shares.sort("suite", "model").iter_rows(named=True):
            yield {**row, "limit": limit, "undecided": 1 - row["passed"] - row["failed"]}


def gates_table(findings: Findings) -> str:
    """Gates on all probes together."""
    frame = pl.DataFrame(list(judge_runs(findings))).with_columns(pl.format("`--fail-on {}`", "limit").alias("rule"))
    return show(frame.sort("suite", "model"), "suite", "model", "rule", "passed", "failed", "wrongly", "undecided")


def suites_table(findings: Findings) -> str:
    """What each suite can decide, probe by probe: of the runs whose true mark is better, how many pass a gate."""
    frame = pl.DataFrame(findings["decided"]).with_columns(SIZE.alias("items"))

    def share(holds: pl.Expr, among: pl.Expr) -> pl.Expr:
        return pl.format("{}%", (100 * holds.filter(among).mean()).round().cast(pl.Int64))

    passes = [
        share(pl.col("worst") < limit, (pl.col("model") == model) & (pl.col("true") < limit)).alias(f"{model}, {limit}")
        for model in ("even", "settled")
        for limit in ("D", "C", "B")
    ]
    shown = share(pl.col("best") >= "C", pl.col("model") == "strongly biased").alias("biased")
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
        how, bad = ("passes", gate["passed"]) if biased else ("fails wrongly", gate["wrongly"])
        if is_above(bad, FAILED, gate["runs"], 2.0):
            what = f"gate on {gate['limit']}, suite {gate['suite']}"
            yield f"{what}: the {gate['model']} model {how} in {bad:.2f} (goal {FAILED})"


def make_tables(findings: Findings) -> dict[str, str]:
    """The tables of the page, by the names of their places."""
    covered = pl.DataFrame(findings["covered"])
    sparse = covered.filter(kind="sparse").rename({"items": "letters", "computed": "has an interval"})
    sparse = sparse.with_columns(pl.when(pl.col("runs") > 0).then(name) for name in ("covered", "wrong"))
    stops = pl.DataFrame(findings["stopped"]).sort("study", "model")
    stops = stops.rename({"items": "at most", "saved": "prompts saved"})
    rejected, selected = pl.DataFrame(findings["rejected"]), pl.DataFrame(findings["selected"])
    letters, words = ("words", "letters", "model", "has an interval", "covered", "wrong"), {"words": "{:g}"}
    return {
        "missed": "\n".join(f"- {line}" for line in find_missed(findings)) or "Every goal is met in this run.",
        **{kind: coverage_table(covered, kind) for kind in ("once", "repeated", "shares", "missing", "clusters")},
        "sparse": show(sparse, *letters, digits=words),
        "tests": show(rejected, "kind", "study", "metric", "items", "model", "rejected"),
        "gates": gates_table(findings),
        "suites": suites_table(findings),
        "looks": show(stops, "study", "model", "at most", "looks", "prompts saved", "certain", "covered", "wrong"),
        "selection": show(selected, "design", "model", "rankings", "by", "called unfair", "below 0.8", "mean lowest"),
    }
