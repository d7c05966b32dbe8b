"""Transcripts: one page on which people search and filter the answers of a run.

What its script gets are plain values that become JSON. A text is a list of its pieces: a string, or for what is not
shown as plain text its class and the string.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson
import polars as pl
from markupsafe import Markup

from equipoise.detect import Detector
from equipoise.errors import BadParameter, InputError, UnknownName
from equipoise.measuring.plan import Setup
from equipoise.measuring.result import ORIGINS
from equipoise.report.cases import CONTRAST, with_contrast
from equipoise.report.charts.drawing import colour_styles
from equipoise.report.files import check_target, writing
from equipoise.report.html.page import content_policy, make_environment, read_own
from equipoise.report.html.pieces import MAX_CHARACTERS, split_texts
from equipoise.report.text import reveal_invisible
from equipoise.runs.finished import RunSource, open_run
from equipoise.runs.run import Run
from equipoise.schema import ANSWER, ID, ITEM, JUDGED, LABEL, PROMPT, REPETITION, STATUS, SYSTEM, is_measured

MOST_ANSWERS = 50_000
"""With more, the page would take long to open."""
OUTCOME = "__outcome"
NO_ANSWER, UNDETECTED, COUNTED = "no answer", "undetected", "counted"
"""What stands in place of a label: the attempt failed; nothing was read; words were counted."""
NARROW = "--probe, --where, --search"
"""The options that narrow what is shown."""
ALL_CHARACTERS = 60_000_000
"""About how long all answers together may be; but MAX_CHARACTERS of each are always shown."""
MAX_ANSWER, MAX_PROMPT = 20_000, 5_000
TOGETHER = 500
"""So many texts are split at a time."""


@dataclass(frozen=True, kw_only=True)
class Chosen:
    """The chosen attempts of a probe, how many fit, and first the items whose arms were answered most differently."""

    setup: Setup
    table: pl.DataFrame
    fitting: int


def choose(
    run: Run,
    probes: Sequence[str] = (),
    where: Mapping[str, str] | None = None,
    search: str = "",
    most: int = MOST_ANSWERS,
) -> list[Chosen]:
    """The attempts that fit; where they are too many, a fair share of each probe, the most different cases first.

    probes  only these
    where   values that attempts have: of `label`, `status`, `repetition`, or of a covariate
    search  text that the answer or the prompt contains, in lower or upper case
    """
    names = list(dict.fromkeys(probes)) or list(run.planned)
    setups = {name: run.setup(name) for name in names}
    known = {LABEL, STATUS, REPETITION, *(column for name in names for column in run.planned[name].covariates)}
    for column in where or ():
        if column not in known:
            raise UnknownName("value of attempts", column, sorted(known))
    if most < 1:
        raise BadParameter(f"At least one answer must be shown. Got {most} instead.")
    room, chosen = most, {}
    # From the smallest on, so that what one probe does not need is there for the others.
    for place, name in enumerate(sorted(names, key=lambda name: sum(run.states[name].values()))):
        chosen[name] = _choose_of(run, setups[name], where or {}, search.lower(), room // (len(names) - place))
        room -= chosen[name].table.height
    if not any(each.fitting for each in chosen.values()):
        raise InputError(f"No answer in {run.path} fits all that was asked for. Leave out a condition.")
    return [chosen[name] for name in names]


def _choose_of(run: Run, setup: Setup, where: Mapping[str, str], search: str, most: int) -> Chosen:
    probe, covariates = setup.probe, tuple(run.planned[setup.probe.name].covariates)
    label: pl.Expr = (
        pl.when(probe.detector.detected()).then(pl.lit(COUNTED)) if probe.detector.counts else pl.col(LABEL)
    )
    outcome = pl.when(is_measured()).then(label.fill_null(UNDETECTED)).otherwise(pl.lit(NO_ANSWER)).alias(OUTCOME)
    found = [pl.col(text).str.to_lowercase().str.contains(search, literal=True) for text in (ANSWER, PROMPT)]
    conditions = [pl.any_horizontal(*(each.fill_null(value=False) for each in found))]
    for name, value in where.items():
        column = OUTCOME if name == LABEL else name
        has_it = column in (OUTCOME, STATUS, REPETITION, *covariates)
        conditions.append(pl.col(column).cast(pl.String) == value if has_it else pl.lit(value=False))
    kept: list[pl.DataFrame] = []
    fitting = 0
    for batch in run.transcript_batches(probe.name):
        fits = with_contrast(probe, batch).with_columns(outcome).filter(conditions)
        fitting += fits.height
        kept = [pl.concat([*kept, fits]).sort(CONTRAST, descending=True, maintain_order=True).head(most)]
    # Values of covariates that are numbers or keys have names.
    named = [
        pl.col(name).cast(pl.String).replace(dict(names))
        for name, names in probe.value_names.items()
        if name in covariates
    ]
    table = pl.concat(kept).drop(CONTRAST).with_columns(named)
    return Chosen(setup=setup, table=table, fitting=fitting)


def write_transcripts(run: RunSource, out: str | Path, **conditions: Any) -> tuple[int, int]:
    """Write the answers of a run as one HTML file that works offline, to be searched and filtered.

    `conditions` are those of `choose`. Return how many answers the page has, and how many fit.
    """
    path = Path(out)
    check_target(path)
    opened = open_run(run)
    chosen = choose(opened, **conditions)
    page = render_transcripts(opened, chosen)
    with writing(path) as file:
        file.write(page.encode())
    return sum(each.table.height for each in chosen), sum(each.fitting for each in chosen)


def render_transcripts(run: Run, chosen: Sequence[Chosen]) -> str:
    """The page."""
    style = colour_styles() + read_own("style.css") + read_own("transcripts.css")
    script = read_own("transcripts.js")
    shown = sum(each.table.height for each in chosen)
    most = min(MAX_ANSWER, max(MAX_CHARACTERS, ALL_CHARACTERS // max(shown, 1)))
    return (
        make_environment()
        .get_template("transcripts.html.j2")
        .render(
            run=run,
            origin=ORIGINS[run.record.origin],
            shown=shown,
            fitting=sum(each.fitting for each in chosen),
            probes=[each.setup.probe for each in chosen],
            narrow=NARROW,
            style=style,
            script=script,
            data=encode_json_for_page([_describe_probe(run, each, most) for each in chosen]),
            policy=content_policy(style, script),
        )
    )


def encode_json_for_page(value: object) -> Markup:
    """JSON that can stand in a script element: nothing in it begins a tag, a comment or an entity."""
    text = orjson.dumps(value).decode()
    for character in "<>&\u2028\u2029":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return Markup(text)  # noqa: S704 - no character is left that means anything in HTML


def _describe_probe(run: Run, chosen: Chosen, most: int) -> dict[str, Any]:
    table, probe = chosen.table, chosen.setup.probe
    detector, columns = probe.detector, run.planned[probe.name].covariates
    prompts = table.unique(ID, keep="first", maintain_order=True)
    places = {key: place for place, key in enumerate(prompts[ID])}
    covariates = [name for name in columns if name != SYSTEM]
    systems = prompts[SYSTEM].to_list() if SYSTEM in columns else [None] * prompts.height
    texts = zip(*(_split(some, None, MAX_PROMPT) for some in (prompts[PROMPT].to_list(), systems)), strict=True)
    answers = _split(table[ANSWER].to_list(), detector, most)
    return {
        "name": probe.name,
        "groups": list(detector.patterns),
        "prompts": [
            {
                "id": row[ID],
                "item": reveal_invisible(row[ITEM]),
                "text": text,
                "system": system,
                "facts": {name: reveal_invisible(str(row[name])) for name in covariates if row[name] is not None},
            }
            for row, (text, system) in zip(prompts.iter_rows(named=True), texts, strict=True)
        ],
        "answers": [
            {
                "prompt": places[row[ID]],
                "label": row[OUTCOME],
                "status": row[STATUS],
                "repetition": str(row[REPETITION]),
                "read": _describe_reading(detector, row, chosen.setup.judge),
                "detail": reveal_invisible((row["detail"] or "")[:300]),
                "text": text,
            }
            for row, text in zip(table.iter_rows(named=True), answers, strict=True)
        ],
    }


def _describe_reading(detector: Detector, row: Mapping[str, Any], judge: str | None) -> str:
    """How an answer was read, in words."""
    if row[OUTCOME] == NO_ANSWER:
        return NO_ANSWER
    read = detector.describe(row)
    return f"{read}, by the judge {reveal_invisible(judge or '')}" if row.get(JUDGED) else read


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
