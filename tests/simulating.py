"""Run files of reference models: what `equipoise run` would have written, without asking anybody."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

import equipoise
from equipoise.authoring import Evidence
from equipoise.measuring.result import Result
from equipoise.models.protocol import Reply, Sampling
from equipoise.runs.file import checks, sql
from equipoise.runs.file.store import RunFile
from equipoise.runs.file.values import Attempt
from equipoise.runs.run import Run
from equipoise.runs.spec import make_record, make_spec
from equipoise.schema import ANSWER, ID, REPETITION, Status, text_column

SMALL: Mapping[str, Mapping[str, Any]] = {
    "jobs_lum": {"sample": 120},
    "gest_creative": {"corpus": "mottos", "sample": 160},
    "inventories": {},
    "hiring_an": {"sample": 160},
    "hiring_bloomberg": {"sample": 48},
    "pronoun_fidelity": {"sample": 24},
    "word_association": {"sample": 48},
    "discrimination_tamkin": {"corpus": "scenarios", "sample": 60},
    "business_vocabulary": {"sample": 96},
}
"""Parameters for each probe with which it is asked in an instant."""
SAMPLING = Sampling(max_tokens=64)


def score(probe: str, answers: str | Callable[[pl.DataFrame], Sequence[str]], **parameters: Any) -> Result:
    """The result of a reference model, or of the answers that a function gives to the prompts."""
    planned = equipoise.plan(probe, **parameters)
    prompts = planned.prompts()
    simulate = planned.probe.simulate
    texts = answers(prompts) if callable(answers) else simulate(prompts, answers, np.random.default_rng(3))
    rows = prompts.select(ID).with_columns(text_column(ANSWER, texts))
    return equipoise.score(probe, rows, **{**planned.parameters, **parameters})


def say_findings(result: Result) -> list[str]:
    """The findings of a probe in its result, in words."""
    probe = result.setup.probe
    assert probe.findings is not None
    evidence = Evidence(
        parameters=result.parameters,
        estimates=result.estimates,
        attempts=result.evaluated,
        labels=probe.detector.labels,
    )
    return [finding.text for finding in probe.findings(evidence)]


def simulated(
    path: Path,
    stances: Mapping[str, str],
    *,
    seed: int = 1,
    model: str = "fake/model",
    sampling: Sampling = SAMPLING,
    answered: int | None = None,
    failed: int = 0,
    parameters: Mapping[str, Mapping[str, Any]] = SMALL,
    answers: Mapping[str, str] | None = None,
) -> Run:
    """A run of these probes, each answered by the reference model that `stances` names.

    Of each probe the first `answered` attempts (default: all) have ended, and the first `failed` of these failed.
    `answers` replaces simulated answers by the id of the prompt.
    """
    plans = {name: equipoise.plan(name, **parameters[name]) for name in stances}
    spec = make_spec(
        model=model,
        suite="quick",
        temperature=sampling.temperature,
        max_tokens=sampling.max_tokens,
        model_seed=sampling.seed,
        system=sampling.system,
    )
    settings = make_record(spec, model_settings={"model": model})
    rng = np.random.default_rng(seed)
    with RunFile.create(path, record=settings, plans=plans.values()) as file:
        for name, plan in plans.items():
            asked = plan.attempts()[:answered]
            texts = plan.probe.simulate(asked, stances[name], rng)
            keys = zip(asked[ID], asked[REPETITION], texts, strict=True)
            file.store(
                Attempt(
                    probe=name,
                    prompt_id=prompt,
                    repetition=repetition,
                    reply=Reply(status=Status.TIMEOUT, detail="too late")
                    if place < failed
                    else Reply(status=Status.OK, answer=(answers or {}).get(prompt, text)),
                )
                for place, (prompt, repetition, text) in enumerate(keys)
            )
    return Run.open(path)


def renew_digests(connection: sqlite3.Connection) -> None:
    """Make the digests fit what was changed in a file without verdicts: a forger can do that, too."""
    chain = checks.Chain(0, checks.read_digests(connection).get(checks.START, b""))
    for _, _, *content in connection.execute(sql.CHAIN, {"first": 1}).fetchall():
        place, digest, *_ = chain.add(content)
        connection.execute("update attempts set digest = ? where place = ?", (digest, place))
    chain.write(connection)
    for table in sql.DIGESTED:
        checks.write_digest(connection, table)
    for probe, number in connection.execute("select distinct probe, position / 1000 from prompts").fetchall():
        checks.write_digest(connection, checks.name_block(probe, number))
