"""How answers of real models are read: `python -m benchmarks.detectors`; with `--write`, it is written down.

The figures on answers that were labelled by hand go into the package, where reports and cards find them; the tables go
into docs/detectors.md. Without the folder of real answers nothing is measured, and everything stays as it is.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
import timeit
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from benchmarks.exchange import find_unequal
from benchmarks.processes import ROOT, markdown_table, write_block
from benchmarks.real import FOLDER, RealAnswers, find_real_answers
from equipoise.authoring import Probe
from equipoise.probes import find_probes
from equipoise.probes.labelled import FIGURES, Accuracy, compare_labels, decided_label
from equipoise.schema import READINGS

PAGE = ROOT / "docs" / "detectors.md"
CHARACTERS_A_TOKEN = 4
"""English text has more characters a token with common tokenizers: an answer is cut too early, hardly ever too late."""
SPELT_OUT = {"OttoBoop/Reversal-and-Persistence": "OttoBoop/Reversal-and-Persistence-of-Gender-Biases-in-GPT-Models"}
"""Repositories whose names the answers abbreviate."""


@dataclass(frozen=True, kw_only=True)
class Measured:
    """How one reading reads the answers of one file."""

    file: RealAnswers
    probe: Probe
    labels: Sequence[str]
    counts: Accuracy
    unequal: int
    """Answers whose label does not follow when the genders are exchanged in the text."""
    milliseconds: float
    """Processor's time for an answer."""


def main() -> None:
    """Print the tables; with --write, write the figures, and the tables and cards that state them."""
    files = find_real_answers()
    if not files:
        sys.exit(f"There are no real answers in {FOLDER}. EQUIPOISE_REAL_ANSWERS names another folder.")
    measured = [
        measure(file, file.probe.read_by(reading))
        for file in files
        for reading in READINGS[: 2 if file.probe.specified else 1]
    ]
    tables = {
        "sources": sources_table(files),
        "errors": errors_table(measured),
        "limits": limits_table(measured),
    }
    for table in tables.values():
        print(f"{table}\n")
    if "--write" in sys.argv[1:]:
        FIGURES.write_text(json.dumps(count_by_detector(measured), indent=1) + "\n", encoding="utf-8")
        for name, table in tables.items():
            write_block(PAGE, name, table)
        subprocess.run([sys.executable, str(ROOT / "docs" / "generate.py")], check=True)


def measure(file: RealAnswers, probe: Probe) -> Measured:
    """Read the answers of a file, time it, and compare with their labels."""
    labels = file.label(probe)  # also compiles the patterns, which is no part of the time
    seconds = min(timeit.repeat(lambda: file.label(probe), timer=time.process_time, number=1, repeat=3))
    return Measured(
        file=file,
        probe=probe,
        labels=labels,
        counts=compare_labels(probe.detector, file.truth, labels),
        unequal=len(find_unequal(lambda answers: file.label(probe, answers), file.answers)),
        milliseconds=1000 * seconds / len(file.answers),
    )


def count_by_detector(measured: Iterable[Measured]) -> dict[str, dict[str, int]]:
    """What the package states of each detector: the sums over all answers that were labelled by hand."""
    figures: dict[str, dict[str, int]] = {}
    models: dict[str, set[str]] = {}
    for found in measured:
        if found.file.by_hand:
            title, counts = found.probe.detector.title, found.counts
            models.setdefault(title, set()).update(row["model"] for row in found.file.rows)
            sums = figures.setdefault(title, dict.fromkeys(("answers", "models", "read", "wrong", "flips"), 0))
            sums["answers"] += counts.n
            sums["read"] += counts.read
            sums["wrong"] += counts.wrong_read
            sums["flips"] += counts.flips
            sums["models"] = len(models[title])
    return figures


def find_same(found: Measured, tokens: int) -> Iterator[bool]:
    """For each answer that decides and is read: whether it is read the same when it is cut after so many tokens."""
    detector = found.probe.detector
    cut = found.file.label(found.probe, [answer[: tokens * CHARACTERS_A_TOKEN] for answer in found.file.answers])
    for whole, shorter, truth in zip(found.labels, cut, found.file.truth, strict=True):
        if decided_label(detector, whole) and decided_label(detector, truth):
            yield whole == shorter


def sources_table(files: Iterable[RealAnswers]) -> str:
    """Whose answers they are: one row per file."""
    rows = []
    for file in files:
        repositories = {row["source"].split()[0].rstrip(",") for row in file.rows}
        sources = ", ".join(sorted({SPELT_OUT.get(name, name) for name in repositories}))
        models = len({row["model"] for row in file.rows})
        rows.append((file.name, f"{len(file.answers):,}", models, file.rows[0]["labelled_by"], sources))
    return markdown_table(("file", "answers", "models", "labelled by", "from"), rows)


def errors_table(measured: Iterable[Measured]) -> str:
    """How each reading reads each file."""
    rows = []
    for found in measured:
        counts = found.counts
        wrong = f"{counts.wrong_read} of {counts.read:,} ({counts.wrong_read / max(counts.read, 1):.1%})"
        shares = (f"{counts.n:,}", f"{counts.read / counts.n:.0%}", f"{counts.wrong / counts.n:.1%}", wrong)
        time = f"{found.milliseconds:.2f}"
        rows.append((found.file.kind, found.file.name, found.probe.reading, *shares, counts.flips, found.unequal, time))
    head = ("kind", "file", "reading", "answers", "read", "error", "wrong among read", "flips", "unequal")
    return markdown_table((*head, "ms an answer"), rows)


def limits_table(measured: Sequence[Measured]) -> str:
    """For each probe and file, how many of the answers that decide are read the same when cut at the probe's limit."""
    rows = []
    for probe in find_probes().values():
        for found in _whole_answers(measured):
            if found.probe.detector == probe.detector:
                same = list(find_same(found, probe.max_tokens))
                share = f"{sum(same):,} ({sum(same) / len(same):.1%})"
                rows.append((f"`{probe.name}`", probe.max_tokens, found.file.name, f"{len(same):,}", share))
    return markdown_table(("probe", "tokens", "file", "answers", "read the same"), rows)


def _whole_answers(measured: Iterable[Measured]) -> Iterator[Measured]:
    """The careful reading of answers that were not chosen by how they begin or by a field that they have."""
    for found in measured:
        if found.probe.reading == READINGS[0] and found.file.name not in ("decisions_leading", "decisions_json"):
            yield found


if __name__ == "__main__":
    main()
