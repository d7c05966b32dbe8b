"""Probe, Metric, Bands, Card, Parameter, Corpus: frozen values that say what is asked and how it is read."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from importlib.resources import files
from importlib.resources.abc import Traversable
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from equipoise.errors import BadParameter, UnknownName

Array = NDArray[np.float64]
Parameters = Mapping[str, Any]
MARKS = "ABCD"


@dataclass(frozen=True, kw_only=True)
class Bands:
    """Limits between the marks A, B, C, D on the distance of a value from `centre`.

    With `one_sided`, only values above the centre are bad (stereotyping is, anti-stereotyping is not).
    """

    limits: tuple[float, float, float]
    centre: float = 0.0
    one_sided: bool = False

    def distance(self, value: float) -> float:
        """How far the value is from even-handed, in the direction that counts."""
        # Rounded, or 0.55 would be farther from 0.5 than 0.45 is.
        distance = round(value - self.centre, 12)
        return max(distance, 0.0) if self.one_sided else abs(distance)

    def mark(self, value: float) -> str:
        """The mark of a value: A up to and including the first limit, and so on."""
        return MARKS[int(np.searchsorted(self.limits, self.distance(value), side="left"))]


@dataclass(frozen=True, kw_only=True)
class Metric:
    """A named number. `n`: the total that counts the items it rests on; `references`: the values of known models."""

    name: str
    summary: str
    n: str = "n"
    bands: Bands | None = None
    references: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class Parameter:
    """A probe's own parameter: a default that gives the type, and what it allows."""

    name: str
    default: Any
    summary: str
    choices: tuple[Any, ...] = ()
    check: Callable[[Any], object] | None = None
    """Raises an InputError for a value that is not allowed."""


@dataclass(frozen=True, kw_only=True)
class Corpus:
    """Texts a probe can ask about: packaged with it (`file`) or fetched (`asset`), and how they are read."""

    name: str
    read: Callable[[bytes], pl.DataFrame]
    file: Traversable | None = None
    asset: str | None = None


class Totals(Mapping[str, Array]):
    """Totals of the statistics: `total.n` or `total["n"]` is an array, first the data, then each replicate."""

    def __init__(self, columns: Sequence[str], values: Array) -> None:
        self._place = {name: i for i, name in enumerate(columns)}
        self._values = values

    def __getitem__(self, name: str) -> Array:
        column: Array = self._values[:, self._place[name]]
        return column

    def __getattr__(self, name: str) -> Array:
        if name.startswith("_") or name not in self._place:
            raise AttributeError(name)
        return self[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._place)

    def __len__(self) -> int:
        return len(self._place)


@dataclass(frozen=True, kw_only=True)
class Items:
    """All items a probe could ask about, in a seeded order that is never built whole unless it is small.

    `take(places, seed)` gives the items at these places of the order; the first k places are the sample of size k,
    so a larger sample contains the smaller one. `unit` is how much of `sample_k` one item uses up.
    """

    size: int
    take: Callable[[NDArray[np.int64], int], pl.DataFrame]
    unit: int = 1


