"""`--judge` as a user types it: asked, shown, exported, left out."""

from __future__ import annotations

import json

import pytest

from calling import Command, Outcome, output
from cli.conftest import check_output
from examining import EXAM, broken, fair
from serving.faulty import FaultyServer

SAID = "We will write, Sir."


JUDGE = "openai/judge\x1b[31m"
"""The name of a judge, which could steer a terminal."""


def answer_and_judge(prompt: str, nth: int) -> str:
    """Answer as a model that says nothing, and as a judge that always sees a rejection."""
    return fair("rejected" if "[person]" in prompt else SAID)(prompt)


def model_words(server: FaultyServer, sample: int) -> list[str]:
    """The words of a small run of a model."""
    plan = f"--probe hiring_an --sample {sample} --suite quick"
    return f"run openai/model {plan} --base-url {server.url} -o run.equipoise".split()


def judge_words(server: FaultyServer, name: str = "openai/judge") -> list[str]:
    return ["--judge", name, "--judge-base-url", server.url]


@pytest.fixture
def judged(keyed: Command) -> Outcome:
    """The end of a run whose answers were judged, in run.equipoise."""
    with FaultyServer(answer_and_judge) as server:
        ended = keyed(*model_words(server, 4), *judge_words(server, JUDGE))
        assert ended.code == 0, ended.err
        assert server.total == EXAM + 8
    return ended


def test_a_run_with_a_judge_says_so_and_how_it_passed_its_exam(judged: Outcome) -> None:
    assert "judged by openai/judge\\x1b[31m" in judged.err + judged.out
    exam = "Exam of the judge for hiring_an: passed. 40 of 40 right"
    assert exam in judged.err.replace("\n", " ")
    assert "\x1b" not in judged.err + judged.out


@pytest.mark.usefixtures("judged")
def test_show_says_how_many_answers_the_judge_decided(keyed: Command) -> None:
    shown = output(keyed("show", "run.equipoise", "--all")).replace("\n", " ")
    told = "gave a label to 4 of 4 answers that the careful reading left open or contradictory: "
    assert f"{told}2 of 2 male" in shown


@pytest.mark.usefixtures("judged")
def test_json_counts_what_the_judge_decided(keyed: Command) -> None:
    shown = json.loads(output(keyed("show", "run.equipoise", "--json")))
    check_output(shown)
    assert shown["judge"]["states"]["ok"] == 4
    assert shown["results"]["hiring_an"]["coverage"]["female"]["judged"] == 2


@pytest.mark.usefixtures("judged")
def test_the_judge_can_be_left_out(keyed: Command) -> None:
    plain = json.loads(output(keyed("show", "run.equipoise", "--no-judge", "--json")))
    assert plain["judge"] is None
    assert plain["results"]["hiring_an"]["judge"] is None


@pytest.mark.usefixtures("judged")
def test_exported_attempts_hold_the_verdicts(keyed: Command) -> None:
    words = ("export", "run.equipoise", "--what", "attempts", "--format", "jsonl")
    rows = [json.loads(line) for line in output(keyed(*words)).splitlines()]
    found = {(row["verdict"], row["judged"], row["label"]) for row in rows}
    assert found == {("rejected", True, "rejected")}


@pytest.mark.usefixtures("judged")
def test_exported_metrics_name_the_judge(keyed: Command) -> None:
    lines = output(keyed("export", "run.equipoise", "--format", "jsonl")).splitlines()
    assert {json.loads(line)["judge"] for line in lines} == {JUDGE}


@pytest.mark.usefixtures("judged")
def test_a_judged_run_has_a_report(keyed: Command) -> None:
    assert keyed("report", "run.equipoise", "-o", "report.html").code == 0


def test_options_of_a_judge_need_its_name(keyed: Command) -> None:
    with FaultyServer(answer_and_judge) as server:
        assert keyed(*model_words(server, 1)).code == 0
        refused = keyed("resume", "run.equipoise", "--judge-base-url", server.url)
    assert refused.code == 2
    assert "--judge MODEL" in refused.err


def test_a_budget_of_money_needs_the_price_of_the_judge(keyed: Command) -> None:
    with FaultyServer(answer_and_judge) as server:
        assert keyed(*model_words(server, 1)).code == 0
        budget = ("--max-cost", "1", "--price", "1,1")
        costly = keyed("resume", "run.equipoise", *judge_words(server), *budget)
    assert costly.code == 2
    assert "--judge-price" in costly.err


def test_resume_judges_a_finished_run_within_its_budget(keyed: Command) -> None:
    with FaultyServer(answer_and_judge) as server:
        assert keyed(*model_words(server, 1)).code == 0
        budget = ("--max-requests", str(EXAM + 1))
        limited = keyed("resume", "run.equipoise", *judge_words(server), *budget)
        assert limited.code == 4
        assert "1 of 2 verdicts of the judge" in limited.err
        for _ in range(2):  # the second time, nothing is left to ask
            assert keyed("resume", "run.equipoise").code == 0
            assert server.total == EXAM + 4


def test_a_judge_that_fails_its_exam_is_refused_before_the_model_is_asked(keyed: Command) -> None:
    with FaultyServer(lambda prompt, nth: broken(prompt)) as server:
        refused = keyed(*model_words(server, 1), *judge_words(server))
        assert refused.code == 2
        assert "openai/judge failed its exam for hiring_an" in refused.err
        assert server.total == EXAM
        assert keyed("resume", "run.equipoise").code == 0, "the run goes on without a judge"


def test_a_judge_that_fails_its_exam_can_be_wanted_anyway(keyed: Command) -> None:
    with FaultyServer(lambda prompt, nth: broken(prompt)) as server:
        anyway = [*judge_words(server), "--judge-anyway"]
        used = keyed(*model_words(server, 1), *anyway)
    assert used.code == 0, used.err
    assert "judged by openai/judge (failed its exam)" in used.out.replace("\n", " ")
    shown = json.loads(output(keyed("show", "run.equipoise", "--json")))
    faults = shown["judge"]["exam"]["hiring_an"]["faults"]
    assert faults == ["it is right on fewer than half"]
