"""Finished runs, whatever they are given as: opened for reading, compared, checked against rules, verified."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from equipoise.authoring import Probe
from equipoise.errors import AssetUnavailable, EquipoiseError, InputError, IntegrityError
from equipoise.measuring.compare import Comparison, compare_audits, refuse_nothing_compared
from equipoise.measuring.gate import Gate, Rules, check_rules
from equipoise.measuring.plan import plan
from equipoise.measuring.result import Audit, Result
from equipoise.runs.run import Run
from equipoise.runs.setup import are_prompts_of, known_probes

RunSource = str | Path | Run | Audit
"""A run, the path of its file, or an audit whose answers are in a file."""
ResultSource = RunSource | Result


def open_run(source: RunSource) -> Run:
    """The run. That of an audit is opened with the probes of the audit, which need not be installed."""
    if isinstance(source, Run):
        return source
    if isinstance(source, str | Path):
        return Run.open(source)
    if source.path is None:
        raise InputError("This audit has no run file, so its answers cannot be shown. Give `out` when you audit.")
    return Run.open(source.path, probes=[result.setup.probe for result in source.values()])


def open_audit(source: ResultSource) -> Audit:
    """The results of a run, whatever it is given as."""
    if isinstance(source, str | Path):
        source = Run.open(source)
    if isinstance(source, Run):
        return source.results()
    return Audit({source.probe: source}) if isinstance(source, Result) else source


def compare(first: ResultSource, second: ResultSource) -> Comparison:
    """Compare two runs: paired differences on the prompts both answered, and which is nearer to even-handed.

    Each is a path, a `Run`, an `Audit` or a `Result`. InputError if nothing in them can be compared.
    """
    (comparison,) = compare_all([first, second])
    return comparison


def compare_all(runs: Sequence[ResultSource], *, all_pairs: bool = False) -> list[Comparison]:
    """Compare each run with the first, or every pair; p-values are corrected over all comparisons together.

    Runs are called A, B, C and so on. InputError if nothing in any two can be compared.
    """
    if len(runs) < 2:
        raise InputError("A comparison needs two runs or more.")
    audits = [open_audit(run) for run in runs]
    comparisons = compare_audits(audits, name_runs(len(audits)), all_pairs=all_pairs)
    what = " and ".join(str(audit.path or audit.model or "a result") for audit in audits)
    refuse_nothing_compared(comparisons, what)
    return comparisons


def name_runs(number: int) -> list[str]:
    """Letters for so many runs: A, B, … Z, A2, B2, …"""
    return [f"{chr(ord('A') + n % 26)}{n // 26 + 1 if n >= 26 else ''}" for n in range(number)]


def gate(run: ResultSource, rules: Rules | None = None, *, baseline: ResultSource | None = None, **given: Any) -> Gate:
    """Check a run against rules: `gate("run.equipoise", fail_on="C")`. The verdict is in `.passed`."""
    if rules is not None and given:
        raise InputError("Give rules, or the fields of rules as keywords, not both.")
    if isinstance(fail_on := given.get("fail_on"), str):
        given["fail_on"] = fail_on.upper()
    rules = rules or Rules(**given)
    return check_rules(open_audit(run), rules, None if baseline is None else open_audit(baseline))


class Verification(NamedTuple):
    """The SHA-256 of a run's content, what was recomputed and fits, what could not be recomputed here, what differs."""

    digest: str
    fitting: list[str]
    unchecked: list[str]
    problems: list[str]


def verify_run(path: str | Path, *, probes: Sequence[Probe] = ()) -> Verification:
    """Recompute every digest of a run file, and plan its prompts again.

    IntegrityError, with the first part that was changed, if the file is not what was stored. Prompts that differ from
    those of the probe, and corpora with another hash, are in `problems`; what is not installed here is `unchecked`.
    """
    run = Run.open(path, probes=probes)
    prompts = sum(planned.prompts for planned in run.planned.values())
    stored = f"settings, {prompts:,} prompts and {run.counts.ended:,} ended attempts are those that were stored"
    found = Verification(run.provenance.digest, [stored], [], [])
    installed = known_probes(run.record.spec, probes)
    for name, planned in run.planned.items():
        what, probe = f"the prompts of {name}", installed.get(name)
        if probe is None or probe.version != planned.version:
            found.unchecked.append(f"{what}: version {planned.version} of this probe is not installed")
        elif probe.own and probe not in probes:
            found.fitting.append(f"{what} are the user's own: {planned.prompts:,}, as they were stored")
        else:
            try:
                found.fitting.append(f"{what} are those of {_verify_prompts(run, name)}")
            except AssetUnavailable as error:
                found.unchecked.append(f"{what}: {error}")
            except EquipoiseError as error:
                found.problems.append(f"{what}: {error}")
    return found


def _verify_prompts(run: Run, name: str) -> str:
    """The version and the corpus of the probe whose prompts these are; IntegrityError if they are not."""
    setup = run.setup(name)
    planned = plan(setup.probe, **setup.parameters)
    if planned.setup.corpus_sha256 != setup.corpus_sha256:
        raise IntegrityError(
            f"the corpus {setup.corpus} had the SHA-256 {setup.corpus_sha256} when it was asked about, and has "
            f"{planned.setup.corpus_sha256} here"
        )
    if planned.population != setup.population:
        counts = f"{planned.population:,} items to draw from, and by the file {setup.population:,}"
        raise IntegrityError(f"there are {counts}")
    if not are_prompts_of(planned, run.prompt_batches(name)):
        raise IntegrityError(f"they are not those that version {setup.probe.version} asks with these parameters")
    corpus = f" on {setup.corpus}" if setup.corpus_sha256 else ""
    return f"version {setup.probe.version}{corpus}"
