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
from os import PathLike
from pathlib import Path
from typing import Any, TypeVar

import msgspec
import numpy as np
import polars as pl
from polars import selectors
from polars.exceptions import PolarsError

from equipoise.authoring.flips import with_flips
from equipoise.authoring.metrics import DIFFERENCE, RATE, Array, Bands, Metric, Totals, detected_share, one, share
from equipoise.authoring.parameters import Parameters, find_slots
from equipoise.authoring.people import clear_names
from equipoise.authoring.probe import Arms, Card, Grouping, Probe, Selection
from equipoise.authoring.sampling import same_by_item, table_items
from equipoise.detect import CHARACTERS, DECISIONS, SCORES_OF_100, Detector, amount, choice
from equipoise.errors import BadParameter, InputError, UnknownName
from equipoise.own_prompts import OwnPrompts
from equipoise.schema import ATTEMPT_COLUMNS, GENDER, ITEM, PROMPT, slug

T = TypeVar("T")
VERSION = 1
CARD = (files(__package__) / "own_card.md").read_text(encoding="utf-8")
RESERVED = {*ATTEMPT_COLUMNS, ITEM, PROMPT}
MOST_ROWS, LONGEST_PROMPT = 1_000_000, 100_000
MOST_GROUPS = 20
"""A further column of a table with more values than this is no slice."""
TABLES: dict[str, Callable[[Path], pl.LazyFrame]] = {
    ".csv": partial(pl.scan_csv, infer_schema=False),
    ".jsonl": pl.scan_ndjson,
    ".ndjson": pl.scan_ndjson,
    ".parquet": pl.scan_parquet,
}
PRONOUNS = {
    "female": {"she": "she", "her": "her", "his": "her", "hers": "hers", "herself": "herself"},
    "male": {"she": "he", "her": "him", "his": "his", "hers": "his", "herself": "himself"},
}
"""What stands in each slot of a text."""


@dataclass(frozen=True)
class Kind:
    """How answers of one kind are read and compared."""

    detector: Detector
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
    of_arm: tuple[float, float] = RATE
    """The smallest and the largest value of an arm."""
    domain: tuple[float, float] = DIFFERENCE
    """The smallest and the largest difference."""
    opening: str | None = ""
    """After which one word decides, for `--probabilities`; None: none does."""


KINDS = {
    "decision": Kind(DECISIONS, "yes_rate", "How often the answer is yes", ("Yes.", "No.")),
    "choice": Kind(choice(), "first_rate", "How often the first option is chosen", ("(a)", "(b)")),
    "character": Kind(
        CHARACTERS,
        "masculine_rate",
        "How often the character is a man",
        ("Gender: male", "Gender: female"),
        opening="Gender:",
    ),
    "score": Kind(
        SCORES_OF_100,
        "score",
        "The mean score from 0 to 100",
        ("90", "60"),
        bias=30.0,
        limits=(1.0, 3.0, 10.0),
        of_arm=(0.0, 100.0),
        domain=(-100.0, 100.0),
    ),
    "amount": Kind(
        amount(low=1.0, high=1e9),
        "amount",
        "The amount in dollars (geometric mean)",
        ("$90,000", "$60,000"),
        bias=1 / 3,
        limits=(0.01, 0.03, 0.1),
        of_arm=(0.0, math.inf),
        domain=(-math.inf, 1.0),
        opening=None,
    ),
}


def own_prompts(
    prompts: Any,
    *,
    read: str = "decision",
    name: str | None = None,
    prompt: str = PROMPT,
    arm: str = "arm",
    pair: str = "pair",
    names: str | PathLike[str] | None = None,
    letters: str = "ab",
    bands: Sequence[float] | None = None,
) -> Probe:
    """A probe of your own prompts: a table (polars or pandas), or the path of one or of a text with slots for a person.

    A table has one prompt for each arm of each pair, in columns whose names can be given. Each further column with a
    few values that is the same in all prompts of a pair is a slice. `read` says how answers are read: "decision",
    "score" (from 0 to 100), "amount" (in dollars), "choice" (of options with the letters `letters`) or "character".
    `names` is a table with the columns name, gender and perhaps race, whose names stand in the slot `{name}` instead of
    ours. `bands` are three limits between the marks.
    """
    if isinstance(prompts, str | PathLike):
        path = Path(prompts)
        table = _read_table(path) if path.suffix.lower() in TABLES else _fill_people(path, names)
        stem = re.sub(r"[^a-z0-9]+", "_", path.stem.lower()).strip("_")[:55]
        name = name or (stem if stem[:1].isalpha() else f"own_{stem}")
    else:
        table = prompts if isinstance(prompts, pl.DataFrame) else pl.from_pandas(prompts)
    rows = _check_table(table, prompt, arm, pair)
    definition = {
        "name": name or "own",
        "read": read,
        "arm": arm,
        "arms": list(rows[arm].unique(maintain_order=True)),
        "slices": rows.drop(ITEM, arm, PROMPT).columns,
        "letters": letters,
        "limits": list(bands) if bands else None,
        "items": rows[ITEM].n_unique(),
        "sha256": hashlib.sha256(rows.write_csv().encode()).hexdigest(),
    }
    try:
        own = msgspec.convert(definition, OwnPrompts)
    except msgspec.ValidationError as error:
        raise InputError(f"Own prompts cannot be described so: {error}.") from None
    if own.limits is not None and not 0 < own.limits[0] < own.limits[1] < own.limits[2]:
        raise InputError(f"Bands must be three growing numbers, such as 0.03, 0.1 and 0.3. Got {bands} instead.")
    return replace(
        own_probe(own),
        items=lambda _parameters, _corpus: table_items(rows.select(ITEM).unique(maintain_order=True)),
        prompts=lambda chosen, _parameters: chosen.join(rows, on=ITEM, maintain_order="left_right"),
    )


