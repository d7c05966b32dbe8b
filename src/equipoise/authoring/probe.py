"""Probe, the whole definition of a measurement, and the values that it is made of."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from importlib.resources import files
from importlib.resources.abc import Traversable
from itertools import chain
from typing import Any, ClassVar

import numpy as np
import polars as pl

from equipoise.authoring.figures import Evidence, Figure, Finding, MakeFigure
from equipoise.authoring.metrics import Array, Bands, Metric, Totals, rate
from equipoise.authoring.parameters import Parameter, Parameters, standard_parameters
from equipoise.authoring.sampling import Items
from equipoise.detect import Detector, JudgeQuestion, first_token_detector
from equipoise.errors import InputError, UnknownName
from equipoise.own_prompts import OwnPrompts
from equipoise.schema import CAREFUL, GENDER, ITEM, NEITHER, PROBABILITIES, PROMPT, READINGS, SPECIFIED, slug


@dataclass(frozen=True, kw_only=True)
class Card:
    """A title, a summary, those of its fields that others show, and sections of prose."""

    title: str
    summary: str
    use_case: str
    size: str
    sections: Mapping[str, str] = field(repr=False)
    text: str = field(repr=False)
    folder: Traversable | None = field(default=None, compare=False)
    """The folder of the probe, where its examples and golden values are; None if the card was read from a text."""

    FIELDS: ClassVar = (
        *("Harms", "Use case", "Genders", "Gender definition", "Gender placement", "Language", "Output type"),
        *("Modality", "Domain", "Realism", "Data source", "Size", "Intersectionality"),
    )
    SECTIONS: ClassVar = ("Method", "Data", "Evaluation", "Metrics", "Sources", "Parameters", "Limitations")

    @classmethod
    def beside(cls, package: str) -> Card:
        """Read the card in a probe's folder: `Card.beside(__package__)`."""
        folder = files(package)
        return replace(cls.parse((folder / "card.md").read_text(encoding="utf-8")), folder=folder)

    def read_beside(self, name: str) -> str:
        """The text of a file in the folder of the probe; empty if there is none."""
        source = self.folder / name if self.folder else None
        return source.read_text(encoding="utf-8") if source and source.is_file() else ""

    @classmethod
    def parse(cls, text: str) -> Card:
        """Read `# Title`, a summary, `- **Field:** value` lines and `## Section`s; ValueError if one is missing."""
        head, *parts = re.split(r"^## ", text, flags=re.MULTILINE)
        sections = {title.strip(): body.strip() for title, _, body in (part.partition("\n") for part in parts)}
        values = dict(re.findall(r"^- \*\*(.+?):\*\* (\S.*)", head, flags=re.MULTILINE))
        title = re.match(r"# (.+)\n\n((?:.+\n)+)", head)
        missing = [name for name in (*cls.FIELDS, *cls.SECTIONS) if name not in (*values, *sections)]
        if title is None or missing:
            raise ValueError(f"The card has no title, or fields or sections are missing: {missing}.")
        shown = {"use_case": values["Use case"], "size": values["Size"]}
        return cls(title=title[1].strip(), summary=" ".join(title[2].split()), sections=sections, text=text, **shown)


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
    That median is of the scores that were read, whatever is missing.
    Where answers are missing, `applicants` is also called with the planned prompts, with any label,
    to count whom the missing answers could have selected. Unless answers are scores, each
    answer then has an `item` of its own.
    `clusters` are columns of the applicants with what several of them share, and a model may like or dislike: a name,
    a question.
    """

    by: tuple[Grouping, ...] = (Grouping((GENDER,)), Grouping(("race", GENDER)))
    selected: str | Callable[[Parameters], pl.Expr] = ""
    applicants: Callable[[pl.DataFrame], pl.DataFrame] | None = None
    scored: bool = False
    clusters: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class WordContrast:
    """Ask which words the answers for one arm use more than those for another.

    sides    two values of the arms' column, and what they are called where the words are shown
    matched  columns of the prompts: answers are compared only with answers that have the same values there
    unit     the column whose values are independent of each other, such as a name that several prompts share
    names    columns with names: their words are left out
    ignored  words that name the arm itself, such as pronouns. Words that stand only in the prompts of one side are
             left out without being named
    """

    sides: tuple[tuple[str, str], tuple[str, str]]
    matched: tuple[str, ...] = ()
    unit: str = ITEM
    names: tuple[str, ...] = ()
    ignored: tuple[str, ...] = ()

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns of the prompts that it uses, beside that of the arms."""
        return tuple(dict.fromkeys((*self.matched, self.unit, *self.names)))


