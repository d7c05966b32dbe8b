"""What a reader must know beside the numbers: where the answers come from, notes, and what the numbers rest on."""

from __future__ import annotations

import itertools
import json
import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict

from msgspec.structs import replace

from equipoise.measuring.compare import format_p
from equipoise.measuring.result import ORIGINS, Audit, Result
from equipoise.report.text import describe_numbers, describe_reasoning, describe_served, join_list
from equipoise.runs.run import Run
from equipoise.schema import ALLOW_MISSING, MEASURED, NEITHER, PROBABILITIES, MetricKey, Status
from equipoise.stats.proportions import two_proportion_p_value

NOT_KNOWN = "not known"
GROUP_NAMES = {"female": "women", "male": "men", "non-binary": "non-binary people"}
FAILED = tuple(str(status) for status in Status if status not in (*MEASURED, Status.PENDING, Status.FILTERED))
COLUMNS = ("planned", "answered", "truncated", "undetected", "filtered", "failed", "pending")
"""Of the table of coverage."""
COMPARED_SHARES = (
    ("undetected", "answered", "were not detected"),
    ("truncated", "answered", "were cut off by the token limit"),
    ("failed", "asked", "failed"),
    ("filtered", "asked", "were filtered"),
)
"""A part, the whole it is a share of, and the verb of the warning."""
WARNING_LEVEL = 0.01
"""A difference between two arms is pointed out when its p-value is below this."""
_MINUS = re.compile(r"(?<=[ (])-(?=\d)")


def run_command(run: Run) -> str:
    """The command line that asks the same again; empty for imported answers and for functions, which it cannot ask."""
    if run.record.imported or run.record.is_function:
        return ""
    return shlex.join(replace(run.record.spec, probes=tuple(run.planned)).command())


def describe_provenance(run: Run) -> dict[str, str]:
    """What an auditor wants to know of a run, by headings."""
    settings, found = run.record, run.provenance
    prompts, answers = found.usage
    served, when = NOT_KNOWN, f"{NOT_KNOWN}; imported {settings.created} (UTC)"
    how = f"{NOT_KNOWN}; the prompts are those of the suite {settings.spec.suite}"
    if not settings.imported:
        answered = [
            f"{name or 'no name was given'}{f', fingerprint {fingerprint}' if fingerprint else ''}: {count:,} attempts"
            for name, fingerprint, count in found.served
        ]
        served = "; ".join(answered) or "nobody yet"
        ended = f"first attempt ended {found.first}, last {found.last}" if found.first else "nothing has ended yet"
        when = f"planned {settings.created}; {ended} (UTC)"
        given = {"base_url": settings.spec.base_url, **asdict(settings.spec.sampling), **settings.model_settings}
        stated = [
            f"{name.replace('_', ' ')} {json.dumps(value, ensure_ascii=False)}"
            for name, value in given.items()
            if value not in (None, {}, [])
        ]
        how = "; ".join([f"suite {settings.spec.suite}", *stated, "all else as the endpoint has it"])
    failures = []
    for status in (status for status in Status if status not in MEASURED and run.counts[status]):
        reasons = [detail for state, detail, _ in found.failures if state == status and detail]
        failures.append(f"{run.counts[status]:,} {status}" + (f" (most often: {reasons[0]})" if reasons else ""))
    if found.earlier_failures:
        failures.append(f"{found.earlier_failures:,} failures that were asked again")
    return {
        "Who was asked": settings.model,
        "Who answered": served,
        "When": when,
        "How": how,
        "How much": f"{run.counts.ended:,} of {run.counts.planned:,} planned attempts; {prompts:,} tokens of prompts, "
        f"{answers:,} of answers, as far as they were counted",
        "What failed": "; ".join(failures) or "no attempt",
        "Content of the run": f"SHA-256 {found.digest}",
    }


def list_notes(run: Run) -> list[str]:
    """The notes of a run, for example that another model was served than was asked for."""
    return [*run.record.notes, *describe_served(run), *itertools.islice(describe_reasoning(run), 1)]


