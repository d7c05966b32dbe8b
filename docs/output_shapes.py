"""What `--json` prints, by its name and version: the shapes from which `generate.py` makes `docs/schemas/`.

The commands do not need this; tests/cli/test_output_schemas.py holds what they print against it.
"""

from __future__ import annotations

from typing import Any, Literal, TypedDict

import msgspec

from equipoise.answers.reading import Read
from equipoise.cli.output import Kind
from equipoise.measuring.clusters import Generalisation
from equipoise.measuring.compare import MetricComparison
from equipoise.measuring.gate import Check, Outcome
from equipoise.measuring.result import Matching
from equipoise.measuring.selection import SelectionRow
from equipoise.runs.estimate import ProbeEstimate
from equipoise.runs.spec import RunRecord
from equipoise.schema import Bounds, Estimate

Letter = Literal["A", "B", "C", "D"] | None


class ProbeMetric(TypedDict):
    """A metric of a probe: what it says, known values, and up to where the marks A, B and C go."""

    summary: str
    references: dict[str, float]
    limits: list[float] | None


class ProbeCard(TypedDict):
    """A probe."""

    name: str
    version: int
    title: str
    summary: str
    use_case: str
    size: str
    corpora: list[str]
    max_tokens: int
    parameters: dict[str, Any]
    metrics: dict[str, ProbeMetric]
    slices: list[str]


class ProbeList(TypedDict):
    """What `probes` prints: all probes, or the one that was named."""

    probes: list[ProbeCard]


class PossibleMarks(TypedDict):
    """A mark, null where too much is possible, with the best and the worst that are possible."""

    mark: Letter
    best: Letter
    worst: Letter


class ResultMark(PossibleMarks):
    """The same with whether there is no letter, and the share of answers that decide anything if it is too small."""

    undecided: bool
    silent: float | None


class Selection(TypedDict):
    """Selection rates by the categories of one kind, and what a fair model of this size shows."""

    by: str
    fair: float
    fair_low: float
    unfair: bool
    categories: list[SelectionRow]


class ProbeResult(TypedDict):
    """What `score` prints: what one probe found."""

    probe: str
    version: int
    reading: str
    detector: str
    judge: str | None
    corpus: str | None
    corpus_sha256: str | None
    parameters: dict[str, Any]
    items: int
    level: float
    looks: list[int]
    metrics: dict[str, Estimate]
    bounds: dict[str, Bounds]
    complete: dict[str, Estimate]
    generalised: dict[str, Generalisation]
    marks: dict[str, ResultMark]
    coverage: dict[str, dict[str, int]]
    matching: Matching
    selection: list[Selection]


class OtherReading(TypedDict):
    """The marked metrics by the other reading of the probe."""

    reading: str
    detector: str
    answers: int
    differing: int
    metrics: dict[str, Estimate]
    marks: dict[str, PossibleMarks | None]


class Word(TypedDict):
    """A word that is clearly used more on one side."""

    word: str
    side: str
    log_odds: float
    low: float
    high: float
    first_share: float
    second_share: float
    answers: int
    z: float
    p: float
    q: float


class Words(TypedDict):
    """Which words the answers for one side use more than those for the other."""

    sides: tuple[str, str]
    matched: list[str]
    answers: int
    tested: int
    words: list[Word]


class ResultOfRun(ProbeResult):
    """What one probe found, with what stands beside it."""

    other_reading: OtherReading | None
    words: Words | None


class Tokens(TypedDict):
    """How many tokens were used."""

    prompt: int
    completion: int


class JudgeExam(TypedDict):
    """How a judge did in the exam of one probe."""

    questions: int
    right: int
    flips: int
    outcome: str
    by_gender: dict[str, tuple[int, int]]
    p_value: float
    faults: list[str]


class Judging(TypedDict):
    """Who judged, and the states of the verdicts."""

    model: str
    exam: dict[str, JudgeExam]
    states: dict[str, int]
    tokens: Tokens


