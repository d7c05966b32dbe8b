"""Write a run file with simulated answers: `python -m benchmarks.report_job FILE SUITE`."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

from benchmarks.clock import print_result
from benchmarks.scale_job import FILLER, LENGTH
from benchmarks.settings import make_settings
from equipoise.errors import AssetUnavailable
from equipoise.measuring.plan import Plan
from equipoise.models import Reply
from equipoise.runs.file.store import RunFile
from equipoise.runs.file.values import Attempt
from equipoise.runs.suites import plan_probes
from equipoise.schema import ID, REPETITION, Status


def make_plans(suite: str) -> tuple[list[Plan], str]:
    """The plans of a suite, and a note for the page. Texts that cannot be fetched are replaced by packaged ones."""
    try:
        return plan_probes(None, suite, {}), ""
    except AssetUnavailable:
        packaged = {"gest_creative.corpus": "mottos", "discrimination_tamkin.corpus": "scenarios"}
        return plan_probes(None, suite, packaged), ", two of them on the packaged texts"


def main() -> None:
    """Write the file."""
    path, suite = Path(sys.argv[1]), sys.argv[2]
    plans, note = make_plans(suite)
    rng = np.random.default_rng(0)
    padding = ("".join(FILLER) * 3)[: LENGTH - 60]
    attempts = 0
    with RunFile.create(path, settings=make_settings(suite), plans=plans) as run:
        for plan in plans:
            planned = plan.attempts()
            answers = plan.probe.simulate(planned, "stereotyping", rng)
            attempts += run.record(
                Attempt(
                    probe=plan.probe.name,
                    prompt=prompt,
                    repetition=repetition,
                    reply=Reply(status=Status.OK, answer=padding + answer),
                )
                for prompt, repetition, answer in zip(planned[ID], planned[REPETITION], answers, strict=True)
            )
    print_result({"attempts": attempts, "probes": len(plans), "suite": suite, "note": note})


if __name__ == "__main__":
    main()
