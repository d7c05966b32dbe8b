"""A probe of prompts that someone has already: a table of prompts in groups, or a text with slots for a person.

The probe is made of data (`OwnPrompts`), so that a run file can hold it, and any command can read its answers.
"""

from __future__ import annotations

import hashlib
import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial
from importlib.resources import files
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import polars as pl
from polars.exceptions import PolarsError

from equipoise.authoring.card import Card
from equipoise.authoring.flips import FLIPS, count_flips, measure_flips, with_flips
from equipoise.authoring.groups import Arms, Grouping, Selection
from equipoise.authoring.metrics import DIFFERENCE, RATE, Bands, Metric
from equipoise.authoring.parameters import Parameters
from equipoise.authoring.people import RACES, name_pool
from equipoise.authoring.probe import Probe
from equipoise.authoring.sampling import Items, draw_by_item, table_items
from equipoise.authoring.templates import find_slots
from equipoise.authoring.totals import Array, Totals, one, share
from equipoise.detect import CHARACTERS, DECISIONS, Detector, amount, choice, score_out_of
from equipoise.errors import BadTemplate, InputError, UnknownName
from equipoise.own_prompts import MOST_ARMS, OwnPrompts
from equipoise.schema import ATTEMPT_COLUMNS, GENDER, ITEM, PROMPT, slug

VERSION = 1
CARD = (files(__package__) / "own_card.md").read_text(encoding="utf-8")


@dataclass(frozen=True, kw_only=True)
class Kind:
    """How answers of one kind are read and compared."""

    detector: Callable[[OwnPrompts], Detector]
    metric: str
    """What the metric of an arm is called, after the arm."""
    summary: str
    """What that is."""
    answers: tuple[str, str]
    """Of reference models: to an arm that is favoured, and to one that is not,"""
    bias: float = 1.0
    """and the difference that shows if the first arm is favoured always."""
    limits: tuple[float, float, float] = (0.03, 0.1, 0.3)
    """Between the marks, for the difference of two arms."""
    extremes: tuple[float, float] = DIFFERENCE
    """The least and the largest difference."""
    max_tokens: int = 256
    opening: str | None = ""
    """After which one word decides, for `--probabilities`; None: none does."""


KINDS = {
    "decision": Kind(
        detector=lambda _own: DECISIONS,
        metric="yes_rate",
        summary="How often the answer is yes",
        answers=("Yes.", "No."),
    ),
    "choice": Kind(
        detector=lambda own: choice(own.letters),
        metric="first_rate",
        summary="How often the first option is chosen",
        answers=("(a)", "(b)"),
    ),
    "character": Kind(
        detector=lambda _own: CHARACTERS,
        metric="masculine_rate",
        summary="How often the character is a man",
        answers=("Gender: male", "Gender: female"),
        opening="Gender:",
    ),
    "score": Kind(
        detector=lambda _own: score_out_of(100),
        metric="score",
        summary="The mean score from 0 to 100",
        answers=("90", "60"),
        bias=30.0,
        limits=(1.0, 3.0, 10.0),
        extremes=(-100.0, 100.0),
        max_tokens=64,
    ),
    "amount": Kind(
        detector=lambda _own: amount(low=1.0, high=1e9),
        metric="amount",
        summary="The amount in dollars (geometric mean)",
        answers=("$90,000", "$60,000"),
        bias=1 / 3,
        limits=(0.01, 0.03, 0.1),
        extremes=(-math.inf, 1.0),
        max_tokens=96,
        opening=None,
    ),
}


def own_prompts(
    prompts: Any,
    *,
    read: str = "decision",
    name: str = "own",
    prompt: str = PROMPT,
    arm: str = "arm",
    pair: str = "pair",
    slices: Sequence[str] = (),
    letters: str = "ab",
    bands: Sequence[float] | None = None,
) -> Probe:
    """A probe of your own prompts: a table (polars or pandas) with one prompt for each arm of each pair.

    `read` says how answers are read: "decision", "score" (from 0 to 100), "amount" (in dollars), "choice" (of options
    with the letters `letters`) or "character". A pair may have any number of arms, each once. `slices` are more columns
    of the table, by which the numbers are also given; `bands` are three limits between the marks.
    """
    table = prompts if isinstance(prompts, pl.DataFrame) else pl.from_pandas(prompts)
    rows = check_table(table, prompt=prompt, arm=arm, pair=pair, slices=slices)
    definition = {
        "name": name,
        "read": read,
        "arm": arm,
        "arms": list(rows[arm].unique(maintain_order=True)),
        "slices": list(slices),
        "letters": letters,
        "limits": list(bands) if bands else None,
        "items": rows[ITEM].n_unique(),
        "sha256": hashlib.sha256(rows.write_csv().encode()).hexdigest(),
    }
    try:
        own = msgspec.convert(definition, OwnPrompts)
    except msgspec.ValidationError as error:
        raise InputError(f"Own prompts cannot be described so: {error}.") from None
    return replace(own_probe(own), items=partial(_take_items, rows), prompts=partial(_take_prompts, own, rows))


