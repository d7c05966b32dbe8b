"""A run file as a model would have filled it, in a process of its own: `FILE SUITE`."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

from benchmarks.clock import report
from benchmarks.scale_job import FILLER, LENGTH
from equipoise.auditing import plans_for
from equipoise.errors import AssetUnavailable
from equipoise.frames import ID, REPETITION, Status
from equipoise.models import Reply
from equipoise.plans import Plan
from equipoise.runs import Attempt, RunFile


def planned(suite: str) -> tuple[list[Plan], str]:
    """The plans of a suite; on the packaged texts where the others cannot be had."""
    try:
        return plans_for(None, suite, {}), ""
    except AssetUnavailable:
        packaged = {"gest_creative.corpus": "mottos", "discrimination_tamkin.corpus": "scenarios"}
        return plans_for(None, suite, packaged), ", two of them on the packaged texts"


def main() -> None:
    """Write the file."""
    path, suite = Path(sys.argv[1]), sys.argv[2]
    plans, note = planned(suite)
    rng = np.random.default_rng(0)
    padding = ("".join(FILLER) * 3)[: LENGTH - 60]
    settings = {"model": "fake/model", "suite": suite, "sampling": {"max_tokens": 1024}}
    attempts = 0
    with RunFile.create(path, settings=settings, plans=plans) as run:
        for plan in plans:
            asked = plan.attempts()
            said = plan.probe.simulate(asked, "stereotyping", rng)
            attempts += run.record(
                Attempt(
                    probe=plan.probe.name,
                    prompt=prompt,
                    repetition=repetition,
                    reply=Reply(status=Status.OK, answer=padding + answer),
                )
                for prompt, repetition, answer in zip(asked[ID], asked[REPETITION], said, strict=True)
            )
    report({"attempts": attempts, "probes": len(plans), "suite": suite, "note": note})


if __name__ == "__main__":
    main()
