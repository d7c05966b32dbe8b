"""A judge is asked about what the reading leaves open; its verdicts are stored, counted and paid for like attempts."""

from __future__ import annotations

import shlex
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from msgspec import structs

import equipoise
from equipoise import Run
from equipoise.errors import BudgetReached, InputError, IntegrityError
from equipoise.runs.ask.events import Event, RunProgress
from equipoise.runs.file.store import RunFile
from equipoise.runs.reaching import APPROVED
from equipoise.schema import Status
from equipoise.settings import Settings
from examining import EXAM, QUESTIONS, fair
from runs.fakes import execute
from runs.judged import EXAM_TOKENS, OPEN, coverage, judge_at, start_run
from runs.killable import HeldAnswers, wait_until
from serving.asking import KEY, find_key
from serving.faults import Fault, Responder
from serving.faulty import FaultyServer


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("finished") / "run.equipoise"
    start_run(path)
    return path


@pytest.fixture
def path(tmp_path: Path, finished: Path) -> Path:
    """A finished run of which half of the answers are open."""
    return Path(shutil.copy(finished, tmp_path / "run.equipoise"))


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[FaultyServer]:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    with FaultyServer(lambda prompt, nth: fair("rejected")(prompt)) as running:
        yield running


def test_only_open_answers_are_judged_and_results_say_so(tmp_path: Path) -> None:
    asked: list[str] = []

    def judge(question: str) -> str:
        asked.extend({question} - QUESTIONS.keys())
        return fair("Rejected.")(question)

    path = tmp_path / "run.equipoise"
    result = start_run(path, judge=judge)["hiring_an"]
    assert len(asked) == OPEN
    assert all("[person] will hear from us" in question for question in asked)
    assert result.setup.judge is not None
    assert result.setup.judge.endswith("judge")
    counts = result.coverage
    assert (counts["all"]["for_judge"], counts["all"]["judged"], counts["all"]["undetected"]) == (OPEN, OPEN, 0)
    assert counts["male"]["judged"] + counts["female"]["judged"] == OPEN
    assert result.to_dict()["judge"] == result.to_frame()["judge"].unique().item() == result.setup.judge
    labels = Run.open(path).transcripts("hiring_an").filter("judged").select("label", "verdict").unique().rows()
    assert labels == [("rejected", "Rejected.")]
    plain = Run.open(path, judged=False)
    assert (plain["hiring_an"].setup.judge, plain["hiring_an"].coverage["all"]["undetected"]) == (
        None,
        OPEN,
    )
    assert "for_judge" not in plain["hiring_an"].coverage["all"]


@pytest.mark.fault("D19")
def test_runs_with_and_without_a_judge_are_not_compared(tmp_path: Path, finished: Path) -> None:
    path = tmp_path / "judged.equipoise"
    start_run(path, judge=fair("rejected"))
    with pytest.raises(InputError, match=r"judge is None in A and '.* in B"):
        equipoise.compare(finished, path)
    plain = Run.open(path, judged=False)
    assert equipoise.compare(finished, plain).probes.keys() == {"hiring_an"}


def test_readings_that_decide_differently_are_judged(tmp_path: Path) -> None:
    letter = (
        "Dear Kim, we will not be moving forward with your application. "
        "If you have been selected elsewhere, congratulations."
    )
    path = tmp_path / "run"
    equipoise.audit(lambda _: letter, probes="hiring_an", sample=2, out=path, judge=fair("rejected"))
    assert coverage(path) == coverage(path, reading="specified") == (2, 2)


@pytest.mark.fault("D18")
@pytest.mark.parametrize(
    "said",
    ["Rejected, because she is a woman.", "accepted rejected", "\x1b[31mно", "", "none"],
)
def test_a_judge_that_talks_nonsense_decides_nothing(path: Path, said: str) -> None:
    equipoise.resume(path, judge=fair(said)).ask()
    assert coverage(path) == (OPEN, 0)
    assert Run.open(path).result("hiring_an").coverage["all"]["undetected"] == OPEN


def test_a_finished_run_is_judged_without_its_model_and_then_asks_nothing(path: Path, server: FaultyServer) -> None:
    events: list[Event] = []
    run = judge_at(server, path, on_event=events.append)
    assert (run.judge, run.judging[Status.OK]) == ("openai/judge", OPEN)
    assert {event.role for event in events if isinstance(event, RunProgress)} == {"judge"}
    assert run.provenance.judge_usage > (EXAM_TOKENS, 0)
    equipoise.resume(path).ask()
    assert server.total == EXAM + OPEN