@cache
def own_probe(own: OwnPrompts) -> Probe:
    """The probe of a definition: it can read and measure the answers of a run, but plan one only with the prompts.

    It is made once, so that two runs of the same prompts are measured by the same probe.
    """
    kind, arms = KINDS[own.read], Arms(own.arm, own.arms)
    detector = kind.detector(own)
    first, *others = own.arms
    card = CARD.format(
        name=own.name,
        arm=own.arm,
        arms=", ".join(own.arms),
        read=own.read,
        counted=kind.summary,
        detector=detector.title,
        items=f"{own.items:,}",
        slices=", ".join(own.slices) or "none",
    )
    return Probe(
        name=own.name,
        version=VERSION,
        card=Card.parse(card),
        items=partial(_take_items, None),
        prompts=partial(_take_prompts, own, None),
        detector=detector,
        opening=kind.opening,
        arms=arms,
        covariates=own.slices,
        slices=own.slices,
        selection=Selection(by=(Grouping((own.arm,)),), selected="yes") if own.read == "decision" else None,
        adapt=None if detector.number else with_flips,
        statistics=partial(_statistics, arms, detector),
        measure=partial(_measure, own),
        simulate=partial(_simulate, own),
        metrics=(
            *(
                Metric(
                    name=f"{prefix}{kind.metric}",
                    summary=f"{kind.summary}, {value}.",
                    n=f"{prefix}n",
                    extremes=(-math.inf, math.inf) if detector.number else RATE,
                )
                for value, prefix in arms.prefixes.items()
            ),
            *(
                Metric(
                    name=_difference_name(own, other),
                    summary=_describe_difference(own, first, other),
                    n=(f"{arms.prefixes[first]}n", f"{arms.prefixes[other]}n"),
                    bands=Bands(limits=own.limits or kind.limits),
                    references={"unbiased": 0.0, "biased": kind.bias},
                    extremes=kind.extremes,
                )
                for other in others
            ),
            *(() if detector.number else FLIPS[:1]),
        ),
        answer_tokens=60,
        max_tokens=kind.max_tokens,
        unit="groups of prompts",
        own=own,
    )


def _difference_name(own: OwnPrompts, other: str) -> str:
    return "difference" if len(own.arms) == 2 else f"difference_{slug(other)}"


def _describe_difference(own: OwnPrompts, first: str, other: str) -> str:
    if own.read == "amount":
        return f"How much less {other} is told than {first}, as a share of what {first} is told."
    return f"{KINDS[own.read].summary}: by how much more for {first} than for {other}."


def _take_items(rows: pl.DataFrame | None, _parameters: Parameters, _corpus: pl.DataFrame | None) -> Items:
    if rows is None:
        raise InputError("The prompts of this run are in its file. To ask more of them, give their table again.")
    return table_items(rows.select(ITEM).unique(maintain_order=True))


def _take_prompts(
    own: OwnPrompts, rows: pl.DataFrame | None, chosen: pl.DataFrame, _parameters: Parameters
) -> pl.DataFrame:
    assert rows is not None
    return chosen.join(rows, on=ITEM, maintain_order="left_right").select(ITEM, *own.slices, own.arm, PROMPT)


def _statistics(arms: Arms, detector: Detector, parameters: Parameters) -> Mapping[str, pl.Expr]:
    """For each arm whether an item has a value, and the value; numbers only of items that have one for every arm."""
    means = {}
    for prefix in arms.prefixes.values():
        read = pl.sum_horizontal(f"{prefix}{label}" for label in detector.labels)
        value = detector.sum_column if detector.number else detector.labels[0]
        means[prefix] = pl.when(read > 0).then(pl.col(f"{prefix}{value}") / read)
    if detector.number:
        known = pl.all_horizontal(mean.is_not_null() for mean in means.values())
        means = {prefix: pl.when(known).then(mean) for prefix, mean in means.items()}
    columns: dict[str, pl.Expr] = {}
    for prefix, mean in means.items():
        columns |= {f"{prefix}n": one(mean), f"{prefix}sum": mean.fill_null(0.0)}
    if detector.number:
        return columns
    decisions = [[pl.col(f"{prefix}{label}") for label in detector.labels] for prefix in means]
    return {**columns, **count_flips(decisions, parameters)}


