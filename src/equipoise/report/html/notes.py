"""What a reader must know before the numbers. What several runs have in common is said once."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from equipoise.measuring.audit import Audit
from equipoise.report.html.runs import ReportedRun
from equipoise.report.text import join_words
from equipoise.schema import ALLOW_MISSING

SHARED = {
    "simulated": "No language model was asked: equipoise makes these answers up.",
    "imported": "Who gave the answers, and how and when they were asked for, is not known here. The files "
    "that the answers come from stand under Method.",
}
"""What is said once of all runs with answers of this origin, in place of a note on each."""
REPLACED = {"simulated": "The answers are simulated:", "imported": "Imported:"}
"""How the notes begin that are not repeated then."""


def gather_notes(runs: Sequence[ReportedRun], names: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Notes, each with a heading. `names` are those of the runs."""
    if len(runs) == 1:
        yield from (("Note", note) for note in runs[0].notes)
        return
    for origin, text in SHARED.items():
        models = [name for run, name in zip(runs, names, strict=True) if run.results.origin_name == origin]
        if models:
            yield origin.capitalize(), f"{join_words(models)}. {text}"
    concerned: dict[str, list[str]] = {}
    for run, name in zip(runs, names, strict=True):
        replaced = REPLACED.get(run.results.origin_name)
        for note in run.notes:
            if replaced is None or not note.startswith(replaced):
                concerned.setdefault(note, []).append(name)
    yield from ((f"Note on {join_words(models)}", note) for note, models in concerned.items())


def describe_failed(audit: Audit) -> str:
    """How many attempts failed, and how, if they are more than a run that counts as whole may lack; else nothing."""
    failed = sum(audit.failed.values())
    if not audit.planned or failed <= ALLOW_MISSING * audit.planned:
        return ""
    states = join_words([f"{count:,} {status.replace('_', ' ')}" for status, count in audit.failed.items()])
    return f"{failed:,} of {audit.planned:,} attempts ({failed / audit.planned:.0%}) have no answer: {states}."
