"""Probe and the values it is made of, all frozen: what is asked, of whom, and how it is measured."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from importlib.resources.abc import Traversable
from typing import Any

import numpy as np
import polars as pl

from equipoise.authoring.card import Card
from equipoise.authoring.figures import Display
from equipoise.authoring.sampling import Items
from equipoise.authoring.templates import check_template
from equipoise.authoring.totals import Array, Totals, slug
from equipoise.authoring.words import WordContrast
from equipoise.detect import Detector, JudgeQuestion, first_token_detector
from equipoise.errors import BadParameter, InputError, UnknownName
from equipoise.schema import CAREFUL, ITEM, NEITHER, PROBABILITIES, PROMPT, READINGS, SPECIFIED

Parameters = Mapping[str, Any]
MARKS = "ABCD"
MOST = 2**63 - 1
"""The largest number that run files, tables and JSON hold."""
MOST_REPETITIONS = 1_000_000


@dataclass(frozen=True, kw_only=True)
class Bands:
    """Limits between the marks A, B, C, D on the distance of a value from `centre`.

    With `one_sided`, only values above the centre are bad (stereotyping is, anti-stereotyping is not).
    """

    limits: tuple[float, float, float]
    centre: float = 0.0
    one_sided: bool = False

    def distances(self, values: Array) -> Array:
        """How far each value is from even-handed, in the direction that counts."""
        # Rounded, or 0.55 would be farther from 0.5 than 0.45 is.
        differences = np.round(values - self.centre, 12)
        return np.maximum(differences, 0.0) if self.one_sided else np.abs(differences)

    def distance(self, value: float) -> float:
        """How far one value is from even-handed, in the direction that counts."""
        return float(self.distances(np.float64(value)))  # type: ignore[arg-type]

    def mark(self, value: float) -> str:
        """The mark of a value: A up to and including the first limit, and so on."""
        return MARKS[int(np.searchsorted(self.limits, self.distance(value), side="left"))]


@dataclass(frozen=True, kw_only=True)
class Metric:
    """A named number.

    n           the total that counts the items it rests on; of several, the smallest counts
    references  the values of models whose behaviour is known: "unbiased", "stereotyping", …
    distance_of another metric, if this one is its distance from a centre: its interval is folded
    range_of    other metrics, if this one is the largest difference between two of them
    studentised whether few items may decide it, as they do for slopes and means of strata: its interval is then as much
                wider as Student's t is than the normal distribution
    exchanged   what its value becomes if men and women change places, where that is not said by its references
    about       what it is about, where the name says so only by a number or an abbreviation: "emotional"
    """

    name: str
    summary: str
    n: str | tuple[str, ...] = "n"
    bands: Bands | None = None
    references: Mapping[str, float] = field(default_factory=dict)
    distance_of: tuple[str, float] | None = None
    range_of: tuple[str, ...] = ()
    studentised: bool = False
    exchanged: Callable[[float], float] | None = None
    about: str = ""

    @property
    def title(self) -> str:
        """The name, and what it is about: "masculine_rate_1 · emotional"."""
        return f"{self.name} · {self.about}" if self.about else self.name

    @property
    def denominators(self) -> tuple[str, ...]:
        """The totals of which the smallest says how many items the metric rests on."""
        return (self.n,) if isinstance(self.n, str) else self.n


@dataclass(frozen=True, kw_only=True)
class Parameter:
    """A probe's own parameter: a default that gives the type, and what it allows."""

    name: str
    default: Any
    summary: str
    choices: tuple[Any, ...] = ()
    check: Callable[[Any], object] | None = None
    """Raises ValueError, in words that follow "must be", or an InputError for a value that is not allowed."""


def template_parameter(default: str, *slots: str, name: str = "template") -> Parameter:
    """A parameter that holds a template with exactly these slots."""
    summary = f"The prompt, with a slot for {' and '.join(f'{{{slot}}}' for slot in slots)}."
    return Parameter(name=name, default=default, summary=summary, check=partial(check_template, slots=slots))


@dataclass(frozen=True, kw_only=True)
class Corpus:
    """Texts a probe can ask about: packaged with it (`file`) or fetched (`asset`), and how they are read."""

    name: str
    read: Callable[[bytes], pl.DataFrame]
    file: Traversable | None = None
    asset: str | None = None