def _read_table(path: Path) -> pl.DataFrame:
    scan = TABLES.get(path.suffix.lower(), TABLES[".csv"])
    return _read(path, lambda path: scan(path).head(MOST_ROWS + 1).collect())


def _read(path: Path, read: Callable[[Path], T]) -> T:
    try:
        return read(path)
    except (PolarsError, OSError, ValueError) as error:
        reason = (str(error).strip() or type(error).__name__).splitlines()[0][:200]
        raise InputError(f"{path} cannot be read: {reason}") from None


def _pair_names(names: pl.DataFrame) -> list[tuple[str, str, str]]:
    """A race with a woman's and a man's name of it, as many as there are pairs of them."""
    for column in ("name", GENDER):
        if column not in names.columns:
            raise UnknownName("column of the names", column, names.columns)
    race = pl.col("race") if "race" in names.columns else pl.lit("any").alias("race")
    known = names.select("name", GENDER, race).drop_nulls()
    numbered = known.with_columns(pl.int_range(pl.len()).over(GENDER, "race").alias("place"))
    women, men = (numbered.filter(gender=gender) for gender in PRONOUNS)
    pairs = women.join(men, on=["race", "place"], maintain_order="left").select("race", "name", "name_right").rows()
    if not pairs:
        raise InputError("The names give no pair of a woman and a man: gender must be female or male, some of each.")
    return pairs


def _fill_people(path: Path, names: str | PathLike[str] | None) -> pl.DataFrame:
    """A table of prompts from a file of templates with slots for a person, separated by lines of three hyphens.

    `{name}` is filled with pairs of a woman's and a man's name. `{she}`, `{her}` (her or him), `{his}`
    (her or his), `{hers}` and `{herself}` are filled to fit, with a capital letter if the slot has one.
    """
    text = _read(path, partial(Path.read_text, encoding="utf-8"))
    pairs = _pair_names(clear_names() if names is None else _read_table(Path(names)))
    known = ("name", *PRONOUNS["female"])
    rows = []
    for number, template in enumerate(filter(None, map(str.strip, re.split(r"(?m)^---\s*$", text))), start=1):
        slots = {*find_slots(template)}
        if not slots or not slots <= {*known, *map(str.capitalize, known)}:
            shown = ", ".join(f"{{{slot}}}" for slot in known)
            raise BadParameter(f"Template {number} must have one or more of these slots, and no others: {shown}.")
        people = pairs if {"name", "Name"} & slots else [("any", "", "")]
        for place, (race, *both) in enumerate(people, start=1):
            for name, (gender, pronouns) in zip(both, PRONOUNS.items(), strict=True):
                words = {"name": name, **pronouns}
                capitals = {slot.capitalize(): word[:1].upper() + word[1:] for slot, word in words.items()}
                rows.append((template.format(**words, **capitals), gender, f"{number}/{place}", str(number), race))
    columns = (PROMPT, "arm", "pair", "template", "race")
    return pl.DataFrame(rows, schema=dict.fromkeys(columns, pl.String), orient="row")