@pytest.mark.fault("S16")
def test_the_key_of_a_judge_is_not_in_the_file(path: Path, server: FaultyServer) -> None:
    judge_at(server, path)
    assert server.received
    assert not find_key(path.read_bytes().decode("latin-1"))


def test_another_judge_is_refused_and_changes_nothing(path: Path, server: FaultyServer) -> None:
    judge_at(server, path)
    with pytest.raises(IntegrityError, match="has another judge"):
        equipoise.resume(path, judge=fair("accepted"))
    assert coverage(path) == (OPEN, OPEN)


@pytest.mark.fault("D14")
@pytest.mark.parametrize(
    ("which", "number"),
    [
        pytest.param("prompt <> 'exam'", 2 * OPEN + EXAM + 1, id="a verdict"),
        pytest.param("prompt = 'exam'", 2 * OPEN + 1, id="an answer of the exam"),
    ],
)
def test_a_changed_verdict_is_found(path: Path, which: str, number: int) -> None:
    equipoise.resume(path, judge=fair("rejected")).ask()
    execute(f"update verdicts set answer = 'none of them' where {which}")(path)
    with pytest.raises(
        IntegrityError,
        match=f"was changed after it was written: attempt number {number}",
    ):
        Run.open(path)


def test_a_function_as_judge_must_be_given_again(tmp_path: Path) -> None:
    path = tmp_path / "run.equipoise"
    with pytest.raises(BudgetReached, match=r"judge=the_function"):
        start_run(path, judge=fair("rejected"), max_requests=EXAM + 2 * OPEN + 2, concurrency=1)
    with pytest.raises(InputError, match=r"judge=the_function"):
        equipoise.resume(path)


@pytest.mark.fault("D20")
@pytest.mark.parametrize(
    ("limit", "asked"),
    [
        pytest.param({"max_requests": 3}, range(3, 4), id="requests end in the exam"),
        pytest.param({"max_requests": EXAM + 2}, range(EXAM + 2, EXAM + 3), id="requests"),
        pytest.param(
            {"max_tokens_total": int(EXAM_TOKENS * (1 + 3 / EXAM))},
            range(EXAM + 1, EXAM + OPEN),
            id="tokens",
        ),
        pytest.param(
            {"max_cost": EXAM_TOKENS * (1 + 3 / EXAM) / 1e6, "price": "1,1", "judge_price": "1,1"},
            range(EXAM + 1, EXAM + OPEN),
            id="dollars",
        ),
    ],
)
def test_the_budget_covers_the_judge_and_its_exam(
    path: Path, server: FaultyServer, limit: dict[str, Any], asked: range
) -> None:
    with pytest.raises(BudgetReached, match=r"verdicts of the judge\. To go on: equipoise resume"):
        judge_at(server, path, concurrency=1, **limit)
    assert server.total in asked
    assert coverage(path) == (OPEN, max(0, server.total - EXAM))
    equipoise.resume(path).ask()
    assert server.total == EXAM + OPEN, "it goes on where it stopped"
    assert coverage(path) == (OPEN, OPEN)


@pytest.mark.fault("D20")
def test_a_budget_that_ends_in_the_exam_says_how_far_it_is(
    path: Path,
    server: FaultyServer,
) -> None:
    with pytest.raises(
        BudgetReached,
        match=r"3 of 40 verdicts of the judge\. To go on: equipoise resume",
    ):
        judge_at(server, path, concurrency=1, max_requests=3)


@pytest.mark.fault("D20")
def test_requests_to_the_model_and_to_the_judge_share_a_limit(tmp_path: Path) -> None:
    asked: list[str] = []

    def judge(question: str) -> str:
        asked.extend({question} - QUESTIONS.keys())
        return fair("rejected")(question)

    with pytest.raises(BudgetReached, match=f"{EXAM + 15} requests"):
        start_run(tmp_path / "run.equipoise", judge=judge, max_requests=EXAM + 15, concurrency=1)
    assert len(asked) == 15 - 2 * OPEN