@dataclass(frozen=True)
class Arms:
    """What tells the prompts of one item apart: a column of the prompts and its values, such as gender."""

    column: str
    values: tuple[str, ...]

    @property
    def prefixes(self) -> dict[str, str]:
        """For each value what the columns of item rows begin with: "female_"."""
        return {value: f"{slug(value)}_" for value in self.values}


@dataclass(frozen=True)
class Grouping:
    """A way to group applicants: by the values of some columns, such as race and gender.

    `matched` are the columns that name a set of applicants who differ in nothing but these: an item, or several.
    """

    columns: tuple[str, ...]
    matched: tuple[str, ...] = (ITEM,)

    @property
    def name(self) -> str:
        """How the grouping is called: "race and gender"."""
        return " and ".join(self.columns)


@dataclass(frozen=True, kw_only=True)
class Selection:
    """Who applies and who is selected, for probes whose answers let people through or not.

    Each detected answer is one applicant, selected if its label is `selected`, or if the expression holds that it gives
    for the parameters. Where an answer chooses among several, `applicants` turns the detected attempts into one row per
    applicant: the columns of the groupings, `item`, and `selected` (0 or 1). If answers are scores (`scored`), there is
    one applicant of each category in an item, `selected` is the score, and those above the median of all are selected.
    """

    by: tuple[Grouping, ...]
    selected: str | Callable[[Parameters], pl.Expr] = ""
    applicants: Callable[[pl.DataFrame], pl.DataFrame] | None = None
    scored: bool = False


