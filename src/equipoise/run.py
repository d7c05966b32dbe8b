"""A run file as a value to work with: its state, its answers, its results."""

from __future__ import annotations

import functools
from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import polars as pl
from polars.exceptions import PolarsError

from equipoise.errors import IntegrityError, UnknownName
from equipoise.frames import ID, PROMPT, REPETITION, STATUS, Status
from equipoise.plans import Setup
from equipoise.probe import Probe
from equipoise.probes import find
from equipoise.results import Audit, Result
from equipoise.runs.store import RunFile
from equipoise.runs.values import Planned
from equipoise.scoring import Part, evaluated_batch, measured


class Run:
    """A run, opened for reading, finished or not.

    run = Run.open("gpt-4o-mini.equipoise")
    run.metrics()                     a row a metric
    run.transcripts("jobs_lum")       prompts, answers and what each answer says
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        with RunFile.read(path) as file:
            self.settings: Mapping[str, Any] = file.settings
            self.planned = {planned.name: planned for planned in file.probes()}
            self.states = file.states()

    @classmethod
    def open(cls, path: str | Path) -> Run:
        """Open a run file; it is only read."""
        return cls(Path(path))

    @property
    def model(self) -> str:
        """The model that was asked."""
        return str(self.settings.get("model", "unknown"))

    @functools.cached_property
    def usage(self) -> tuple[int, int]:
        """Tokens of all prompts and of all answers, as far as the endpoint counted them."""
        with RunFile.read(self.path) as file:
            return file.usage()

    @property
    def counts(self) -> dict[Status, int]:
        """Attempts by state, over all probes. They add up to the plan."""
        return {status: sum(states[status] for states in self.states.values()) for status in Status}

    @property
    def size(self) -> int:
        """Planned attempts."""
        return sum(self.counts.values())

    @property
    def ended(self) -> int:
        """Attempts that are not pending any more."""
        return self.size - self.counts[Status.PENDING]

    @property
    def complete(self) -> bool:
        """Whether nothing is pending."""
        return self.ended == self.size

    def attempts(self, probe: str | None = None) -> pl.DataFrame:
        """Every attempt that has an end: key, status, answer, tokens, latency."""
        names = [self._planned(probe).name] if probe else list(self.planned)
        with RunFile.read(self.path) as file:
            parts = [
                batch.select(pl.lit(name).alias("probe"), pl.all()) for name in names for batch in file.attempts(name)
            ]
        return pl.concat(parts)

    def prompts(self, probe: str) -> pl.DataFrame:
        """The prompts of a probe with their covariates, in the order of the plan."""
        with RunFile.read(self.path) as file:
            return file.prompts(self._planned(probe).name)

    def transcripts(self, probe: str, **covariates: Any) -> pl.DataFrame:
        """Prompts, answers and what each answer says; with keywords only those rows: `gender="female"`."""
        prompts, attempts = self.prompts(probe), self.attempts(probe).drop("probe")
        for name in covariates:
            if name not in prompts.columns:
                raise UnknownName(f"covariate of {probe}", name, prompts.columns)
        said = self.result(probe).evaluated.drop(STATUS).select(pl.exclude(prompts.columns), ID)
        return prompts.join(attempts, on=ID).join(said, on=[ID, REPETITION], how="left").filter(**covariates)

    def results(self) -> Audit:
        """The results of every probe on what has been answered so far."""
        return Audit({name: self.result(name) for name in self.planned})

    def metrics(self) -> pl.DataFrame:
        """The metrics of every probe, a row each."""
        return self.results().to_frame()

    @functools.cache  # noqa: B019 - a run is opened once, and evaluating it takes a moment
    def result(self, probe: str) -> Result:
        """The result of one probe on what has been answered so far."""
        planned = self._planned(probe)
        asked = installed(planned, self.path)
        try:
            return self._measured(asked, planned)
        except (PolarsError, ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
            # A file from elsewhere may have our schema and anything in it.
            raise IntegrityError(f"{self.path} holds what no run of {probe} writes: {error}.") from None

    def _measured(self, probe: Probe, planned: Planned) -> Result:
        setup = Setup(
            probe=probe,
            parameters=probe.resolve(planned.parameters),
            corpus=planned.corpus,
            corpus_sha256=planned.corpus_sha256,
        )
        return measured(setup, partial(_parts, self.path, probe))

    def _planned(self, probe: str) -> Planned:
        if probe not in self.planned:
            raise UnknownName("probe of this run", probe, self.planned)
        return self.planned[probe]

    def __repr__(self) -> str:
        progress = f"{self.ended:,} of {self.size:,} attempts"
        return f"Run({str(self.path)!r}: {self.model}, {', '.join(self.planned)}, {progress})"


def _parts(path: Path, probe: Probe) -> Iterator[Part]:
    with RunFile.read(path) as file:
        for planned, answers in file.answers(probe.name):
            prompts = planned.drop(PROMPT)
            yield Part(prompts, prompts.join(evaluated_batch(probe, answers), on=ID, maintain_order="left_right"))


def installed(planned: Planned, path: Path) -> Probe:
    """The installed probe that this run asked; another version would read the answers by other rules."""
    probe = find().get(planned.name)
    if probe is None:
        raise IntegrityError(f"{path} holds answers of the probe {planned.name!r}, which is not installed.")
    if probe.version != planned.version:
        raise IntegrityError(
            f"{path} holds answers of {planned.name} version {planned.version}; version {probe.version} is installed "
            "and would read them by other rules."
        )
    return probe