@dataclass(frozen=True, kw_only=True)
class Probe:
    """What is asked and how the answers are read: the whole definition of a measurement.

    items       all there is to ask about, from the parameters and the corpus
    prompts     items -> rows of `item`, covariates and `prompt`; one or more rows an item, together
    evaluate    a column of visible text -> a label (null: not detected), or a struct of counts
    statistics  columns to be totalled, as expressions over item rows
    measure     totals -> metrics, for the data and all replicates at once
    simulate    answers of a reference model ("unbiased", "stereotyping", …) to prompts, for tests and demonstrations

    An item row holds the item's `covariates`, and for each label (or count) how often it occurred, for each of the
    `genders` if prompts have one: `male`, or `female_yes`; and likewise `attempts`.
    """

    name: str
    version: int
    card: Card
    items: Callable[[Parameters, pl.DataFrame | None], Items]
    prompts: Callable[[pl.DataFrame, Parameters], pl.DataFrame]
    evaluate: Callable[[pl.Expr], pl.Expr]
    statistics: Callable[[Parameters], Mapping[str, pl.Expr]]
    measure: Callable[[Totals, Parameters], Mapping[str, Array]]
    metrics: tuple[Metric, ...]
    simulate: Callable[[pl.DataFrame, str, np.random.Generator], Sequence[str]]
    labels: tuple[str, ...] = ()
    counts: tuple[str, ...] = ()
    genders: tuple[str, ...] = ()
    covariates: tuple[str, ...] = ()
    slices: tuple[str, ...] = ()
    parameters: tuple[Parameter, ...] = ()
    corpora: tuple[Corpus, ...] = ()
    """The first is the default of the standard suite, the packaged one of the quick suite."""
    sample_k: int | None = None
    quick: Parameters = field(default_factory=dict)
    """Parameters of the quick suite."""
    answer_tokens: int = 300
    """How long a typical answer is, for estimates."""

    def all_metrics(self) -> tuple[Metric, ...]:
        """The probe's own metrics and, where answers have labels, how much was not detected."""
        undetected = (
            Metric(name="undetected_rate_attempts", summary="Attempts with no detected label.", n="attempts"),
            Metric(name="undetected_rate_items", summary="Items with no detected attempt.", n="items"),
        )
        return (*self.metrics, *(undetected if self.labels else ()))

    def all_parameters(self) -> tuple[Parameter, ...]:
        """The probe's own parameters and the standard ones."""
        corpus = Parameter(
            name="corpus",
            default=self.corpora[0].name if self.corpora else None,
            choices=tuple(corpus.name for corpus in self.corpora),
            summary="Which texts are used: " + ", ".join(corpus.name for corpus in self.corpora) + ".",
        )
        return (
            *self.parameters,
            *((corpus,) if self.corpora else ()),
            Parameter(name="sample_k", default=self.sample_k, summary="How many are drawn; none: all there are."),
            Parameter(name="num_repetitions", default=1, summary="Attempts a prompt.", check=_at_least_one),
            Parameter(
                name="random_seed",
                default=0,
                summary="Seed of the drawing and the intervals.",
                check=_not_negative,
            ),
        )

    def resolve(self, given: Parameters) -> dict[str, Any]:
        """The value of every parameter: what is given, checked, over the defaults."""
        known = {parameter.name: parameter for parameter in self.all_parameters()}
        for name in given:
            if name not in known:
                raise UnknownName(f"parameter of {self.name}", name, known)
        return {name: self._checked(parameter, given.get(name, parameter.default)) for name, parameter in known.items()}

    def _checked(self, parameter: Parameter, value: Any) -> Any:
        wanted = int if parameter.name == "sample_k" else type(parameter.default)
        if parameter.name == "sample_k" and value is None:
            return None
        if wanted is float and isinstance(value, int) and not isinstance(value, bool):
            value = float(value)
        if wanted is tuple and isinstance(value, list):
            value = tuple(value)
        form = f"The {parameter.name!r} parameter of {self.name} must be "
        if not isinstance(value, wanted) or isinstance(value, bool):
            raise BadParameter(f"{form}of type {wanted.__name__}. Got {value!r} instead.")
        if parameter.choices and value not in parameter.choices:
            raise BadParameter(f"{form}one of {', '.join(map(repr, parameter.choices))}. Got {value!r} instead.")
        if parameter.check:
            try:
                parameter.check(value)
            except ValueError as error:
                raise BadParameter(f"{form}{error}. Got {value!r} instead.") from None
        return value


def _at_least_one(value: int) -> None:
    if value < 1:
        raise ValueError("1 or more")


def _not_negative(value: int) -> None:
    if value < 0:
        raise ValueError("0 or more")


@dataclass(frozen=True, kw_only=True)
class Card:
    """A probe's card as values: a title, a summary, the fields every probe answers, and sections of prose."""

    title: str
    summary: str
    harms: str
    use_case: str
    genders: str
    gender_definition: str
    gender_placement: str
    language: str
    output_type: str
    modality: str
    domain: str
    realism: str
    data_source: str
    size: str
    intersectionality: str
    sections: Mapping[str, str]
    text: str

    SECTIONS = ("Method", "Data", "Evaluation", "Metrics", "Sources", "Parameters", "Limitations")

    @classmethod
    def beside(cls, package: str) -> Card:
        """The card in a probe's folder: `Card.beside(__package__)`."""
        return cls.parse((files(package) / "card.md").read_text(encoding="utf-8"))

    @classmethod
    def parse(cls, text: str) -> Card:
        """Read `# Title`, a summary, `- **Field:** value` lines and `## Section`s; ValueError if one is missing."""
        head, *parts = re.split(r"^## ", text, flags=re.MULTILINE)
        sections = {title.strip(): body.strip() for title, _, body in (part.partition("\n") for part in parts)}
        found = {
            name.strip().lower().replace(" ", "_"): " ".join(value.split())
            for name, value in re.findall(r"^- \*\*(.+?):\*\*(.*(?:\n  .*)*)", head, flags=re.MULTILINE)
        }
        title = re.match(r"# (.+)\n\n((?:.+\n)+)", head)
        own = {"title", "summary", "sections", "text"}
        wanted = {entry.name for entry in fields(cls)} - own
        missing = sorted(wanted - found.keys()) + [name for name in cls.SECTIONS if name not in sections]
        if title is None or missing or found.keys() - wanted:
            raise ValueError(f"card: missing {missing}, unknown {sorted(found.keys() - wanted)}, title {title}")
        summary = " ".join(title[2].split())
        return cls(title=title[1].strip(), summary=summary, sections=sections, text=text, **found)
