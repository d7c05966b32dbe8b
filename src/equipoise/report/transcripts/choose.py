"""Which answers a page of transcripts shows: those that fit, and of these no more than a browser can take."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

import polars as pl

from equipoise.authoring import Probe
from equipoise.detect import Detector
from equipoise.errors import BadParameter, InputError, UnknownName
from equipoise.measuring.cases import CONTRAST, with_contrast
from equipoise.runs.run import Run
from equipoise.schema import ANSWER, LABEL, PROMPT, REPETITION, STATUS, Status, is_measured

MOST_ANSWERS = 50_000
"""With more, the page would take long to open."""
OUTCOME = "__outcome"
NO_ANSWER, UNDETECTED, COUNTED = "no answer", "undetected", "counted"
"""What stands in place of a label: the attempt failed; nothing was read; words were counted."""


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
    for batch in run.transcript_batches(name):
        answers = with_contrast(probe, batch).with_columns(describe_outcome(probe.detector))
        fits = answers.filter(list(_conditions(choice, covariates)))
        fitting += fits.height
        kept = [pl.concat([*kept, fits]).sort(CONTRAST, descending=True, maintain_order=True).head(most)]
    table = pl.concat(kept).drop(CONTRAST)
    return Chosen(probe=probe, columns=covariates, table=table, fitting=fitting, judge=setup.judge)


def describe_outcome(detector: Detector) -> pl.Expr:
    """The label of each evaluated attempt, or what stands in its place."""
    outcome: pl.Expr = pl.when(detector.detected()).then(pl.lit(COUNTED)) if detector.counts else pl.col(LABEL)
    return pl.when(is_measured()).then(outcome.fill_null(UNDETECTED)).otherwise(pl.lit(NO_ANSWER)).alias(OUTCOME)


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