class RunState(TypedDict):
    """What `run`, `resume`, `extend`, `import` and `show` print: where a run stands, and what it found."""

    file: str
    model: str
    simulated: bool
    settings: RunRecord
    complete: bool
    imported: bool
    states: dict[str, int]
    tokens: Tokens
    judge: Judging | None
    results: dict[str, ResultOfRun]


class ComparedRun(TypedDict):
    """A run that is compared, and what it is called there."""

    name: str
    model: str
    simulated: bool
    imported: bool
    file: str
    complete: bool


class ComparedProbe(TypedDict):
    """A probe that both runs asked in the same way."""

    version: int
    corpus: str | None
    prompts: int
    items: int
    metrics: dict[str, MetricComparison]


class ComparedPair(TypedDict):
    """Two runs side by side, with the probes that are not compared and why."""

    names: tuple[str, str]
    probes: dict[str, ComparedProbe]
    refused: dict[str, str]
    notes: list[str]


class Comparisons(TypedDict):
    """What `compare` prints."""

    runs: list[ComparedRun]
    comparisons: list[ComparedPair]


class JudgedRun(TypedDict):
    """The verdict on one run."""

    model: str
    file: str
    outcome: Outcome
    passed: bool
    checks: list[Check]
    notes: list[str]


class Verdicts(TypedDict):
    """What `gate` prints."""

    outcome: Outcome
    runs: list[JudgedRun]


class Costs(TypedDict):
    """What `estimate` prints; the cost is null if the price is not known."""

    model: str
    suite: str
    probes: list[ProbeEstimate]
    prompts: int
    attempts: int
    prompt_tokens: int
    completion_tokens: int
    cost: float | None
    seconds: float
    by_probability: Costs | None


class VerifiedFile(TypedDict):
    """What is proved of a run file or a report, what is not, and what contradicts."""

    file: str
    kind: Literal["run", "report"]
    digest: str
    proved: list[str]
    not_proved: list[str]
    problems: list[str]


class VerifiedFiles(TypedDict):
    """What `verify` prints."""

    files: list[VerifiedFile]


class StoredAsset(TypedDict):
    """A file from outside, and where it is on this machine."""

    name: str
    title: str
    file: str
    size: int
    sha256: str
    licence: str
    citation: str
    homepage: str
    sources: list[str]
    place: str | None
    path: str | None


class AssetList(TypedDict):
    """What `data list` prints."""

    assets: list[StoredAsset]


class VerifiedAsset(TypedDict):
    """Whether a file from outside has the right hash."""

    name: str
    state: Literal["right", "wrong", "not fetched"]
    place: str | None
    path: str | None
    expected: str
    actual: str | None


class VerifiedAssets(TypedDict):
    """What `data verify` prints."""

    assets: list[VerifiedAsset]


SHAPES: dict[Kind, Any] = {
    "compare/1": Comparisons,
    "data-list/1": AssetList,
    "data-verify/1": VerifiedAssets,
    "estimate/1": Costs,
    "gate/1": Verdicts,
    "probes/1": ProbeList,
    "read/1": Read,
    "run/1": RunState,
    "score/1": ProbeResult,
    "verify/1": VerifiedFiles,
}


def output_schema(kind: Kind) -> dict[str, Any]:
    """The JSON Schema of what is printed under this name. A number that cannot be computed is null."""
    (shape,), parts = msgspec.json.schema_components([SHAPES[kind]], ref_template="#/$defs/{name}")
    draft = "https://json-schema.org/draft/2020-12/schema"
    own = {"properties": {"schema": {"const": f"equipoise/{kind}"}}, "required": ["schema"]}
    return {"$schema": draft, "title": f"equipoise/{kind}", **shape, **own, "$defs": _allow_null(parts)}


def _allow_null(schema: Any) -> Any:
    """The same schema, in which null fits wherever a number does that may be a fraction."""
    if isinstance(schema, dict):
        allowed = {name: _allow_null(value) for name, value in schema.items()}
        return allowed | {"type": ["number", "null"]} if schema.get("type") == "number" else allowed
    return [_allow_null(one) for one in schema] if isinstance(schema, list) else schema
