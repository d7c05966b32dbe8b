"""Prompt ids and numbers that never change within a version of a probe, on any machine or Python.

After raising the version of a probe: python tests/probes/test_golden.py --write
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import re
import sys
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import equipoise
from equipoise import Probe
from equipoise.frames import ANSWER, ID, ITEM, text
from equipoise.probe import Corpus
from equipoise.probes import find

FILE = Path(__file__).with_name("golden.json")
SHARED = Path(__file__).parents[3] / "shared" / "data" / "corpora"
SEEDS = (0, 7)
RENEW = "If that is meant, raise the probe's version, and then: python tests/probes/test_golden.py --write"

CASES: dict[str, tuple[Probe, Corpus | None, int]] = {
    "/".join([name, *([corpus.name] if corpus else []), str(seed)]): (probe, corpus, seed)
    for name, probe in find().items()
    for corpus in probe.corpora or [None]
    for seed in SEEDS
}


def found(probe: Probe, corpus: Corpus | None, seed: int) -> dict[str, Any]:
    """What is planned with default parameters, and what a fixed simulated model scores on it."""
    parameters: dict[str, Any] = {"random_seed": seed} | ({"corpus": corpus.name} if corpus else {})
    prompts = equipoise.plan(probe, **parameters).prompts()
    answers = prompts.select(ID).with_columns(text(ANSWER, simulated(probe, prompts)))
    metrics = equipoise.score(probe, answers, **parameters).metrics
    return {
        "version": probe.version,
        "prompts": prompts.height,
        "first": [list(row) for row in prompts[:5].select(ID, ITEM).iter_rows()],
        "ids": hashlib.sha256("\n".join(prompts[ID]).encode()).hexdigest(),
        "metrics": {
            metric.name: [rounded(number) for number in (one.value, one.low, one.high)] + [one.n]
            for metric in probe.all_metrics()
            for one in [metrics[metric.name]]
        },
    }


def simulated(probe: Probe, prompts: pl.DataFrame) -> list[str]:
    """Two answers of each reference model in turn, and now and then none that says anything."""
    rng = np.random.default_rng(2)
    stances = sorted({stance for metric in probe.metrics for stance in metric.references})
    answers = [probe.simulate(prompts, stance, rng) for stance in stances]
    return ["…" if row % 11 == 5 else answers[row // 2 % len(answers)][row] for row in range(prompts.height)]


def rounded(number: float) -> float | None:
    return None if math.isnan(number) else round(number, 9)


GOLDEN: dict[str, dict[str, Any]] = json.loads(FILE.read_text(encoding="utf-8")) if FILE.exists() else {}


def test_every_probe_and_corpus_stands_in_the_file() -> None:
    assert list(GOLDEN) == list(CASES), RENEW


@pytest.mark.parametrize("case", CASES)
def test_a_new_version_has_a_new_file(case: str) -> None:
    assert GOLDEN[case]["version"] == CASES[case][0].version, RENEW


@pytest.mark.parametrize("case", CASES)
def test_prompts_and_numbers_are_what_they_were(
    case: str, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    probe, corpus, seed = CASES[case]
    if corpus and corpus.asset:
        monkeypatch.setenv("EQUIPOISE_MIRROR", str(request.getfixturevalue("corpora")))
    now, then = found(probe, corpus, seed), GOLDEN[case]
    for name in ("prompts", "first", "ids"):
        assert now[name] == then[name], RENEW
    assert list(now["metrics"]) == list(then["metrics"]), RENEW
    for name, numbers in then["metrics"].items():
        assert now["metrics"][name] == pytest.approx(numbers, abs=2e-9), (name, RENEW)


def write() -> None:
    """Write the file anew; the corpora are needed for that."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("EQUIPOISE_MIRROR", os.getenv("EQUIPOISE_MIRROR") or str(SHARED))
        golden = {name: found(*case) for name, case in CASES.items()}
    lines = json.dumps(golden, indent=1, ensure_ascii=False)
    lines = re.sub(r"\[[^\[\]]+\]", lambda numbers: re.sub(r"\s+", " ", numbers[0]), lines)
    FILE.write_text(lines + "\n", encoding="utf-8")


if __name__ == "__main__" and sys.argv[1:] == ["--write"]:
    write()