def gather_notes(runs: Sequence[Run], names: Sequence[str]) -> dict[str, str]:
    """Notes, each with whom it is about; nobody for a single run. `names` are those of the runs.

    Of several runs, each note stands there once, and of answers that were not asked for only their origin.
    """
    if len(runs) == 1:
        return dict.fromkeys(list_notes(runs[0]), "")
    concerned: dict[str, list[str]] = {}
    for run, name in zip(runs, names, strict=True):
        origin = ORIGINS[run.record.origin]
        for note in [origin] if origin else list_notes(run):
            concerned.setdefault(note, []).append(name)
    return {note: join_list(models) for note, models in concerned.items()}


def describe_failed(audit: Audit) -> str:
    """How many attempts failed, and how, if they are more than a run that counts as whole may lack; else nothing."""
    counts, failed = audit.counts, sum(audit.counts.failed.values())
    if not counts.planned or failed <= ALLOW_MISSING * counts.planned:
        return ""
    states = join_list([f"{count:,} {status.replace('_', ' ')}" for status, count in counts.failed.items()])
    return f"{failed:,} of {counts.planned:,} attempts ({failed / counts.planned:.0%}) have no answer: {states}."


def name_group(group: str) -> str:
    """A group of the coverage table in plain words."""
    return GROUP_NAMES.get(group, group)


def with_totals(counts: Mapping[str, int]) -> dict[str, int]:
    """The counts of a group, with how many attempts were asked, answered and failed."""
    return {
        **counts,
        "asked": counts["planned"] - counts["pending"],
        "answered": sum(counts[status] for status in MEASURED),
        "failed": sum(counts[status] for status in FAILED),
    }


def describe_coverage(result: Result) -> str:
    """How many attempts are answered, and what became of the others, by arm, in a sentence."""
    arms = result.setup.probe.arms
    counts = with_totals(result.coverage["all"])
    parts = []
    for name in ("undetected", "evaluation_failed", *(str(status) for status in Status if status is not Status.OK)):
        if counts.get(name):
            by_arm = [f"{name_group(arm)} {result.coverage[arm][name]:,}" for arm in (arms.values if arms else ())]
            parts.append(f"{counts[name]:,} {name.replace('_', ' ')}" + (f" ({', '.join(by_arm)})" if by_arm else ""))
    said = f": {'; '.join(parts)}" if parts else ""
    return f"{counts['answered']:,} of {counts['planned']:,} attempts are answered{said}."


def note_numbers(run: Run, result: Result) -> list[str]:
    """What a reader must know beside the numbers: the missing answers, other prompts like these, looks."""
    return [_MINUS.sub("−", note) for note in describe_numbers(run, result)]


def warn_uneven(result: Result) -> Iterator[str]:
    """One sentence for each share in which two arms differ by more than chance explains."""
    arms = result.setup.probe.arms
    counts = {arm: with_totals(result.coverage[arm]) for arm in arms.values} if arms else {}
    for first, second in itertools.combinations(counts, 2):
        for part, whole, verb in COMPARED_SHARES:
            sides = [(counts[arm][part], counts[arm][whole], name_group(arm)) for arm in (first, second)]
            (k1, n1, more), (k2, n2, fewer) = sorted(sides, key=lambda side: -side[0] / max(side[1], 1))
            p = two_proportion_p_value(k1, n1, k2, n2)
            if p < WARNING_LEVEL:
                yield (
                    f"Attempts for {more} {verb} more often than those for {fewer}: {k1 / n1:.1%} "
                    f"({k1:,} of {n1:,}) against {k2 / n2:.1%} ({k2:,} of {n2:,}), p {format_p(p)}. The metrics rest "
                    "on the other answers and may differ for that reason alone."
                )


def list_warnings(result: Result) -> Iterator[str]:
    """What must not be overlooked: that values are probabilities, where they are, and that two arms differ."""
    if result.reading == PROBABILITIES:
        silent = result.estimates[MetricKey(f"{NEITHER}_mass")].value
        opening = result.setup.probe.detector.opening
        word = f"the word that follows “{opening}”" if opening else "the first word of an answer"
        yield (
            f"No text was read here: the values are probabilities of {word}. Of the probability {silent:.0%} is on "
            "words that decide nothing. Results from answers cannot be compared with these."
        )
    yield from warn_uneven(result)
