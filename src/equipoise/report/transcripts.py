"""Transcripts: one page on which people search and filter the answers of a run.

What its script gets are plain values that become JSON. Prompts and values of covariates are written once and referred
to by their places. A text is a list of its pieces: a string, or for what is not shown as plain text its class and the
string.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import orjson
import polars as pl
from markupsafe import Markup

from equipoise.authoring import Probe
from equipoise.detect import Detector
from equipoise.errors import BadParameter, InputError, UnknownName
from equipoise.measuring.cases import CONTRAST, with_contrast
from equipoise.measuring.result import ORIGINS, name_origin
from equipoise.report.charts.drawing import colour_styles
from equipoise.report.files import check_target, writing
from equipoise.report.html.page import content_policy, make_environment, read_own
from equipoise.report.html.pieces import MAX_CHARACTERS, split_texts
from equipoise.report.text import reveal_invisible
from equipoise.runs.finished import RunSource, open_run
from equipoise.runs.run import Run
from equipoise.schema import ANSWER, ID, ITEM, JUDGED, LABEL, PROMPT, REPETITION, STATUS, SYSTEM, Status, is_measured

MOST_ANSWERS = 50_000
"""With more, the page would take long to open."""
OUTCOME = "__outcome"
NO_ANSWER, UNDETECTED, COUNTED = "no answer", "undetected", "counted"
"""What stands in place of a label: the attempt failed; nothing was read; words were counted."""
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


@dataclass(frozen=True, kw_only=True)
class Choice:
    """The attempts that fit every condition; an empty condition fits all. Of several values, one must fit."""

    probes: tuple[str, ...] = ()
    labels: tuple[str, ...] = ()
    statuses: tuple[str, ...] = ()
    repetitions: tuple[int, ...] = ()
    covariates: Mapping[str, str] = field(default_factory=dict)
    search: str = ""
    """Text that the answer or the prompt contains, in lower or upper case."""
    most: int = MOST_ANSWERS


@dataclass(frozen=True, kw_only=True)
class Chosen:
    """The chosen attempts of a probe, how many fit, and first the items whose arms were answered most differently."""

    probe: Probe
    columns: tuple[str, ...]
    """The covariates, and `system` if prompts have a system part."""
    table: pl.DataFrame
    fitting: int
    judge: str | None
    """Whose the labels are that the reading did not give, if anyone's."""


def choose(run: Run, choice: Choice) -> list[Chosen]:
    """The attempts that fit; where they are too many, a fair share of each probe, the most different cases first."""
    _check(run, choice)
    names = list(dict.fromkeys(choice.probes)) or list(run.planned)
    room, chosen = choice.most, {}
    # From the smallest on, so that what one probe does not need is there for the others.
    by_size = sorted(names, key=lambda name: sum(run.states[name][status] for status in Status))
    for place, name in enumerate(by_size):
        chosen[name] = _choose_of(run, name, choice, room // (len(names) - place))
        room -= chosen[name].table.height
    if not any(each.fitting for each in chosen.values()):
        raise InputError(f"No answer in {run.path} fits all that was asked for. Leave out a condition.")
    return [chosen[name] for name in names]


def _choose_of(run: Run, name: str, choice: Choice, most: int) -> Chosen:
    setup, covariates = run.setup(name), tuple(run.planned[name].covariates)
    probe = setup.probe
    kept: list[pl.DataFrame] = []
    fitting = 0
    label: pl.Expr = (
        pl.when(probe.detector.detected()).then(pl.lit(COUNTED)) if probe.detector.counts else pl.col(LABEL)
    )
    outcome = pl.when(is_measured()).then(label.fill_null(UNDETECTED)).otherwise(pl.lit(NO_ANSWER)).alias(OUTCOME)
    for batch in run.transcript_batches(name):
        fits = with_contrast(probe, batch).with_columns(outcome).filter(list(_conditions(choice, covariates)))
        fitting += fits.height
        kept = [pl.concat([*kept, fits]).sort(CONTRAST, descending=True, maintain_order=True).head(most)]
    # Values of covariates that are numbers or keys have names.
    named = [
        pl.col(name).cast(pl.String).replace(dict(names))
        for name, names in probe.value_names.items()
        if name in covariates
    ]
    table = pl.concat(kept).drop(CONTRAST).with_columns(named)
    return Chosen(probe=probe, columns=covariates, table=table, fitting=fitting, judge=setup.judge)


def _conditions(choice: Choice, covariates: tuple[str, ...]) -> Iterator[pl.Expr]:
    yield pl.lit(value=True)
    for column, values in ((OUTCOME, choice.labels), (STATUS, choice.statuses), (REPETITION, choice.repetitions)):
        if values:
            yield pl.col(column).is_in(values)
    for name, value in choice.covariates.items():
        yield pl.col(name).cast(pl.String) == value if name in covariates else pl.lit(value=False)
    if choice.search:
        wanted = choice.search.lower()
        found = (pl.col(name).str.to_lowercase().str.contains(wanted, literal=True) for name in (ANSWER, PROMPT))
        yield pl.any_horizontal(*(each.fill_null(value=False) for each in found))


def _check(run: Run, choice: Choice) -> None:
    """Refuse names that nothing in the run has, which would fit nothing."""
    probes = choice.probes or tuple(run.planned)
    for name in probes:
        run.setup(name)
    detectors = [run.setup(name).probe.detector for name in probes]
    labels = {label for detector in detectors for label in (*detector.labels, *detector.other_labels)}
    known = [*sorted(labels), *([COUNTED] if any(detector.counts for detector in detectors) else []), UNDETECTED]
    covariates = sorted({name for probe in probes for name in run.planned[probe].covariates})
    statuses = [status.value for status in Status if status is not Status.PENDING]
    for kind, given, names in (
        ("label", choice.labels, [*known, NO_ANSWER]),
        ("status", choice.statuses, statuses),
        ("covariate", choice.covariates, covariates),
    ):
        for name in given:
            if name not in names:
                raise UnknownName(kind, name, names)
    if choice.most < 1:
        raise BadParameter(f"At least one answer must be shown. Got {choice.most} instead.")


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
    style = colour_styles() + read_own("style.css") + read_own("transcripts.css")
    script = read_own("transcripts.js")
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
    answers = sum(each.table.height for each in chosen)
    most = min(MAX_ANSWER, max(MAX_CHARACTERS, ALL_CHARACTERS // max(answers, 1)))
    fields = _find_fields(chosen)
    return {
        "fields": [{"name": name, "values": [reveal_invisible(value) for value in values]} for name, values in fields],
        "probes": [_describe_probe(each, most) for each in chosen],
    }


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
            # Numbers first, by their size, then texts.
            in_order = sorted(values, key=lambda value: (True, value) if isinstance(value, str) else (False, value))
            fields.append((name, [str(value) for value in in_order]))
    return fields


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
