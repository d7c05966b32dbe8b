"""Sessions with a model: started, stopped, resumed; estimates and imports from Python."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

import equipoise
from answering import JOBS_LUM, NOT_INSTALLED, Recorder, answer, answer_all, plain_metrics
from equipoise import Probe, Run
from equipoise.errors import BudgetReached, IntegrityError
from equipoise.schema import Status


def test_a_session_is_started_stopped_and_resumed(tmp_path: Path) -> None:
    path = tmp_path / "run.equipoise"
    model = Recorder()
    limits: dict[str, Any] = {"concurrency": 1, "max_requests": 100}
    session = equipoise.start(model, probes=["jobs_lum"], out=path, **limits)
    assert session.path == path
    assert session.model_name == "answering.Recorder"
    events: list[object] = []
    with pytest.raises(BudgetReached):
        session.ask(events.append)
    assert events
    assert Run.open(path).counts.ended == len(model.asked) == 100
    run = equipoise.resume(path, model=model).ask()
    assert run.complete
    assert len(model.asked) == 339
    expected = equipoise.score("jobs_lum", answer_all())
    assert plain_metrics(run.result("jobs_lum")) == plain_metrics(expected)


def test_a_session_of_a_probe_that_is_not_installed_is_resumed_with_it(tmp_path: Path) -> None:
    path = tmp_path / "run.equipoise"
    equipoise.start(answer, probes=[NOT_INSTALLED], out=path, sample=30).close()
    with pytest.raises(IntegrityError, match="which is not installed"):
        equipoise.resume(path, model=answer).ask()
    run = equipoise.resume(path, model=answer, probes=[NOT_INSTALLED]).ask()
    assert run.result("my_jobs").metrics["masculine_rate"].n == 30


def test_a_session_can_be_asked_in_a_running_event_loop(tmp_path: Path) -> None:
    async def ask() -> Run:
        path = tmp_path / "run.equipoise"
        return equipoise.start(answer, probes="jobs_lum", out=path, sample=10).ask()

    run = asyncio.run(ask())
    assert run.complete
    assert run.counts.planned == 10


def test_a_run_is_resumed_with_its_own_model_only(tmp_path: Path) -> None:
    path = tmp_path / "run.equipoise"
    equipoise.start(answer, probes=["jobs_lum"], out=path, sample=30).close()
    with pytest.raises(IntegrityError, match="was started with other settings"):
        equipoise.resume(path, model=Recorder())
    assert equipoise.resume(path, model=answer).ask().complete


def test_a_session_that_is_not_asked_gives_its_file_back(tmp_path: Path) -> None:
    path = tmp_path / "run.equipoise"
    equipoise.start(answer, probes=["jobs_lum"], out=path, sample=30).close()
    assert Run.open(path).counts[Status.PENDING] == 30
    assert list(tmp_path.iterdir()) == [path]


def test_an_estimate_counts_prompts_attempts_and_tokens() -> None:
    probes = ["jobs_lum", "hiring_an"]
    jobs, hiring = equipoise.estimate("openai/gpt-4o-mini", probes=probes).probes
    assert (jobs.probe, jobs.prompts) == ("jobs_lum", 339)
    assert jobs.attempts % 339 == 0
    assert (hiring.probe, hiring.attempts) == ("hiring_an", hiring.prompts)
    limit = min(JOBS_LUM.answer_tokens, JOBS_LUM.max_tokens)
    assert jobs.completion_tokens == jobs.attempts * limit
    letters = equipoise.plan("jobs_lum").prompts()["prompt"].str.len_chars().sum()
    assert jobs.prompt_tokens == jobs.attempts // 339 * letters // 4


def test_an_estimate_has_money_and_time() -> None:
    options: dict[str, Any] = {"price": "1,2", "concurrency": 10}
    taken = equipoise.estimate("openai/gpt-4o-mini", probes=["jobs_lum"], **options)
    prompts = taken.total("prompt_tokens")
    answers = taken.total("completion_tokens")
    assert taken.cost == pytest.approx((prompts + 2 * answers) / 1e6)
    assert taken.seconds == pytest.approx(answers / 500)


def test_an_estimate_is_plain_data() -> None:
    taken = equipoise.estimate("openai/gpt-4o-mini", probes=["jobs_lum"])
    assert json.loads(json.dumps(taken.to_dict()))["attempts"] == taken.total("attempts")


def test_an_estimate_takes_a_probe_that_is_not_installed() -> None:
    repeated = equipoise.estimate("openai/gpt-4o-mini", probes=[NOT_INSTALLED], repeat=3)
    assert repeated.total("prompts") == 339
    assert repeated.total("attempts") == 3 * 339


@pytest.mark.parametrize("probe", ["jobs_lum", NOT_INSTALLED], ids=["installed", "not installed"])
def test_answers_are_imported_in_two_steps(probe: str | Probe, tmp_path: Path) -> None:
    path = tmp_path / "run.equipoise"
    answers = answer_all(probe)
    some = dict(list(answers.items())[:100])
    run, new, matching = equipoise.import_answers(some, path, model="openai/o9", probes=[probe])
    assert run.model == "openai/o9"
    assert (run.counts.ended, run.counts.planned) == (100, 339)
    assert (new, matching.matched) == (100, 100)
    more = answers | {"?": "He."}
    run, new, matching = equipoise.import_answers(more, path, probes=[probe])
    assert run.complete
    assert (new, matching.unknown) == (239, 1)
    expected = equipoise.score(probe, answers)
    assert plain_metrics(run.results()[expected.probe]) == plain_metrics(expected)
