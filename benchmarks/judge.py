"""How often the embedded model, as a judge, gives labelled answers the label that people gave: `make judge`.

It exercises the machinery of `--judge` from the question to the verdict in the run file. The model is the smallest that
can follow an instruction at all, so the numbers say nothing about judges that are worth asking.
"""

from __future__ import annotations

import argparse
import itertools
import random
import tempfile
from dataclasses import replace
from pathlib import Path

import polars as pl

import equipoise
from equipoise.authoring import Probe
from equipoise.measuring.accuracy import compare_labels, read_labelled, wilson
from equipoise.probes import find_probes
from equipoise.schema import LABEL, VERDICT

ANSWERS = 12
"""Labelled answers per probe, a multiple of the number of arms, from both halves: nothing is tuned on them here."""


def main() -> None:
    """Print a Markdown table with one row per probe."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--judge", default="embedded")
    parser.add_argument("--answers", type=int, default=ANSWERS)
    given = parser.parse_args()
    print("| probe | answers | a label or none | the label of people | 95% | flips |")
    print("| --- | --- | --- | --- | --- | --- |")
    for probe in find_probes().values():
        if probe.judge:
            print(measure(probe, given.judge, given.answers), flush=True)


def measure(probe: Probe, judge: str, size: int) -> str:
    """The row of one probe: a run in which the model gives labelled answers, which no detector reads."""
    rows = random.Random(0).sample(read_labelled(probe), size)
    unread = replace(probe.detector, read=lambda text: pl.when(text.is_null()).then(pl.lit("")))
    given = itertools.cycle(row["answer"] for row in rows)
    items = size // len(probe.prefixes)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "judged.equipoise"
        blind = replace(probe, detector=unread, specified=None)
        equipoise.audit(lambda _: next(given), probes=blind, suite="quick", out=path, sample=items, judge=judge)
        found = equipoise.Run.open(path, probes=[blind]).transcripts(probe.name).unique("answer", maintain_order=True)
    labels = dict(found.select("answer", LABEL).iter_rows())
    said = [labels[row["answer"]] or "" for row in rows]
    words = {*probe.judge.labels, "none"} if probe.judge else set()
    parsed = sum(verdict.strip(" .*\"'\n").lower() in words for verdict in found[VERDICT].drop_nulls())
    accuracy = compare_labels(probe.detector, [row["label"] for row in rows], said)
    right = accuracy.n - accuracy.wrong
    low, high = wilson(right, accuracy.n)
    share = f"{right} ({right / accuracy.n:.0%}) | {low:.0%} to {high:.0%}"
    return f"| {probe.name} | {accuracy.n} | {parsed} | {share} | {accuracy.flips} |"


if __name__ == "__main__":
    main()
