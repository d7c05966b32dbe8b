"""A run file as a value to work with: its state, its answers, its results."""

from __future__ import annotations

import functools
import html
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import asdict
from functools import partial
from pathlib import Path

import polars as pl
from polars.exceptions import PolarsError

import equipoise
from equipoise.authoring import Probe
from equipoise.errors import EquipoiseError, IntegrityError, ProbeError, UnknownName
from equipoise.measuring.evaluate import evaluate, evaluate_judged
from equipoise.measuring.measure import Batch, measure, measure_other_reading
from equipoise.measuring.plan import Setup, plan
from equipoise.measuring.result import ASKED, Audit, Result
from equipoise.probes.labelled import ExamResult
from equipoise.runs.file.reader import RunReader
from equipoise.runs.file.store import RunFile
from equipoise.runs.file.values import ATTEMPTS, Provenance, StoredPlan
from equipoise.runs.setup import are_prompts_of, find_setup, known_probes
from equipoise.runs.verdicts import count_verdicts, grade_exams, judged_probes
from equipoise.safe_text import printable_line
from equipoise.schema import ANSWER, ID, ITEM, PROMPT, READINGS, REPETITION, STATUS, VERDICT, Status, is_measured


class Run:
    """A run, opened for reading, finished or not.

    run = Run.open("gpt-4o-mini.equipoise")
    run["jobs_lum"]                   the result of a probe
    run.to_frame()                    the results of all: one row per metric
    run.report("report.html")         and as a page
    run.transcripts("jobs_lum")       prompts, answers and what each answer says
    """

    def __init__(
        self,
        path: Path,
        probes: Iterable[Probe] = (),
        reading: str | None = None,
        *,
        judged: bool = True,
        already_checked: bool = False,
    ) -> None:
        if reading not in (None, *READINGS):
            raise UnknownName("reading", str(reading), READINGS)
        self.path = path
        self.name = path.name
        """What a report calls the file."""
        self.reading = reading
        self.judged = judged
        self._given_probes = {probe.name: probe for probe in probes}
        self._results: dict[str, Result] = {}
        with RunReader.open(path, already_checked=already_checked) as file:
            self.record = file.record
            self.model = self.record.model
            self.planned = {planned.name: planned for planned in file.probes()}
            self.states, self.counts = file.states(), file.counts()

    @classmethod
    def open(
        cls, path: str | Path, *, probes: Iterable[Probe] = (), reading: str | None = None, judged: bool = True
    ) -> Run:
        """Open a run file; it is only read. Probes that are given take the place of installed ones of the same name.

        `reading` is "careful" or "specified": how the stored answers are read; None: as the run says.
        `judged` says whether the verdicts of a judge are used, if the file holds any.
        """
        return cls(Path(path), probes, reading, judged=judged)

    def _open(self) -> RunReader:
        """The file, which was verified when the run was opened."""
        return RunReader.open(self.path, already_checked=True)

    @functools.cached_property
    def _known_probes(self) -> dict[str, Probe]:
        return known_probes(self.record.spec, self._given_probes.values())

    @functools.cached_property
    def judge(self) -> str | None:
        """The judge whose verdicts are used, if there is one. If it failed its exam, that stands beside its name."""
        judge = self.record.spec.judge
        if judge is None or not self.judged:
            return None
        return f"{judge} (failed its exam)" if any(exam.faults for exam in self.exams.values()) else judge

    @functools.cached_property
    def exams(self) -> dict[str, ExamResult]:
        """How a judge did in its exam, for each probe."""
        known = self._known_probes
        with self._open() as file:
            return grade_exams(file, [known[name] for name in self.planned if name in known])

    @functools.cached_property
    def judging(self) -> dict[Status, int]:
        """How many answers are for the judge, by the state of their verdicts; empty without a judge."""
        if self.record.spec.judge is None:
            return {}
        probes = {name: self.setup(name).probe for name in self.planned}
        with self._open() as file:
            return count_verdicts(file, judged_probes(file, probes))

    @functools.cached_property
    def provenance(self) -> Provenance:
        """Who answered, when, what failed, what it took, and one digest for the whole content."""
        with self._open() as file:
            return file.provenance()

    @property
    def complete(self) -> bool:
        """Whether every attempt has an answer: nothing is pending, and nothing has failed."""
        return self.counts.answered == self.counts.planned

    def describe_state(self) -> str:
        """How far the run is: "complete", "incomplete 200 of 280", what has no answer; and whether it is imported."""
        counts, failed = self.counts, self.counts.failed
        parts = [f"incomplete {counts.ended:,} of {counts.planned:,}"] if counts[Status.PENDING] else []
        if failed:
            states = ", ".join(f"{count:,} {status.value.replace('_', ' ')}" for status, count in failed.items())
            parts.append(f"{sum(failed.values()):,} of {counts.planned:,} without an answer: {states}")
        return ", ".join([*(["imported answers"] if self.record.imported else []), *(parts or ["complete"])])

    @property
    def small_limit(self) -> int | None:
        """The token limit of the run, if answers are empty because it was reached before any text came."""
        if not self.counts[Status.EMPTY] or not self.provenance.spent_on_reasoning:
            return None
        return max(planned.asking.max_tokens or 0 for planned in self.planned.values())

    def prompts(self, probe: str) -> pl.DataFrame:
        """The prompts of a probe with their covariates, in the order of the plan."""
        return pl.concat(list(self.prompt_batches(probe)))

    def prompt_batches(self, probe: str) -> Iterator[pl.DataFrame]:
        """The same as tables of bounded size, at least one."""
        name = self._find_planned(probe).name
        with self._open() as file:
            yield from file.prompts(name)

    def transcripts(self, probe: str) -> pl.DataFrame:
        """Prompts, answers and what each answer says."""
        return pl.concat(list(self.transcript_batches(probe)))

    def transcript_batches(self, probe: str, among: Sequence[str] | None = None) -> Iterator[pl.DataFrame]:
        """The same as tables of bounded size, whole items, at least one; or only for the prompts with these ids."""
        for batch in self._batches_with_texts(probe, among):
            yield batch.attempts

    def _batches_with_texts(self, probe: str, among: Sequence[str] | None = None) -> Iterator[Batch]:
        """Prompts, and the attempts at them with prompt, answer and what it says."""
        setup = self.setup(probe)
        with self._open() as file:
            evaluate_them = self._evaluator(setup, file)
            for prompts, attempts in file.attempts(probe, ATTEMPTS, among):
                evaluated = evaluate_them(attempts).select(pl.exclude(attempts.columns))
                first = [ID, REPETITION, ITEM, PROMPT, *prompts.columns[3:], STATUS, ANSWER, *evaluated.columns]
                yield Batch(prompts, attempts.hstack(evaluated).select(*first, pl.exclude(first)))

    def attempts(self, probe: str | None = None) -> pl.DataFrame:
        """Every attempt that has ended: key, status, answer, tokens, latency."""
        names = [self._find_planned(probe).name] if probe else list(self.planned)
        with self._open() as file:
            batches = [
                attempts.select(pl.lit(name).alias("probe"), *ATTEMPTS)
                for name in names
                for _, attempts in file.attempts(name, ATTEMPTS)
            ]
        return pl.concat(batches)

    def results(self) -> Audit:
        """The results of every probe on what has been answered so far."""
        return Audit(
            {name: self.result(name) for name in self.planned},
            model=self.model,
            path=self.path,
            sampling=asdict(self.record.spec.sampling),
            origin=self.record.origin,
            owner=self,
        )

    def to_frame(self) -> pl.DataFrame:
        """All metrics of all probes as one table, as `Audit.to_frame`."""
        return self.results().to_frame()

    def report(self, out: str | Path, charts: str | Path | None = None) -> list[Path]:
        """Write the report, as `Audit.report`."""
        return self.results().report(out, charts)

    def plot(self, metric: str | None = None, by: str | None = None) -> equipoise.Drawing:
        """A chart, as `Audit.plot`."""
        return self.results().plot(metric, by)

    def result(self, probe: str) -> Result:
        """The result of one probe on what has been answered so far."""
        if probe not in self._results:
            setup = self.setup(probe)
            try:
                # A partial of the run and not of its path: the file of a temporary run lasts as long as its results.
                self._results[probe] = measure(setup, partial(self.evaluated_batches, setup), looks=self.looks(probe))
            except ProbeError as error:
                if self._holds_planned_prompts(setup):
                    raise
                raise IntegrityError(f"{self.path} holds what no run of {probe} writes. {error}") from error
        return self._results[probe]

    def looks(self, probe: str) -> Sequence[int]:
        """How many items the probe has at each look, in a run that stops when its marks are certain; else nothing."""
        sizes = self.record.looks.get(probe, ())
        if sizes and self.setup(probe).items not in sizes:
            raise IntegrityError(f"{self.path} is damaged: {probe} has another number of items than at any look.")
        return sizes

    def other_reading(self, probe: str) -> Result | None:
        """The result by the probe's other reading; its coverage counts the answers that the two read differently."""
        return measure_other_reading(self.setup(probe), partial(self._batches_with_texts, probe))

    def setup(self, probe: str) -> Setup:
        """The probe and the parameters that this run asked with; IntegrityError if they do not fit together."""
        planned = self._find_planned(probe)
        known = self._known_probes.get(probe)
        reading = self.reading or self.record.spec.reading
        return find_setup(planned, known, self.path, reading=reading, judge=self.judge)

    def evaluated_batches(self, setup: Setup) -> Iterator[Batch]:
        """Prompts without their texts, whole items at a time, and what the attempts at them say."""
        with self._open() as file:
            evaluate_them = self._evaluator(setup, file)
            for prompts, answers in file.attempts(setup.probe.name):
                yield Batch(prompts.drop(PROMPT), evaluate_them(answers).drop(PROMPT))

    def _evaluator(self, setup: Setup, file: RunReader) -> Callable[[pl.DataFrame], pl.DataFrame]:
        """What evaluates attempts that are joined to their prompts: by the detector, and by the verdicts of a judge."""
        if setup.judge is None:
            return partial(evaluate, setup.probe.detector)
        verdicts = file.verdicts(setup.probe.name).filter(is_measured()).select(ID, REPETITION, VERDICT)
        return partial(evaluate_judged, setup.probe, verdicts=verdicts)

    def _holds_planned_prompts(self, setup: Setup) -> bool:
        """Whether the prompts in the file are those that the probe plans, so that a mistake must be the probe's."""
        try:
            return are_prompts_of(plan(setup.probe, **setup.parameters), self.prompt_batches(setup.probe.name))
        except ProbeError:
            return True
        except (EquipoiseError, PolarsError):
            return False

    def _find_planned(self, probe: str) -> StoredPlan:
        if probe not in self.planned:
            raise UnknownName("probe of this run", probe, self.planned)
        return self.planned[probe]

    def __getitem__(self, probe: str) -> Result:
        return self.result(probe)

    def __iter__(self) -> Iterator[str]:
        return iter(self.planned)

    def _repr_html_(self) -> str:
        return f"<p>{html.escape(repr(self))}</p>{self.results()._repr_html_()}"

    def __repr__(self) -> str:
        origin = self.record.origin
        parts = [self.model, *([] if origin == ASKED else [f"{origin} answers"]), *self.planned]
        return printable_line(
            f"Run({str(self.path)!r}: {', '.join(parts)}, {self.counts.ended:,} of {self.counts.planned:,} attempts)"
        )


def store_labels(file: RunFile, probes: Iterable[Probe]) -> None:
    """Store what the answers of a run say, for other tools.

    Labels can be made again at any time, so a full disk or a probe that is not installed ends no run: the file then has
    the labels that it had.
    """
    with suppress(EquipoiseError):
        run = Run(file.path, probes, already_checked=True)
        setups = [run.setup(name) for name in run.planned]
        file.replace_labels(
            (setup.probe, (batch.attempts for batch in run.evaluated_batches(setup))) for setup in setups
        )