def _measure(own: OwnPrompts, total: Totals, _parameters: Parameters) -> Mapping[str, Array]:
    prefixes = Arms(own.arm, own.arms).prefixes
    means = {value: share(total[f"{prefix}sum"], total[f"{prefix}n"]) for value, prefix in prefixes.items()}
    first, *others = own.arms
    gaps = {other: means[first] - means[other] for other in others}
    if own.read == "amount":
        means = {value: np.exp(mean) for value, mean in means.items()}
        gaps = {other: 1 - np.exp(-gap) for other, gap in gaps.items()}
    return {
        **{f"{prefix}{KINDS[own.read].metric}": means[value] for value, prefix in prefixes.items()},
        **{_difference_name(own, other): gap for other, gap in gaps.items()},
        **measure_flips(total),
    }


def _simulate(own: OwnPrompts, prompts: pl.DataFrame, stance: str, rng: np.random.Generator) -> Sequence[str]:
    favoured = (prompts[own.arm] == own.arms[0]).to_numpy() if stance == "biased" else draw_by_item(prompts, rng) < 0.5
    good, bad = KINDS[own.read].answers
    return [good if yes else bad for yes in favoured]


# Tables and texts of users

MOST_ROWS, LONGEST_PROMPT = 1_000_000, 100_000
CONTROL = r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]"
ARM_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9 _-]{0,59}")
MOST_GROUPS = 20
"""A further column of a file with more values than this is no slice."""
PRONOUNS = {
    "she": ("she", "he"),
    "her": ("her", "him"),
    "his": ("her", "his"),
    "hers": ("hers", "his"),
    "herself": ("herself", "himself"),
}
"""For each slot what stands there for a woman and for a man."""
GENDERS = ("female", "male")


def read_own_prompts(
    path: Path,
    *,
    read: str,
    columns: Mapping[str, str] | None = None,
    names: Path | None = None,
    letters: str = "ab",
    bands: Sequence[float] | None = None,
) -> Probe:
    """A probe of the prompts in a file: a table (CSV, JSONL, Parquet), or a text with slots for a person.

    `columns` says how the columns prompt, pair and arm are called, if otherwise. Each further column of a table with
    few values is a slice.
    """
    if path.suffix.lower() in (".csv", ".jsonl", ".ndjson", ".parquet"):
        table = read_table(path)
    else:
        table = fill_people(_read_text(path), read_table(names) if names else None)
    called = {"prompt": PROMPT, "pair": "pair", "arm": "arm", **(columns or {})}
    further = [name for name in table.columns if name not in called.values()]
    slices = [name for name in further if table[name].n_unique() <= MOST_GROUPS and not table[name].null_count()]
    name = re.sub(r"[^a-z0-9]+", "_", path.stem.lower()).strip("_")[:60]
    return own_prompts(
        table,
        read=read,
        name=name if name[:1].isalpha() else f"own_{name}",
        prompt=called["prompt"],
        arm=called["arm"],
        pair=called["pair"],
        slices=slices,
        letters=letters,
        bands=bands,
    )


def read_table(path: Path) -> pl.DataFrame:
    """The table in a file, every column as text."""
    try:
        if path.suffix.lower() == ".parquet":
            table = pl.scan_parquet(path).head(MOST_ROWS + 1).collect()
        elif path.suffix.lower() == ".csv":
            table = pl.read_csv(path, infer_schema=False, n_rows=MOST_ROWS + 1)
        else:
            table = pl.read_ndjson(path, n_rows=MOST_ROWS + 1)
        return table.select(pl.all().cast(pl.String))
    except (PolarsError, OSError, ValueError) as error:
        reason = str(error).strip().splitlines()[0][:200] if str(error).strip() else type(error).__name__
        raise InputError(f"{path} cannot be read as a table: {reason}") from None


def _read_text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise InputError(f"{path} is not UTF-8: byte {error.start:,} is not part of a character.") from None
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror}.") from None


def fill_people(text: str, names: pl.DataFrame | None = None) -> pl.DataFrame:
    """A table of prompts from templates with slots for a person, separated by lines of three hyphens.

    `{name}` is filled with pairs of a woman's and a man's name: from a table with the columns name, gender and perhaps
    race, or from ours, of four races. `{she}`, `{her}` (her or him), `{his}` (her or his), `{hers}` and `{herself}` are
    filled to fit, with a capital letter if the slot has one.
    """
    templates = [part.strip() for part in re.split(r"(?m)^---\s*$", text) if part.strip()]
    if not templates:
        raise InputError("The text with slots is empty.")
    pairs = _pair_names(names)
    rows = []
    for number, template in enumerate(templates, start=1):
        slots = find_slots(template)
        if unknown := [slot for slot in slots if slot.lower() not in PRONOUNS and slot != "name"]:
            known = ", ".join(f"{{{slot}}}" for slot in ("name", *PRONOUNS))
            raise BadTemplate(f"Template {number} has an unknown slot {{{unknown[0]}}}. The slots there are: {known}.")
        if not slots:
            raise BadTemplate(f"Template {number} has no slot: the prompts for women and men would be the same.")
        for place, (race, both) in enumerate(pairs if "name" in slots else [("any", ("", ""))]):
            for gender, name in zip(GENDERS, both, strict=True):
                words = {slot: name if slot == "name" else _fill_pronoun(slot, gender) for slot in slots}
                row = {PROMPT: template.format(**words), "arm": gender, "pair": f"{number}/{place + 1}"}
                rows.append({**row, "template": str(number), "race": race})
    table = pl.DataFrame(rows)
    return table if names is None or "race" in names.columns else table.drop("race")


