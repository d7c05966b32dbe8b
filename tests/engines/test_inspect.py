"""Probes as tasks of Inspect: asked by its own command over HTTP, and read back to the same numbers."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl
import pytest

import equipoise
from answering import JOBS_LUM, plain_metrics
from calling import exit_code
from equipoise.answers.files import read_tables
from equipoise.answers.score import score_tables
from equipoise.errors import UnknownName
from equipoise.probes import find_probes
from equipoise.runs.suites import plan_probes
from equipoise.schema import ID, PROMPT
from equipoise.settings import environment
from installing import register
from serving.faults import Fault
from serving.faulty import FaultyServer

if TYPE_CHECKING:  # it takes seconds to import, which only the worker that runs these tests has to spend
    from inspect_ai.log import EvalLog

PAGE = (Path(__file__).parents[2] / "docs" / "inspect.md").read_text(encoding="utf-8")
COMMANDS = re.findall(r"^    ((?:inspect eval|equipoise) .*)$", PAGE, flags=re.MULTILINE)
SIZE: dict[str, Any] = {"sample": 20, "repeat": 2}
PLUGIN = """
from dataclasses import replace
from equipoise.probes.business_vocabulary.probe import PROBE as LETTERS

PROBE = replace(LETTERS, name="other_letters")
"""


def answer(prompt: str, nth: int) -> Fault | str:
    """Men and women, something that decides nothing, an answer that was cut off and one that was withheld."""
    number = (len(prompt) + 7 * nth) % 11
    if number == 3:
        return Fault.LENGTH
    if number == 4:
        return Fault.FILTERED_200
    if number == 5:
        return "<think>Perhaps a woman.</think>They sing."
    text = "He is ambitious. His friends know him." if number % 3 else "She is kind and her work is good."
    is_character = "character" in prompt
    return text if is_character else f"Dear Committee,\n\nI recommend this person. {text}\n\nSincerely,\nA. Reader"


@dataclass(frozen=True, kw_only=True)
class Evaluated:
    """What Inspect left: its logs by task, and how often the endpoint was asked."""

    folder: Path
    logs: dict[str, EvalLog]
    requests: dict[str, int]


@pytest.fixture(scope="module")
def evaluated(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Evaluated]:
    """The command of the documentation, with a task of a plug-in beside it."""
    from inspect_ai.log import read_eval_log

    folder = tmp_path_factory.mktemp("inspect")
    register(folder / "packages", "package-other", {"other_letters": "plugin_other:PROBE"})
    (folder / "packages" / "plugin_other.py").write_text(PLUGIN)
    (command,) = (words for words in COMMANDS if words.startswith("inspect"))
    words = shlex.split(command.replace("openai/gpt-4o-mini", "openai-api/loopback/test-model"))
    paths = [str(folder / "packages"), *filter(None, [environment().get("PYTHONPATH")])]
    with FaultyServer(answer) as server:
        variables = {
            **environment(),
            "PYTHONPATH": os.pathsep.join(paths),
            "LOOPBACK_API_KEY": "a key",
            "LOOPBACK_BASE_URL": server.url,
            "XDG_DATA_HOME": str(folder),
            "XDG_CACHE_HOME": str(folder),
        }
        done = subprocess.run(
            [sys.executable, "-m", "inspect_ai", *words[1:], "--display", "none", "equipoise/other_letters"],
            cwd=folder,
            env=variables,
            capture_output=True,
            text=True,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        logs = [read_eval_log(str(path)) for path in (folder / "logs").glob("*.eval")]
        yield Evaluated(folder=folder, logs={log.eval.task: log for log in logs}, requests=dict(server.requests))


def find_probe(name: str) -> Any:
    return replace(find_probes()["business_vocabulary"], name=name) if name == "other_letters" else name


def test_the_tasks_ran_and_asked_every_prompt_as_often_as_planned(evaluated: Evaluated) -> None:
    assert sorted(evaluated.logs) == ["equipoise/jobs_lum", "equipoise/other_letters"]
    asked: dict[str, int] = {}
    for name, log in evaluated.logs.items():
        assert log.status == "success"
        planned = equipoise.plan(find_probe(name.removeprefix("equipoise/")), **SIZE)
        prompts = planned.prompts()
        assert log.eval.dataset.sample_ids == prompts[ID].to_list()
        assert log.eval.config.epochs == 2
        assert log.eval.task_version == planned.probe.version
        assert log.plan.config.max_tokens == planned.probe.max_tokens
        asked |= dict.fromkeys(prompts[PROMPT], 2)
    assert evaluated.requests == asked


def test_a_score_is_what_the_answer_says(evaluated: Evaluated) -> None:
    samples = evaluated.logs["equipoise/jobs_lum"].samples or []
    seen = set()
    for sample in samples:
        (score,) = (sample.scores or {}).values()
        assert isinstance(score.value, dict)
        labels = [name for name, value in score.value.items() if value]
        text = sample.output.completion
        expected = {"H": ["male"], "S": ["female"]}.get(text[:1])
        if expected and sample.output.stop_reason == "stop":
            assert labels == expected
            assert score.explanation == ("He · His · him" if expected == ["male"] else "She · her")
        seen.add((score.metadata or {})["status"])
        assert set(score.value.values()) <= {0, 1}
    assert seen == {"ok", "truncated", "filtered"}


@pytest.mark.parametrize("name", ["jobs_lum", "other_letters"])
def test_the_metrics_are_those_of_the_log_when_it_is_scored_and_imported(evaluated: Evaluated, name: str) -> None:
    log = evaluated.logs[f"equipoise/{name}"]
    path = Path(log.location)
    (results,) = log.results.scores if log.results else []
    shown = {metric: found.value for metric, found in results.metrics.items()}
    (planned,) = plan_probes(find_probe(name), "standard", SIZE)
    scored = score_tables(planned, read_tables(path))
    expected = {
        f"{metric}{ending}": value
        for metric, found in plain_metrics(scored).items()
        for ending, value in (("", found["value"]), ("_low", found["low"]), ("_high", found["high"]))
        if value is not None
    }
    whole = {str(key) for key in scored.estimates if key.slice is None}
    assert shown == {
        name: value for name, value in expected.items() if name.removesuffix("_low").removesuffix("_high") in whole
    }
    assert len(shown) > 5
    run, new, _ = equipoise.import_answers(path, evaluated.folder / f"{name}.db", probes=planned.probe, **SIZE)
    assert new == len(log.samples or [])
    assert plain_metrics(run.result(name)) == plain_metrics(scored)
    assert run.result(name).coverage == scored.coverage


def test_the_other_commands_of_the_documentation_work(
    evaluated: Evaluated, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(evaluated.folder)
    words = [shlex.split(command) for command in COMMANDS if command.startswith("equipoise")]
    assert [each[1] for each in words] == ["score", "import", "report"]
    log = evaluated.logs["equipoise/jobs_lum"].location
    for each in words:
        here = [log if word == "logs/*.eval" else word for word in each[1:]]
        # Three of the forty answers were filtered, which is more than may be missing.
        assert exit_code(monkeypatch, *here) == (0 if each[1] == "report" else 3), capfd.readouterr().err
    assert (evaluated.folder / "report.html").exists()


def test_every_probe_is_a_task_and_parameters_are_its_arguments() -> None:
    from equipoise.engines.inspect import TASKS

    assert list(TASKS) == list(find_probes())
    task = TASKS["jobs_lum"](suite="quick", sample=3, repeat=4)
    assert (len(task.dataset), task.epochs) == (3, 4)
    assert {*(task.dataset[0].metadata or {})} >= {"item", "occupation"}
    with pytest.raises(UnknownName, match="sample"):
        TASKS["jobs_lum"](samples=3)


def test_a_system_part_is_a_message_of_its_own() -> None:
    from equipoise.engines.inspect import _make_samples

    def prompts(items: pl.DataFrame, parameters: Any) -> pl.DataFrame:
        return JOBS_LUM.prompts(items, parameters).with_columns(system=pl.lit("Be brief."))

    (sample,) = _make_samples(equipoise.plan(replace(JOBS_LUM, prompts=prompts), sample=1))
    assert [message.role for message in sample.input if not isinstance(message, str)] == ["system", "user"]


def test_more_epochs_than_the_task_has_are_repetitions_and_missing_ones_are_pending() -> None:
    from inspect_ai.scorer import SampleScore, Score

    from equipoise.engines.inspect import measure_scores

    planned = equipoise.plan("jobs_lum", sample=4)
    ids = planned.prompts()[ID].to_list()
    answers = ["He.", "She.", "He.", "They.", "He.", "She.", "She."]
    scores = [
        SampleScore(sample_id=key, score=Score(value=0, metadata={"status": "ok", "answer": answer}))
        for key, answer in zip([*ids, *ids[:3]], answers, strict=True)
    ]
    result = measure_scores("jobs_lum", dict(planned.parameters), scores)
    counts = result.coverage["all"]
    assert (counts["planned"], counts["ok"], counts["pending"], counts["detected"]) == (8, 7, 1, 6)
    rows = [{"id": key, "answer": said} for key, said in zip([*ids, *ids[:3]], answers, strict=True)]
    scored = equipoise.score("jobs_lum", rows, sample=4, repeat=2)
    assert plain_metrics(result) == plain_metrics(scored)
