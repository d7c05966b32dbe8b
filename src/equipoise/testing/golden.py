"""Golden values: what a fixed simulated model scores, kept in golden.json, so that no number moves unseen."""

from __future__ import annotations

import hashlib
import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from equipoise.authoring import Probe
from equipoise.schema import (
    ID,
    ITEM,
    without_nan,
)
from equipoise.testing.cases import Case, ProbeCheckFailed, are_close, find_cases, require

GOLDEN_SEEDS = (0, 7)


GOLDEN = "golden.json"


def check_golden_values(probe: Probe) -> None:
    """If there is a golden.json beside the card: bands, prompts and numbers are still what they were."""
    golden = read_golden(probe)
    if golden is None:
        return
    renew = f"If that is meant, raise the version, then: python -m equipoise.testing {probe.name} --write-golden"
    require(golden["version"] == probe.version, f"golden.json is of version {golden['version']}. {renew}")
    require(golden["bands"] == _bands(probe), f"the bands have changed. {renew}")
    for case in find_cases(probe):
        for seed in GOLDEN_SEEDS:
            name, now = _golden_case(case, seed)
            require(name in golden["cases"], f"golden.json has no case {name}. {renew}")
            then = golden["cases"][name]
            for part in ("prompts", "first", "ids"):
                require(now[part] == then[part], f"the {part} of {name} have changed. {renew}")
            require(list(now["metrics"]) == list(then["metrics"]), f"other metrics are measured. {renew}")
            for metric, numbers in then["metrics"].items():
                require(are_close(now["metrics"][metric], numbers, 2e-9), f"{metric} of {name} has changed. {renew}")


def read_golden(probe: Probe) -> dict[str, Any] | None:
    """The content of golden.json in the folder of the probe; None if there is none."""
    source = probe.card.folder / GOLDEN if probe.card.folder else None
    if source is None or not source.is_file():
        return None
    content: dict[str, Any] = json.loads(source.read_text(encoding="utf-8"))
    return content


def write_golden(probe: Probe) -> Path:
    """Write golden.json anew: bands, prompts and the numbers of a fixed simulated model, on every corpus."""
    if not isinstance(probe.card.folder, Path):
        raise ProbeCheckFailed(f"{probe.name}: golden.json can only be written into a folder, read by Card.beside.")
    missing = {corpus.name for corpus in probe.corpora} - {case.corpus for case in find_cases(probe)}
    if missing:
        raise ProbeCheckFailed(
            f"{probe.name}: the corpora {sorted(missing)} must be fetched first: equipoise data fetch"
        )
    cases = dict(_golden_case(case, seed) for case in find_cases(probe) for seed in GOLDEN_SEEDS)
    golden = {"version": probe.version, "bands": _bands(probe), "cases": cases}
    text = json.dumps(golden, indent=1, ensure_ascii=False)
    text = re.sub(r"\[[^\[\]]+\]", lambda numbers: re.sub(r"\s+", " ", numbers[0]), text)
    path = probe.card.folder / GOLDEN
    path.write_text(text + "\n", encoding="utf-8")
    return path


def _golden_case(case: Case, seed: int) -> tuple[str, dict[str, Any]]:
    """What is planned with default parameters, and what a fixed simulated model scores on it."""
    planned = case.plan(seed=seed)
    prompts = planned.prompts()
    metrics = case.score(planned, prompts, _simulate_fixed(case.probe, prompts)).metrics
    others = {f"{label}_rate" for label in case.probe.detector.other_labels}
    numbers = {
        name: [*(_round(number) for number in (estimate.value, estimate.low, estimate.high)), estimate.n]
        for name, estimate in metrics.items()
        if name not in others
    }
    return "/".join(filter(None, [case.corpus, str(seed)])), {
        "prompts": prompts.height,
        "first": [list(row) for row in prompts[:5].select(ID, ITEM).iter_rows()],
        "ids": hashlib.sha256("\n".join(prompts[ID]).encode()).hexdigest(),
        "metrics": numbers,
    }


def _simulate_fixed(probe: Probe, prompts: pl.DataFrame) -> list[str]:
    """Two answers of each reference model in turn, and every eleventh answer decides nothing."""
    rng = np.random.default_rng(2)
    answers = [probe.simulate(prompts, stance, rng) for stance in probe.stances()]
    return ["…" if row % 11 == 5 else answers[row // 2 % len(answers)][row] for row in range(prompts.height)]


def _bands(probe: Probe) -> dict[str, Any]:
    return {
        name: {"limits": list(bands.limits), "centre": bands.centre} for name, bands in probe.marked_metrics().items()
    }


def _round(number: float) -> float | None:
    rounded: float | None = without_nan(round(number, 9))
    return rounded