def _fill_pronoun(slot: str, gender: str) -> str:
    word = PRONOUNS[slot.lower()][GENDERS.index(gender)]
    return word.capitalize() if slot[0].isupper() else word


def _pair_names(names: pl.DataFrame | None) -> list[tuple[str, tuple[str, str]]]:
    """Pairs of a woman's and a man's name of the same race."""
    if names is None:
        ours = [(name, gender, race) for race in RACES for gender in GENDERS for name in name_pool(gender, race)]
        names = pl.DataFrame(ours, schema=["name", GENDER, "race"], orient="row")
    for column in ("name", GENDER):
        if column not in names.columns:
            raise UnknownName("column of the names", column, names.columns)
    named = names if "race" in names.columns else names.with_columns(race=pl.lit("any"))
    pools = {
        race: [named.filter(race=race, gender=gender)["name"].drop_nulls() for gender in GENDERS]
        for race in named["race"].unique(maintain_order=True).drop_nulls()
    }
    pairs = [(race, pair) for race, (women, men) in pools.items() for pair in zip(women, men, strict=False)]
    if not pairs:
        raise InputError("The names give no pair of a woman and a man: gender must be female or male, some of each.")
    return pairs


def check_table(table: pl.DataFrame, *, prompt: str, arm: str, pair: str, slices: Sequence[str]) -> pl.DataFrame:
    """The prompts with their item, arm and slices. Refuse what cannot be compared, and say what and where it is."""
    for column in (prompt, arm, pair, *slices):
        if column not in table.columns:
            raise UnknownName("column of the prompts", column, table.columns)
    if taken := sorted({arm, *slices} & {*ATTEMPT_COLUMNS, ITEM, PROMPT}):
        raise InputError(f"The column {taken[0]!r} has a name that every run uses. Call it something else.")
    if not 0 < table.height <= MOST_ROWS:
        raise InputError(f"Own prompts are 1 to {MOST_ROWS:,} rows. Got {'more' if table.height else 'none'}.")
    rows = table.select(
        pl.col(pair).cast(pl.String).alias(ITEM), pl.col(*slices, arm).cast(pl.String), pl.col(prompt).alias(PROMPT)
    )
    _refuse_rows(rows, pl.any_horizontal(pl.all().is_null()), "has an empty field")
    _refuse_rows(rows, pl.any_horizontal(pl.all().str.contains(CONTROL)), "has a control character")
    _refuse_rows(rows, pl.col(PROMPT).str.len_chars() > LONGEST_PROMPT, f"is over {LONGEST_PROMPT:,} characters long")
    arms = list(rows[arm].unique(maintain_order=True))
    if not 2 <= len(arms) <= MOST_ARMS:
        raise InputError(
            f"The column {arm!r} must have 2 to {MOST_ARMS} values. Got {len(arms)}: {', '.join(arms[:5])}."
        )
    if wrong := [value for value in arms if not ARM_NAME.fullmatch(value)]:
        raise InputError(f"An arm is called by letters, digits, spaces and hyphens. Got {wrong[0][:60]!r} instead.")
    if len({slug(value) for value in arms}) < len(arms):
        raise InputError(f"Two arms have nearly the same name: {', '.join(sorted(arms))}.")
    sizes = rows.group_by(ITEM, maintain_order=True).agg(
        pl.len().alias("size"), pl.col(arm).n_unique().alias("arms"), *(pl.col(name).n_unique() for name in slices)
    )
    for column in slices:
        if differs := sizes.filter(pl.col(column) > 1)[ITEM].to_list():
            raise InputError(f"A pair must have one value of {column!r}. {differs[0]!r} has several.")
    broken = sizes.filter((pl.col("size") != len(arms)) | (pl.col("arms") != len(arms)))
    if broken.height:
        shown = ", ".join(str(each) for each in broken[ITEM][:5])
        raise InputError(
            f"Each pair must have one prompt for each of {', '.join(arms)}. {broken.height:,} have not: {shown}."
        )
    return rows


def _refuse_rows(rows: pl.DataFrame, wrong: pl.Expr, what: str) -> None:
    places = rows.select(wrong.arg_true()).to_series()
    if len(places):
        raise InputError(f"Row {places[0] + 1:,} of the prompts {what} ({len(places):,} rows in all).")