@pytest.mark.fault("D20")
def test_failed_verdicts_are_kept_and_asked_for_again_only_on_request(path: Path, server: FaultyServer) -> None:
    server.behaviour = lambda prompt, nth: (
        Fault.NULL_FILTERED if EXAM < server.total <= EXAM + OPEN else fair("rejected")(prompt)
    )
    assert judge_at(server, path).judging[Status.FILTERED] == OPEN
    equipoise.resume(path).ask()
    assert coverage(path) == (OPEN, 0)
    assert equipoise.resume(path, retry=["filtered"]).ask().judging[Status.OK] == OPEN
    assert coverage(path) == (OPEN, OPEN)
    assert server.total == EXAM + 2 * OPEN


@pytest.mark.parametrize(
    ("options", "words"),
    [
        pytest.param(
            {"judge": "custom/judge", "max_cost": 1.0},
            "Give it with --judge-price",
            id="a limit on the cost without a price",
        ),
        pytest.param(
            {"judge": fair(""), "probes": "business_vocabulary"},
            "None of these probes",
            id="probes that count words",
        ),
        pytest.param(
            {"judge": "openai/gpt-4o-mini"},
            "OPENAI_API_KEY",
            id="a judge without its key",
        ),
        pytest.param({"judge": "simulated/unbiased"}, "cannot judge", id="a simulated judge"),
    ],
)
def test_a_judge_that_cannot_be_asked_stops_before_a_file_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, options: dict[str, Any], words: str
) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    with pytest.raises(InputError, match=words):
        start_run(tmp_path / "run.equipoise", **options)
    assert not (tmp_path / "run.equipoise").exists()


@pytest.mark.fault("S16")
def test_a_planted_judge_gets_no_key(path: Path, server: FaultyServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", KEY)
    planted = {"judge_base_url": server.url, "judge_key_variable": "AWS_SECRET_ACCESS_KEY"}
    with RunFile.open(path) as file:
        file.set_judge(structs.replace(file.spec, judge="openai/judge", **planted), {"model": "judge"})
    with pytest.raises(InputError, match="wants the key in AWS_SECRET_ACCESS_KEY sent to") as caught:
        equipoise.resume(path)
    assert f"--judge openai/judge --judge-base-url {server.url} --judge-key-variable AWS_SECRET" in str(caught.value)
    assert not server.received


@pytest.mark.fault("S24")
def test_a_received_run_does_not_decide_where_the_questions_to_its_judge_are_posted(
    path: Path, server: FaultyServer
) -> None:
    """Although no key goes with them: they hold what the model answered."""
    with pytest.raises(BudgetReached):
        judge_at(server, path, judge="vllm/judge", max_requests=3, concurrency=1)
    (Settings.load().config / APPROVED).unlink()  # as on the machine of somebody who receives the file
    with pytest.raises(InputError, match="wants the prompts sent to"):
        equipoise.resume(path)
    assert server.total == 3


@pytest.mark.fault("S28")
def test_a_judge_that_the_user_names_needs_no_other_approval(path: Path) -> None:
    judge = f"command:{shlex.join([sys.executable, '-c', 'print(0)'])}"
    equipoise.resume(path, judge=judge).close()
    assert Run.open(path).judge == judge


CHILD = """
import sys, equipoise
equipoise.resume(sys.argv[1], judge="openai/judge", judge_base_url=sys.argv[2], concurrency=1).ask()
"""


def verdicts(path: Path) -> list[str]:
    """The words of all verdicts in the file, without the answers of the exam."""
    statement = "select answer from verdicts where prompt <> 'exam' order by place"
    with closing(sqlite3.connect(f"{path.as_uri()}?mode=ro", uri=True)) as connection:
        return [word for (word,) in connection.execute(statement)]


@pytest.mark.fault("P1")
def test_a_kill_loses_no_verdict(path: Path, server: FaultyServer) -> None:
    answers = HeldAnswers()

    def answer_four(prompt: str, nth: int) -> Responder | str:
        if server.total <= EXAM + 4:
            return fair("rejected")(prompt)
        answers.may_answer.clear()
        return answers(prompt, nth)

    server.behaviour = answer_four
    child = subprocess.Popen([sys.executable, "-c", CHILD, str(path), server.url])
    try:
        # The fifth question waits, so the others get into the file.
        wait_until(lambda: answers.held > 0 and len(verdicts(path)) == 4)
    finally:
        child.kill()
        child.wait()
        answers.may_answer.set()
    server.behaviour = lambda prompt, nth: "accepted"
    run = equipoise.resume(path, judge="openai/judge", judge_base_url=server.url).ask()
    assert run.judging[Status.OK] == OPEN
    assert verdicts(path) == ["rejected"] * 4 + ["accepted"] * (OPEN - 4)
