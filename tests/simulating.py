"""Run files of reference models: what `equipoise run` would have written, without asking anybody."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

import equipoise
from equipoise.frames import ID, REPETITION, Status
from equipoise.models.protocol import Reply
from equipoise.run import Run
from equipoise.runs import Attempt, RunFile

SMALL: Mapping[str, Mapping[str, Any]] = {
    "jobs_lum": {"sample_k": 120},
    "gest_creative": {"corpus": "mottos", "sample_k": 160},
    "hiring_an": {"sample_k": 160},
    "discrimination_tamkin": {"corpus": "scenarios", "sample_k": 60},
    "business_vocabulary": {"sample_k": 96},
}


def simulated(
    path: Path,
    stances: Mapping[str, str],
    *,
    seed: int = 1,
    model: str = "fake/model",
    answered: int | None = None,
    failed: int = 0,
    parameters: Mapping[str, Mapping[str, Any]] = SMALL,
    answers: Mapping[str, str] | None = None,
    **settings: object,
) -> Run:
    """A run of these probes, each answered as this reference model would.

    Of each probe so many attempts are `answered` (default: all) and so many of these failed; `answers` replace the
    simulated ones by the id of the prompt.
    """
    plans = {name: equipoise.plan(name, **parameters[name]) for name in stances}
    given = {"model": model, "suite": "quick", "sampling": {"max_tokens": 64}, **settings}
    rng = np.random.default_rng(seed)
    with RunFile.create(path, settings=given, plans=plans.values()) as file:
        for name, plan in plans.items():
            asked = plan.attempts()[:answered]
            said = plan.probe.simulate(asked, stances[name], rng)
            keys = zip(asked[ID], asked[REPETITION], said, strict=True)
            file.record(
                Attempt(
                    probe=name,
                    prompt=prompt,
                    repetition=repetition,
                    reply=Reply(status=Status.TIMEOUT, detail="too late")
                    if place < failed
                    else Reply(status=Status.OK, answer=(answers or {}).get(prompt, answer)),
                )
                for place, (prompt, repetition, answer) in enumerate(keys)
            )
    return Run.open(path)