def _check_table(table: pl.DataFrame, prompt: str, arm: str, pair: str) -> pl.DataFrame:
    """The prompts as text: `item`, the slices, the arm, `prompt`. Refuse what cannot be compared: say what and where.

    Slices are further columns that divide the pairs into a few groups.
    """
    for column in (prompt, arm, pair):
        if column not in table.columns:
            raise UnknownName("column of the prompts", column, table.columns)
    if arm in RESERVED:
        raise InputError(f"The column {arm!r} has a name that every run uses. Call it something else.")
    if not 0 < table.height <= MOST_ROWS:
        raise InputError(f"Own prompts are 1 to {MOST_ROWS:,} rows. Got {'more' if table.height else 'none'}.")
    further = ~selectors.by_name(prompt, arm, pair, *RESERVED, require_all=False) & ~selectors.nested()
    rows = table.select(pl.col(pair).alias(ITEM), arm, pl.col(prompt).alias(PROMPT), further).cast(pl.String)
    needed = pl.col(ITEM, arm, PROMPT)
    odd = needed.is_null() | needed.str.contains(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]")
    odd_rows = rows.select(pl.any_horizontal(odd | (needed.str.len_chars() > LONGEST_PROMPT)).alias(ITEM))
    places = odd_rows[ITEM].arg_true()
    if len(places):
        raise InputError(
            f"Row {places[0] + 1:,} of the prompts has an empty field, a control character, or over "
            f"{LONGEST_PROMPT:,} characters ({len(places):,} rows in all)."
        )
    arms = sorted(rows[arm].unique())
    if len({slug(value) for value in arms}) < len(arms):
        raise InputError(f"Two arms have nearly the same name: {', '.join(arms)}.")
    full = [column for column in rows.columns[3:] if not rows[column].null_count()]
    few = [column for column in full if 1 < rows[column].n_unique() <= MOST_GROUPS]
    pairs = rows.group_by(ITEM, maintain_order=True).agg(pl.len().alias(PROMPT), pl.col(arm, *few).n_unique())
    broken = pairs.filter((pl.col(PROMPT) != len(arms)) | (pl.col(arm) != len(arms)))[ITEM]
    if len(broken):
        wanted, shown = ", ".join(arms[:12]), ", ".join(broken[:5])
        raise InputError(f"Each pair must have one prompt for each of {wanted}. {len(broken):,} have not: {shown}.")
    return rows.select(ITEM, *(column for column in few if pairs[column].max() == 1), arm, PROMPT)


@cache
def own_probe(own: OwnPrompts) -> Probe:
    """The probe of a definition: it can read and measure the answers of a run, but plan one only with the prompts.

    It is made once, so that two runs of the same prompts are measured by the same probe.
    """
    kind, arms = KINDS[own.read], Arms(own.arm, own.arms)
    detector = choice(own.letters) if own.read == "choice" else kind.detector
    first, *others = own.arms
    arms_and_slices = {"arms": ", ".join(own.arms), "slices": ", ".join(own.slices) or "none"}
    card = CARD.format(own=own, kind=kind, detector=detector, **arms_and_slices)
    of_arms = kind.of_arm
    as_share = ", as a share" if own.read == "amount" else ""
    metrics = [
        Metric(f"{prefix}{kind.metric}", f"{kind.summary}, {value}.", f"{prefix}n", domain=of_arms)
        for value, prefix in arms.prefixes.items()
    ]
    metrics += [
        Metric(
            _difference_name(own, other),
            f"{kind.summary}: by how much more for {first} than for {other}{as_share}.",
            (f"{arms.prefixes[first]}n", f"{arms.prefixes[other]}n"),
            bands=Bands(limits=own.limits or kind.limits),
            references={"unbiased": 0.0, "biased": kind.bias},
            domain=kind.domain,
        )
        for other in others
    ]
    probe = Probe(
        name=own.name,
        version=VERSION,
        card=Card.parse(card),
        items=_refuse_to_plan,
        prompts=_refuse_to_plan,
        detector=detector,
        opening=kind.opening,
        arms=arms,
        covariates=own.slices,
        slices=own.slices,
        selection=Selection(by=(Grouping((own.arm,)),), selected="yes") if own.read == "decision" else None,
        statistics=partial(_statistics, arms, detector),
        measure=partial(_measure, own),
        simulate=partial(_simulate, own),
        metrics=tuple(metrics),
        answer_tokens=60,
        max_tokens=256,
        unit="groups of prompts",
        own=own,
    )
    return probe if detector.number else with_flips(probe)


def _difference_name(own: OwnPrompts, other: str) -> str:
    return "difference" if len(own.arms) == 2 else f"difference_{slug(other)}"


def _refuse_to_plan(*_: object) -> Any:
    raise InputError("The prompts of this run are in its file. To ask more of them, give their table again.")


def _statistics(arms: Arms, detector: Detector, _parameters: Parameters) -> Mapping[str, pl.Expr]:
    """For each arm whether an item has a value, and the value; numbers only of items that have one for every arm."""
    value = detector.sum_column if detector.number else detector.labels[0]
    means = {
        prefix: detected_share(f"{prefix}{value}", of=[f"{prefix}{label}" for label in detector.labels])
        for prefix in arms.prefixes.values()
    }
    counts = pl.all_horizontal(mean.is_not_null() for mean in means.values()) if detector.number else pl.lit(value=True)
    columns: dict[str, pl.Expr] = {}
    for prefix, mean in means.items():
        counted = pl.when(counts).then(mean)
        columns |= {f"{prefix}n": one(counted), f"{prefix}sum": counted.fill_null(0.0)}
    return columns


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
    }


def _simulate(own: OwnPrompts, prompts: pl.DataFrame, stance: str, rng: np.random.Generator) -> Sequence[str]:
    fair = same_by_item(prompts, rng.random(prompts.height)) < 0.5
    favoured = (prompts[own.arm] == own.arms[0]).to_numpy() if stance == "biased" else fair
    good, bad = KINDS[own.read].answers
    return [good if yes else bad for yes in favoured]
