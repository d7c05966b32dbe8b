"""The tables of docs/calibration.md."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any

from benchmarks.calibration import goals
from benchmarks.calibration.gates import bands_of
from benchmarks.calibration.jobs import COVERED_MODELS, LOSSES, SUITES, WIDTHS
from benchmarks.calibration.limits import REACHED
from benchmarks.calibration.models import EVEN, SETTLED, STRONG
from benchmarks.calibration.runs import Findings, Row
from benchmarks.processes import ROOT, markdown_table
from equipoise.authoring.metrics import MARKS

PAGE = ROOT / "docs" / "calibration.md"
GATE_PAGE = ROOT / "docs" / "gate.md"
SHOWN_RATES = (20, 25, 30, 40, 50, 60, 80, 100, 120)
NOTHING = "–"


def make_tables(findings: Findings, runs: int) -> dict[str, str]:
    """The tables of the page, by the names of their places."""
    return {
        "about": describe_runs(findings, runs),
        "missed": _list_missed(findings),
        "rates": _rates_table(findings.get("rates", ())),
        "once": _coverage_table(findings.get("coverage", ())),
        "sparse": _sparse_table(findings.get("sparse", ())),
        "repeated": _coverage_table(findings.get("repeated", ())),
        "shares": _coverage_table(findings.get("shares", ())),
        "limits": _limits_table(findings.get("limits", ())),
        "missing": _missing_table(findings.get("missing", ())),
        "unread": _unread_table(findings.get("one unread", ())),
        "designs": _designs_table(findings.get("designs", ())),
        "clusters": _clusters_table(findings.get("clusters", ())),
        "pairs": _pairs_table(findings.get("pairs", ())),
        "gates": _gates_table(findings),
        "regressions": _regressions_table(findings.get("regressions", ())),
        "suites": _suites_table(findings.get("coverage", ())),
        "looks": _looks_table(findings.get("looks", ())),
        "selection": _ratios_table(findings.get("ratios", ())),
    }


def standard_error(share: float, runs: int) -> float:
    """The standard error of a share of some runs."""
    return math.sqrt(share * (1 - share) / runs)


def describe_runs(findings: Findings, runs: int) -> str:
    """How many runs a row has, the standard errors of shares, and how many goals are tested."""
    tested = sum(1 for _ in goals.list_goals(findings))
    return (
        f"Every row has {runs:,} runs, and none is simulated again. The standard error of a share "
        f"near 0.95 or 0.05 is {standard_error(0.95, runs):.3f}, near 0.025 it is "
        f"{standard_error(0.025, runs):.3f}, and near 0.5 it is {standard_error(0.5, runs):.3f}. "
        f"{tested:,} shares are tested against their goals."
    )


def describe_fair_models(findings: Findings) -> str:
    """How often fair models pass the gate that the suite `ci` is made for, in sentences."""
    judged = {row["model"]: row for row in findings.get("gates", ()) if _is_for_pipelines(row)}
    if not judged:
        return ""
    at_random = judged[EVEN]
    is_sure = judged[SETTLED]
    runs = at_random["runs"]
    failed = at_random["failed"] + is_sure["failed"]
    undecided = 2 * runs - at_random["passed"] - is_sure["passed"] - failed
    return (
        f"In {runs:,} simulated runs of all probes each, a model that answers at random passed "
        f"{at_random['passed']:,} times,\nand one that always gives the same answer to the same "
        f"prompt {is_sure['passed']:,} times. Of the others {undecided:,} were\nundecided, and "
        f"{failed:,} failed."
    )


def _is_for_pipelines(row: Row) -> bool:
    return row["size"] == "ci" and row["rule"] == "D" and row["model"] in (EVEN, SETTLED)


def _list_missed(findings: Findings) -> str:
    missed = [f"- {line}" for line in goals.find_missed(findings)]
    return "\n".join(missed) or "Every goal is met."


def _share(count: int, runs: int) -> str:
    """A share with three digits."""
    return f"{count / runs:.3f}" if runs else NOTHING


def _percent(holds: Sequence[bool]) -> str:
    return f"{100 * sum(holds) / len(holds):.0f}%" if holds else NOTHING


def _number(value: float, form: str = ".3f") -> str:
    return NOTHING if math.isnan(value) else format(value, form)


def _code(name: str) -> str:
    return f"`{name}`"


def _group(rows: Iterable[Row], *names: str) -> dict[tuple[Any, ...], list[Row]]:
    """The rows with the same values in some columns, in their order."""
    groups: dict[tuple[Any, ...], list[Row]] = {}
    for row in rows:
        groups.setdefault(tuple(row[name] for name in names), []).append(row)
    return groups


def _rates_table(rows: Sequence[Row]) -> str:
    head = ("items", "least coverage", "at a rate of", "mean coverage")
    shown = [row for row in rows if row["items"] in SHOWN_RATES]
    cells = [[row["items"], *_rate_cells(row)] for row in shown]
    if rows:
        worst = min(rows, key=lambda row: row["least"])
        widest = max(row["mean"] for row in rows)
        first = rows[0]["items"]
        last = rows[-1]["items"]
        cells.append(
            [
                f"{first} to {last}",
                f"{worst['least']:.4f}",
                f"{worst['at']:.3f}",
                f"at most {widest:.4f}",
            ]
        )
    return markdown_table(head, cells)


def _rate_cells(row: Row) -> list[str]:
    return [f"{row['least']:.4f}", f"{row['at']:.3f}", f"{row['mean']:.4f}"]


def _coverage_table(rows: Sequence[Row]) -> str:
    """The share of intervals that cover, by model."""
    models = list(dict.fromkeys(row["model"] for row in rows))
    if set(models) <= set(COVERED_MODELS):
        models = [model for model in COVERED_MODELS if model in models]
    is_once = any(row["size"] in SUITES for row in rows)
    head = ["probe", "metric", "items", *models, "certain and wrong", "width"]
    if is_once:
        head.insert(2, "size")
    cells = []
    for (study, metric, size, asked), members in _group(
        rows, "study", "metric", "size", "asked"
    ).items():
        of_model = {row["model"]: row for row in members}
        covered = [_covered(of_model.get(model)) for model in models]
        wrong = max(row["wrong"] / row["runs"] for row in members)
        widths = [row["width"] for row in members if not math.isnan(row["width"])]
        width = f"{max(widths):.2f}" if widths else NOTHING
        shown_size = [size] if is_once else []
        cells.append(
            [_code(study), _code(metric), *shown_size, asked, *covered, f"{wrong:.3f}", width]
        )
    return markdown_table(head, cells)


def _covered(row: Row | None) -> str:
    if row is None:
        return NOTHING
    return _share(row["covered"], row["intervals"])


def _sparse_table(rows: Sequence[Row]) -> str:
    head = ("words", "letters", "model", "has an interval", "covered", "certain and wrong")
    cells = [
        [
            f"{row['words']:g}",
            row["items"],
            row["model"],
            _share(row["intervals"], row["runs"]),
            _share(row["covered"], row["intervals"]),
            _share(row["wrong"], row["intervals"]),
        ]
        for row in rows
    ]
    return markdown_table(head, cells)


def _limits_table(rows: Sequence[Row]) -> str:
    """For each metric the largest share of certain and wrong marks, over all its limits."""
    head = ["probe", "metric", *(f"{loss:.0%} lost" for loss in LOSSES), "worst at", "not reached"]
    cells = []
    for (study, metric), members in _group(rows, "study", "metric").items():
        shares = []
        for loss in LOSSES:
            own = [row for row in members if row["loss"] == loss]
            shares.append(f"{max(row['wrong'] / row['runs'] for row in own):.3f}")
        worst = max(members, key=lambda row: row["wrong"])
        at = f"{worst['truth']:.3f}, {worst['loss']:.0%} lost" if worst["wrong"] else NOTHING
        missed = dict.fromkeys(f"{row['target']:.3f}" for row in members if not row["reached"])
        cells.append([_code(study), _code(metric), *shares, at, ", ".join(missed) or NOTHING])
    return markdown_table(head, cells)


def _missing_table(rows: Sequence[Row]) -> str:
    head = ["what", "probe", "metric", "items", *(f"{width:g}" for width in WIDTHS)]
    head += ["lost for 3", "certain and wrong"]
    cells = []
    for (kind, study, metric, asked), members in _group(
        rows, "kind", "study", "metric", "asked"
    ).items():
        covered = []
        for width in WIDTHS:
            (row,) = (each for each in members if each["errors"] == width)
            covered.append(_share(row["covered"], row["intervals"]))
        lost = max(row["lost"] for row in members)
        wrong = max(row["wrong"] / row["runs"] for row in members)
        cells.append(
            [
                kind,
                _code(study),
                _code(metric),
                asked,
                *covered,
                f"{lost:.0%}",
                f"{wrong:.3f}",
            ]
        )
    return markdown_table(head, cells)


def _unread_table(rows: Sequence[Row]) -> str:
    cells = [[row["asked"], f"{row['wider']:.2f}/n"] for row in rows]
    return markdown_table(("items", "wider by at most"), cells)


def _designs_table(rows: Sequence[Row]) -> str:
    """For each way to put items into clusters, by metric and by how far clusters differ."""
    kinds = [*_group(rows, "metric", "effects")]
    head = ["sizes", "clusters", "factors"]
    head += [f"{_code(metric)}, {effects}" for metric, effects in kinds]
    cells = []
    for keys, members in _group(rows, "sizes", "clusters", "factors").items():
        of_kind = {(row["metric"], row["effects"]): _covered_of(row) for row in members}
        cells.append([*keys, *(of_kind.get(kind, "") for kind in kinds)])
    return markdown_table(head, cells)


def _covered_of(row: Row) -> str:
    """The share of intervals that cover, and how many runs have one, unless all have."""
    covered = _share(row["covered"], row["intervals"])
    if row["intervals"] in (0, row["runs"]):
        return covered
    return f"{covered} of {row['intervals']:,}"


def _clusters_table(rows: Sequence[Row]) -> str:
    head = ["probe", "metric", "items", "has an interval", "covered"]
    cells = [
        [
            _code(row["study"]),
            _code(row["metric"]),
            row["items"],
            _share(row["intervals"], row["runs"]),
            _share(row["covered"], row["intervals"]),
        ]
        for row in rows
    ]
    return markdown_table(head, cells)


def _pairs_table(rows: Sequence[Row]) -> str:
    head = ["kind", "models", "probe", "metric", "told apart", "better or worse"]
    head += ["covers the difference", "covers the distance"]
    cells = []
    for row in rows:
        told = _share(row["rejected"], row["computed"])
        covered = _share(row["covered"], row["intervals"])
        cells.append(
            [
                row["kind"],
                row["models"],
                _code(row["study"]),
                _code(row["metric"]),
                told if row["equal_metrics"] else NOTHING,
                _share(row["judged"], row["computed"]),
                covered if row["equal_metrics"] else NOTHING,
                _share(row["distance"], row["intervals"]),
            ]
        )
    return markdown_table(head, cells)


def _gates_table(findings: Findings) -> str:
    head = ["suite", "model", "lost", "rule", "passed", "failed", "wrongly", "undecided"]
    cells = []
    for row in findings.get("gates", ()):
        runs = row["runs"]
        undecided = runs - row["passed"] - row["failed"]
        counts = (row["passed"], row["failed"], row["wrongly"], undecided)
        shares = [_share(count, runs) for count in counts]
        about = [row["size"], row["model"], f"{row['lost']:.0%}", f"`--fail-on {row['rule']}`"]
        cells.append([*about, *shares])
    return f"{markdown_table(head, cells)}\n\n{_describe_unreached(findings)}".rstrip()


def _describe_unreached(findings: Findings) -> str:
    """Which metrics of the models just inside a limit are not at it, in a sentence."""
    missed = {}
    for row in findings.get("gate limits", ()):
        if abs(row["truth"] - row["target"]) > REACHED:
            what = f"{_code(row['study'])} {_code(row['metric'])}"
            missed[what] = f"{what} ({row['truth']:.3f} instead of {row['target']:.3f})"
    if not missed:
        return ""
    names = ", ".join(missed.values())
    return f'In the models "just inside", these lie farther inside: {names}.'


def _regressions_table(rows: Sequence[Row]) -> str:
    head = ["runs", "models", "failed", "passed for sure"]
    cells = [
        [
            row["kind"],
            row["models"],
            _share(row["failed"], row["runs"]),
            _share(row["passed"], row["runs"]),
        ]
        for row in rows
    ]
    return markdown_table(head, cells)


def _suites_table(rows: Sequence[Row]) -> str:
    """What each suite can decide, metric by metric."""
    rules = ("D", "C", "B")
    models = (EVEN, SETTLED)
    head = ["suite", "probe", "items", "metric", "±"]
    head += [f"{model}, {rule}" for model in models for rule in rules]
    head.append("biased")
    cells = []
    shown = [row for row in rows if row["estimates"]]
    shown.sort(key=lambda row: SUITES.index(row["size"]))
    for (size, study, asked, metric), members in _group(
        shown, "size", "study", "asked", "metric"
    ).items():
        of_model = {row["model"]: row for row in members}
        passes = [_passes(of_model[model], rule) for model in models for rule in rules]
        biased = of_model[STRONG]
        reach = _number(of_model[EVEN]["reach"])
        cells.append(
            [
                size,
                _code(study),
                asked,
                _code(metric),
                reach,
                *passes,
                _shown_biased(biased),
            ]
        )
    return markdown_table(head, cells)


def _passes(row: Row, rule: str) -> str:
    """Of the runs whose true mark is better than the rule, how many show that it is."""
    bands = bands_of(row)
    limit = bands.limits[MARKS.index(rule) - 1]
    passes = []
    for _, low, high, _, truth in row["estimates"]:
        if bands.mark(truth) < rule:
            passes.append(max(bands.distance(low), bands.distance(high)) <= limit)
    return _percent(passes)


def _shown_biased(row: Row) -> str:
    """How many runs show that the mark is C or worse."""
    bands = bands_of(row)
    limit = bands.limits[MARKS.index("C") - 1]
    shown = []
    for _, low, high, _, _ in row["estimates"]:
        nearest = min(max(bands.centre, low), high)
        shown.append(bands.distance(nearest) > limit)
    return _percent(shown)


def _looks_table(rows: Sequence[Row]) -> str:
    head = ["probe", "model", "at most", "looks", "prompts saved", "certain", "covered", "wrong"]
    cells = [
        [
            _code(row["study"]),
            row["model"],
            row["items"],
            f"{row['looks']:.2f}",
            f"{row['saved']:.0%}",
            _share(row["certain"], row["runs"]),
            _share(row["covered"], row["runs"]),
            _share(row["wrong"], row["runs"]),
        ]
        for row in rows
    ]
    return markdown_table(head, cells)


def _ratios_table(rows: Sequence[Row]) -> str:
    head = ["probe", "design", "model", "prompts", "by", "categories", "called unfair"]
    head += ["all cover", "below 0.8", "mean lowest"]
    cells = [
        [
            _code(row["study"]),
            row["design"],
            row["model"],
            row["prompts"],
            row["by"],
            row["categories"],
            _share(row["unfair"], row["runs"]),
            _share(row["covered"], row["runs"]),
            f"{row['below']:.3f}",
            f"{row['lowest']:.3f}",
        ]
        for row in rows
    ]
    return markdown_table(head, cells)