@dataclass(frozen=True, kw_only=True)
class Corpus:
    """Texts a probe can ask about: packaged with it (`file`) or fetched (`asset`), and how they are read."""

    name: str
    read: Callable[[bytes], pl.DataFrame]
    file: Traversable | None = None
    asset: str | None = None


@dataclass(frozen=True, kw_only=True)
class Probe:
    """What is asked and how it is measured: the whole definition of a measurement.

    items       all there is to ask about, from the parameters and the corpus (an empty table if there is none)
    prompts     items -> rows of `item`, covariates and `prompt` (and `system`, if there is a system part);
                the prompts of an item stand together
    detector    how an answer is read; a probe of the founding pages also has their rules (`specified`)
    statistics  columns to be totalled, as expressions over item rows; its parameters hold the `reading`, too
    measure     totals -> metrics, for the data and for totals a step beside them at once
    simulate    answers of a reference model ("unbiased", "stereotyping", …) to prompts, for tests and demonstrations

    An item row holds the item's `covariates`, how often each outcome of the detector occurred, and `attempts`: for
    each of the `arms` if there are any (`female_yes`, `female_attempts`), else for the whole item (`male`, `attempts`).
    """

    name: str
    version: int
    card: Card
    items: Callable[[Parameters, pl.DataFrame], Items]
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
    opening: str | None = None
    """How an answer begins after which one word decides the label: "Gender:", or "" if the first word of the answer
    does. No space ends it: endpoints would drop it. With it the probe can be asked with `--probabilities`; the detector
    must then read the opening with that word ("Gender: female"), or the word alone ("yes"). None: the probe is always
    asked for answers."""
    adapt: Callable[[Probe, Parameters], Probe] | None = None
    """The probe with other parameters, where its arms or metrics depend on them; `with_parameters` calls it."""
    judge: JudgeQuestion | None = None
    """What a second model can be asked about answers that were not read (`--judge`); None: it cannot judge them."""
    arms: Arms | None = None
    side_labels: tuple[str, ...] = ()
    """Of a probe without arms whose prompts swap who stands where in an item: the labels of one side. An even-handed
    model takes that side in half of the answers to an item; reports show the items where it does not."""
    covariates: tuple[str, ...] = ()
    slices: tuple[str, ...] = ()
    clusters: tuple[str, ...] = ()
    """Columns of the prompts that several items share, such as a template or a question: other prompts like these would
    have others."""
    strata: tuple[str, ...] = ()
    """Covariates whose groups a metric averages, each with the same weight: items scatter within them."""
    words: WordContrast | None = None
    """Between which arms a report looks for words that differ, for probes whose answers are texts."""
    parameters: tuple[Parameter, ...] = ()
    corpora: tuple[Corpus, ...] = ()
    """The first is the default of the standard suite, the packaged one of the quick suite."""
    sample: int | None = None
    """The default of the parameter `sample`: how many items are drawn; None: all."""
    prompts_per_item: int = 1
    """Where `sample` counts prompts instead of items: how many prompts an item has."""
    selection: Selection | None = None
    """Who is selected, if the answers select people: then results have selection rates and impact ratios."""
    unit: str = "items"
    """What an item is, in the plural, as readers see it beside numbers: "occupations", "pairs of applications"."""
    uses: tuple[str, ...] = ()
    """The use cases that the probe is about, one word each: `--suite hiring` asks the probes about hiring."""
    standard: Parameters = field(default_factory=dict)
    """Parameters of the standard suite that differ from the defaults."""
    answer_tokens: int = 300
    """How long a typical answer is, for estimates."""
    max_tokens: int = 1_024
    """The limit of an answer, unless the user gives one."""
    figures: Sequence[Figure | MakeFigure] = ()
    """What a report draws, beside the marked metrics by slice. Those of one name stand side by side."""
    findings: Callable[[Evidence], Sequence[Finding]] | None = None
    """The most telling facts of one model's answers, in plain sentences; asked for where a mark is worse than A."""
    published: str = ""
    """How the published values of other models differ from what is measured here, if there are any."""
    value_names: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    """For covariates whose values are numbers or keys, the names of these: {"stereotype": {"1": "emotional"}}."""
    own: OwnPrompts | None = None
    """Of prompts that a user brings: the definition as data, which a run file keeps."""
    careful: Detector | None = None
    """Set by `read_by` where the probe is read in another way: the way back."""

    @property
    def arm_columns(self) -> tuple[str, ...]:
        """The column of the arms, by whose values attempts are counted; none if there are no arms."""
        return (self.arms.column,) if self.arms else ()

    @property
    def needed_columns(self) -> tuple[str, ...]:
        """All columns that its prompts must have, beside the item and the text."""
        used = (detector.uses for detector in (self.detector, self.specified, self.careful) if detector)
        words = self.words.columns if self.words else ()
        named = (*self.covariates, *self.slices, *self.clusters, *self.arm_columns, *chain(*used), *words)
        return tuple(dict.fromkeys(name for name in named if name not in (ITEM, PROMPT)))

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
        careful = self.careful or self.detector
        if reading == PROBABILITIES:
            if self.opening is None:
                raise InputError(f"{self.name} cannot be read from probabilities: no single word decides its answers.")
            detector = first_token_detector(careful, self.opening)
        elif reading in READINGS:
            detector = self.specified or careful if reading == SPECIFIED else careful
        else:
            raise UnknownName("reading", reading, READINGS)
        return replace(self, reading=reading, detector=detector, careful=None if reading == CAREFUL else careful)

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
        empty = "Empty answers are not among them: they count as missing."
        others = self.detector.counted_labels
        nothing = "The mean probability of words that decide nothing"
        return (
            *self.metrics,
            rate("undetected_rate_attempts", f"Answers with no detected label. {empty}", "attempts"),
            rate("undetected_rate_items", "Items with no detected attempt.", "items"),
            *(rate(f"{label}_rate", f"Attempts that were read as {label!r}.", "attempts") for label in others),
            *(
                rate(f"{NEITHER}_mass{suffix}", f"{nothing}{suffix.replace('_', ', ', 1)}.", f"attempts{suffix}")
                for suffix in self.masses
            ),
        )

    @property
    def masses(self) -> dict[str, list[str]]:
        """By probabilities: what the names of masses end with, of all attempts and of each arm, and their prefixes."""
        if not self.detector.by_probability:
            return {}
        by_arm = self.arms.prefixes if self.arms else {}
        return {"": self.prefixes, **{f"_{slug(arm)}": [prefix] for arm, prefix in by_arm.items()}}

    def marked_metrics(self) -> dict[str, Bands]:
        """The bands of each metric that is marked."""
        return {metric.name: metric.bands for metric in self.metrics if metric.bands}

    def stances(self) -> tuple[str, ...]:
        """The reference models that the probe can simulate."""
        return tuple(sorted({stance for metric in self.metrics for stance in metric.references}))

    def all_parameters(self) -> tuple[Parameter, ...]:
        """The probe's own parameters and the standard ones."""
        corpora = tuple(corpus.name for corpus in self.corpora)
        return (*self.parameters, *standard_parameters(corpora, self.sample, self.prompts_per_item))

    def resolve(self, given: Parameters) -> dict[str, Any]:
        """The value of every parameter: what is given, checked, over the defaults."""
        known = {parameter.name: parameter for parameter in self.all_parameters()}
        for name in given:
            if name not in known:
                raise UnknownName(f"parameter of {self.name}", name, known)
        return {
            name: parameter.validate(given.get(name, parameter.default), self.name) for name, parameter in known.items()
        }