@dataclass(frozen=True, kw_only=True)
class Probe:
    """What is asked and how it is measured: the whole definition of a measurement.

    items       all there is to ask about, from the parameters and the corpus
    prompts     items -> rows of `item`, covariates and `prompt` (and `system`, if there is a system part);
                the prompts of an item stand together
    detector    how an answer is read; a probe of the founding pages also has their rules (`specified`)
    statistics  columns to be totalled, as expressions over item rows; its parameters hold the `reading`, too
    measure     totals -> metrics, for the data and all replicates at once
    simulate    answers of a reference model ("unbiased", "stereotyping", …) to prompts, for tests and demonstrations

    An item row holds the item's `covariates`, how often each outcome of the detector occurred, and `attempts`: for
    each of the `arms` if there are any (`female_yes`, `female_attempts`), else for the whole item (`male`, `attempts`).
    """

    name: str
    version: int
    card: Card
    items: Callable[[Parameters, pl.DataFrame | None], Items]
    prompts: Callable[[pl.DataFrame, Parameters], pl.DataFrame]
    detector: Detector
    statistics: Callable[[Parameters], Mapping[str, pl.Expr]]
    measure: Callable[[Totals, Parameters], Mapping[str, Array]]
    metrics: tuple[Metric, ...]
    simulate: Callable[[pl.DataFrame, str, np.random.Generator], Sequence[str]]
    specified: Detector | None = None
    """How an answer is read by the rules of the founding pages; None: just as by `detector`."""
    reading: str = CAREFUL
    """Which of them `detector` is; `read_by` chooses."""
    first_words: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """For each label the words, in lower case, with which an answer of that label begins: {"yes": ("yes",), …}. With
    them the probe can be asked with `--probabilities`; without them it is always asked for answers."""
    adapt: Callable[[Probe, Parameters], Probe] | None = None
    """The probe with other parameters, where its arms or metrics depend on them; `with_parameters` calls it."""
    judge: JudgeQuestion | None = None
    """What a second model can be asked about answers that were not read (`--judge`); None: it cannot judge them."""
    arms: Arms | None = None
    covariates: tuple[str, ...] = ()
    derived: Callable[[], Mapping[str, pl.Expr]] | None = None
    """Covariates that follow from the other columns of the prompts, so that run files without them can be read."""
    slices: tuple[str, ...] = ()
    clusters: tuple[str, ...] = ()
    """Columns of the prompts that several items share, such as a template or a question: other prompts like these would
    have others."""
    strata: tuple[str, ...] = ()
    """Covariates whose groups a metric averages, each with the same weight: items are resampled within them."""
    coverage: tuple[str, ...] = ()
    """Columns of the prompts by whose values attempts are counted, beside the column of the arms."""
    words: WordContrast | None = None
    """Between which arms a report looks for words that differ, for probes whose answers are texts."""
    parameters: tuple[Parameter, ...] = ()
    corpora: tuple[Corpus, ...] = ()
    """The first is the default of the standard suite, the packaged one of the quick suite."""
    sample_k: int | None = None
    """How many items are drawn by default; None: all."""
    selection: Selection | None = None
    """Who is selected, if the answers select people: then results have selection rates and impact ratios."""
    uses: tuple[str, ...] = ()
    """The use cases that the probe is about, one word each: `--suite hiring` asks the probes about hiring."""
    standard: Parameters = field(default_factory=dict)
    """Parameters of the standard suite that differ from the defaults. `measuring.precision.find_repetitions` says how
    many repetitions it takes."""
    answer_tokens: int = 300
    """How long a typical answer is, for estimates."""
    max_tokens: int = 1_024
    """The limit of an answer, unless the user gives one."""
    display: Display = field(default_factory=Display)
    careful: Detector | None = None
    """Set by `read_by` where the probe is read in another way: the way back."""

    def __post_init__(self) -> None:
        """Refuse what cannot be a probe where it is made, so that a broken plug-in does not reach a command."""
        kinds = {"name": str, "version": int, "card": Card, "detector": Detector, "metrics": tuple, "display": Display}
        for name, kind in kinds.items():
            if not isinstance(getattr(self, name), kind):
                given = type(getattr(self, name)).__name__
                raise TypeError(f"The {name!r} of a probe must be of type {kind.__name__}. Got {given} instead.")
        if self.first_words:
            self._check_first_words()

    def _check_first_words(self) -> None:
        words = [word for group in self.first_words.values() for word in group]
        if {*self.first_words} != {*(self.careful or self.detector).labels}:
            raise ValueError(f"The first words of {self.name!r} must be given for each of its labels, and no other.")
        if len({*words}) < len(words) or not all(word.isalnum() and word == word.lower() for word in words):
            raise ValueError(f"The first words of {self.name!r} must be single words in lower case, each of one label.")

    @property
    def coverage_columns(self) -> tuple[str, ...]:
        """All columns by whose values attempts are counted."""
        return (*((self.arms.column,) if self.arms else ()), *self.coverage)

    @property
    def needed_columns(self) -> tuple[str, ...]:
        """All columns that its prompts must have, beside the item and the text."""
        detectors = [detector for detector in (self.detector, self.specified, self.careful) if detector]
        used = (name for detector in detectors for name in detector.uses)
        words = self.words.columns if self.words else ()
        named = (*self.covariates, *self.slices, *self.clusters, *self.coverage_columns, *used, *words)
        given = (ITEM, PROMPT, *(self.derived() if self.derived else ()))
        return tuple(dict.fromkeys(name for name in named if name not in given))

    def with_derived(self, rows: pl.DataFrame) -> pl.DataFrame:
        """Rows of prompts or attempts, with the covariates that follow from their other columns."""
        return rows.with_columns(**self.derived()) if self.derived else rows

    @property
    def prefixes(self) -> list[str]:
        """What the columns of item rows begin with: one prefix for each arm, or none at all for the whole item."""
        return list(self.arms.prefixes.values()) if self.arms else [""]

    def read_by(self, reading: str | None) -> Probe:
        """The probe with the detector of this reading, "careful" or "specified"; None: as it is.

        "probabilities" is for answers that were asked for in that way, and for nothing else.
        """
        if reading is None or reading == self.reading:
            return self
        if reading not in (*READINGS, PROBABILITIES):
            raise UnknownName("reading", reading, READINGS)
        careful = self.careful or self.detector
        if reading == CAREFUL:
            return replace(self, reading=reading, detector=careful, careful=None)
        if reading == SPECIFIED:
            return replace(self, reading=reading, detector=self.specified or careful, careful=careful)
        if not self.first_words:
            raise InputError(
                f"{self.name} cannot be read from probabilities: no single word begins each of its labels."
            )
        detector = first_token_detector(careful.labels, self.first_words)
        return replace(self, reading=reading, detector=detector, careful=careful)

    def with_parameters(self, parameters: Parameters) -> Probe:
        """The probe for these parameters: itself, unless its arms or metrics depend on them. Twice is once."""
        return self.adapt(self, parameters) if self.adapt else self

    @property
    def other_reading(self) -> str | None:
        """The reading to set beside this one; None where both would read alike."""
        if self.specified is None or self.reading not in (CAREFUL, SPECIFIED):
            return None
        return CAREFUL if self.reading == SPECIFIED else SPECIFIED

    def all_metrics(self) -> tuple[Metric, ...]:
        """The probe's own metrics and, where answers have labels, how much was not detected."""
        if not self.detector.labels:
            return self.metrics
        return (
            *self.metrics,
            Metric(name="undetected_rate_attempts", summary="Attempts with no detected label.", n="attempts"),
            Metric(name="undetected_rate_items", summary="Items with no detected attempt.", n="items"),
            *(
                Metric(name=f"{label}_rate", summary=f"Attempts that were read as {label!r}.", n="attempts")
                for label in self.detector.other_labels
                if not self.detector.words
            ),
            *(
                Metric(
                    name=f"{NEITHER}_mass{suffix}",
                    summary=f"The mean probability of words that decide nothing{of_arm}.",
                    n=f"attempts{suffix}",
                )
                for suffix, of_arm in self.mass_suffixes().items()
            ),
        )

    def mass_suffixes(self) -> dict[str, str]:
        """What the names of probability masses end with, over all attempts and for each arm, and how that is said."""
        if not self.detector.words:
            return {}
        return {"": "", **({f"_{slug(arm)}": f", {arm}" for arm in self.arms.values} if self.arms else {})}

    def marked_metrics(self) -> dict[str, Bands]:
        """The bands of each metric that is marked."""
        return {metric.name: metric.bands for metric in self.metrics if metric.bands}

    def stances(self) -> tuple[str, ...]:
        """The reference models that the probe can simulate."""
        return tuple(sorted({stance for metric in self.metrics for stance in metric.references}))

    def all_parameters(self) -> tuple[Parameter, ...]:
        """The probe's own parameters and the standard ones."""
        names = tuple(corpus.name for corpus in self.corpora)
        corpus = (
            Parameter(
                name="corpus", default=names[0], choices=names, summary=f"Which texts are used: {', '.join(names)}."
            )
            if names
            else None
        )
        return (
            *self.parameters,
            *((corpus,) if corpus else ()),
            Parameter(name="sample_k", default=self.sample_k, summary="How many items are drawn; none: all there are."),
            Parameter(name="num_repetitions", default=1, summary="Attempts per prompt.", check=_check_repetitions),
            Parameter(
                name="random_seed",
                default=0,
                summary="Seed of the drawing and the intervals.",
                check=_check_not_negative,
            ),
        )

    def resolve(self, given: Parameters) -> dict[str, Any]:
        """The value of every parameter: what is given, checked, over the defaults."""
        known = {parameter.name: parameter for parameter in self.all_parameters()}
        for name in given:
            if name not in known:
                raise UnknownName(f"parameter of {self.name}", name, known)
        return {name: self._check(parameter, given.get(name, parameter.default)) for name, parameter in known.items()}

    def _check(self, parameter: Parameter, value: Any) -> Any:
        wanted = int if parameter.name == "sample_k" else type(parameter.default)
        if parameter.name == "sample_k" and value is None:
            return None
        if wanted is float and isinstance(value, int) and not isinstance(value, bool):
            value = float(value)
        if wanted is tuple and isinstance(value, list):
            value = tuple(value)
        must = f"The {parameter.name!r} parameter of {self.name} must be "
        if not isinstance(value, wanted) or (isinstance(value, bool) and wanted is not bool):
            raise BadParameter(f"{must}of type {wanted.__name__}. Got {value!r} instead.")
        if isinstance(value, int) and abs(value) > MOST:
            raise BadParameter(f"{must}a number of at most 64 bits. Got {value!r} instead.")
        if parameter.choices and value not in parameter.choices:
            raise BadParameter(f"{must}one of {', '.join(map(repr, parameter.choices))}. Got {value!r} instead.")
        if parameter.check:
            try:
                parameter.check(value)
            except ValueError as error:
                raise BadParameter(f"{must}{error}. Got {value!r} instead.") from None
        return value


def _check_repetitions(value: int) -> None:
    if not 1 <= value <= MOST_REPETITIONS:
        raise ValueError(f"between 1 and {MOST_REPETITIONS:,}")


def _check_not_negative(value: int) -> None:
    if value < 0:
        raise ValueError("0 or more")
