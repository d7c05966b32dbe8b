"""Writing the page of transcripts, and what its script gets: plain values that become JSON.

Prompts and values of covariates are written once and referred to by their places. A text is a list of its pieces: a
string, or for what is not shown as plain text its class and the string.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from importlib.resources import files
from pathlib import Path
from typing import Any

import orjson
import polars as pl
from markupsafe import Markup

from equipoise.detect import Detector
from equipoise.measuring.audit import ORIGINS, name_origin
from equipoise.report.charts.drawing import colour_styles
from equipoise.report.files import check_target, writing
from equipoise.report.html.page import content_policy, make_environment
from equipoise.report.html.pieces import MAX_CHARACTERS, split_texts
from equipoise.report.text import reveal_invisible
from equipoise.report.transcripts.choose import NO_ANSWER, OUTCOME, UNDETECTED, Choice, Chosen, choose
from equipoise.runs.finished import RunSource, open_run
from equipoise.runs.run import Run
from equipoise.schema import ANSWER, ID, ITEM, JUDGED, PROMPT, REPETITION, STATUS, SYSTEM

NARROW = "--probe, --label, --status, --repetition, --where, --search"
"""The options that narrow what is shown."""
MAX_FILTER_VALUES = 500
"""A covariate with more values is shown, but has no filter."""
MAX_NUMBERS = 12
"""The same for a covariate whose values are fractions."""
ALL_CHARACTERS = 60_000_000
"""About how long all answers together may be; but MAX_CHARACTERS of each are always shown."""
MAX_ANSWER, MAX_PROMPT = 20_000, 5_000
TOGETHER = 500
"""So many texts are split at a time."""


def write_transcripts(run: RunSource, out: str | Path, choice: Choice | None = None) -> list[Chosen]:
    """Write the answers of a run as one HTML file that works offline, to be searched and filtered."""
    path = Path(out)
    check_target(path)
    opened = open_run(run)
    chosen = choose(opened, choice or Choice())
    page = render_transcripts(opened, chosen)
    with writing(path) as file:
        file.write(page.encode())
    return chosen


def render_transcripts(run: Run, chosen: list[Chosen]) -> str:
    """The page."""
    folder = files("equipoise.report.html")
    style, script = (
        Markup(text)  # noqa: S704 - ours
        for text in (
            colour_styles() + "".join((folder / name).read_text("utf-8") for name in ("style.css", "transcripts.css")),
            (folder / "transcripts.js").read_text("utf-8"),
        )
    )
    return (
        make_environment()
        .get_template("transcripts.html.j2")
        .render(
            run=run,
            origin=ORIGINS[name_origin(simulated=run.settings.simulated, imported=run.settings.imported)],
            shown=sum(each.table.height for each in chosen),
            fitting=sum(each.fitting for each in chosen),
            probes=[each.probe for each in chosen],
            narrow=NARROW,
            style=style,
            script=script,
            data=encode_json_for_page(build_contents(chosen)),
            policy=content_policy(style, script),
        )
    )


def encode_json_for_page(value: object) -> Markup:
    """JSON that can stand in a script element: nothing in it begins a tag, a comment or an entity."""
    text = orjson.dumps(value, option=orjson.OPT_NON_STR_KEYS).decode()
    for character in "<>&\u2028\u2029":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return Markup(text)  # noqa: S704 - no character is left that means anything in HTML


def build_contents(chosen: Sequence[Chosen]) -> dict[str, Any]:
    """All that the page shows of these attempts."""
    chosen = [_with_names(each) for each in chosen]
    answers = sum(each.table.height for each in chosen)
    most = min(MAX_ANSWER, max(MAX_CHARACTERS, ALL_CHARACTERS // max(answers, 1)))
    fields = _find_fields(chosen)
    return {
        "fields": [{"name": name, "values": [reveal_invisible(value) for value in values]} for name, values in fields],
        "probes": [_describe_probe(each, most) for each in chosen],
    }


def _with_names(chosen: Chosen) -> Chosen:
    """The attempts with names for the values of covariates that are numbers or keys."""
    named = [
        pl.col(name).cast(pl.String).replace(dict(names))
        for name, names in chosen.probe.value_names.items()
        if name in chosen.columns
    ]
    return replace(chosen, table=chosen.table.with_columns(named))


def _find_fields(chosen: Sequence[Chosen]) -> list[tuple[str, list[str]]]:
    """What can be filtered by, each with its values in order: first what every attempt has, then covariates."""
    outcomes = pl.concat([each.table[OUTCOME] for each in chosen]).unique().to_list()
    order = [label for each in chosen for label in (*each.probe.detector.labels, *each.probe.detector.other_labels)]
    order += [UNDETECTED, NO_ANSWER]
    repetitions = pl.concat([each.table[REPETITION] for each in chosen]).unique().sort()
    fields = [
        ("probe", [each.probe.name for each in chosen]),
        ("label", sorted(outcomes, key=lambda label: order.index(label) if label in order else -1)),
        ("status", pl.concat([each.table[STATUS] for each in chosen]).unique().sort().to_list()),
        ("repetition", [str(number) for number in repetitions]),
    ]
    names = dict.fromkeys(name for each in chosen for name in each.columns if name != SYSTEM)
    for name in names:
        columns = [each.table[name].unique() for each in chosen if name in each.columns]
        values = {value for column in columns for value in column if value is not None}
        limit = MAX_NUMBERS if any(column.dtype.is_float() for column in columns) else MAX_FILTER_VALUES
        if 1 < len(values) <= limit:
            fields.append((name, [str(value) for value in sorted(values, key=_by_number_then_text)]))
    return fields


def _by_number_then_text(value: Any) -> tuple[bool, float, str]:
    return (True, 0.0, value) if isinstance(value, str) else (False, float(value), "")


def _describe_probe(chosen: Chosen, most: int) -> dict[str, Any]:
    table, detector = chosen.table, chosen.probe.detector
    prompts = table.unique(ID, keep="first", maintain_order=True)
    places = {key: place for place, key in enumerate(prompts[ID])}
    return {
        "name": chosen.probe.name,
        "groups": list(detector.patterns),
        "ids": prompts[ID].to_list(),
        "items": [reveal_invisible(item) for item in prompts[ITEM]],
        "prompts": _split(prompts[PROMPT].to_list(), None, MAX_PROMPT),
        "systems": _split(prompts[SYSTEM].to_list(), None, MAX_PROMPT) if SYSTEM in chosen.columns else None,
        "covariates": {name: _encode(prompts[name]) for name in chosen.columns if name != SYSTEM},
        "rows": {
            "prompt": [places[key] for key in table[ID]],
            "label": table[OUTCOME].to_list(),
            "status": table[STATUS].to_list(),
            "repetition": table[REPETITION].cast(pl.String).to_list(),
        },
        "read": _encode(_describe_reading(detector, table, chosen.judge)),
        "details": {
            place: reveal_invisible(detail[:300]) for place, detail in enumerate(table["detail"]) if detail is not None
        },
        "answers": _split(table[ANSWER].to_list(), detector, most),
    }


def _describe_reading(detector: Detector, table: pl.DataFrame, judge: str | None) -> list[str]:
    """How each answer was read, in words."""
    columns = list(dict.fromkeys((*detector.columns, OUTCOME, *([JUDGED] if JUDGED in table.columns else []))))
    described = []
    for row in table.select(columns).iter_rows(named=True):
        read = NO_ANSWER if row[OUTCOME] == NO_ANSWER else detector.describe(row)
        described.append(f"{read}, by the judge {reveal_invisible(judge or '')}" if row.get(JUDGED) else read)
    return described


def _encode(values: Iterable[Any]) -> dict[str, Any]:
    """Values as text: each different one once, and for each place which one it is (-1: none)."""
    known: dict[str, int] = {}
    codes = [-1 if value is None else known.setdefault(str(value), len(known)) for value in values]
    return {"values": [reveal_invisible(value) for value in known], "codes": codes}


def _split(texts: Sequence[str | None], detector: Detector | None, most: int) -> list[list[Any] | None]:
    """Each text in pieces; None where there is no text. Equal texts are split only once."""
    different = list({text for text in texts if text is not None})
    found: dict[str | None, list[Any]] = {}
    for start in range(0, len(different), TOGETHER):
        some = different[start : start + TOGETHER]
        for text, pieces in zip(some, split_texts(some, detector, most), strict=True):
            found[text] = [
                piece.text
                if piece.kind == "text"
                else [" ".join(f"group-{group}" for group in piece.groups) or piece.kind, piece.text]
                for piece in pieces
            ]
    return [found.get(text) for text in texts]
