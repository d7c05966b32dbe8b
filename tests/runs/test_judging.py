"""A judge is asked about what the reading leaves open; its verdicts are stored, counted and paid for like attempts."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from msgspec import structs

import equipoise
from equipoise import Policy, Run
from equipoise.errors import BudgetReached, EndpointError, InputError, IntegrityError
from equipoise.probes import get_probe
from equipoise.runs.ask.events import Event, Note, RunProgress
from equipoise.runs.estimate import TokenPrice
from equipoise.runs.file.reader import RunReader
from equipoise.runs.file.store import RunFile
from equipoise.schema import Status
from examining import EXAM, QUESTIONS, broken, fair, sees_only_men
from runs.test_opening import execute
from serving.asking import KEY, find_key
from serving.faults import Fault
from serving.faulty import FaultyServer

OPEN = 6
"""Answers that the reading leaves open: half of them."""
EXAM_TOKENS = sum(len(text.split()) + 1 for text, asked in QUESTIONS.items() if asked.probe == "hiring_an")
"""As the server counts them."""


def start_run(path: Path, **options: Any) -> equipoise.Audit:
    """Ask a model that accepts half of the applicants, and tells the others nothing."""
    turns = iter(range(1000))

    def alternate(_: str) -> str:
        return "You have been selected." if next(turns) % 2 else "Dear Keisha, she will hear from us."

    return equipoise.audit(alternate, probes="hiring_an", sample=2 * OPEN, out=path, **options)


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


def at(server: FaultyServer, **options: Any) -> dict[str, Any]:
    return {"judge": "openai/judge", "judge_base_url": server.url, **options}


class Counting:
    """A fair judge that notes what it is asked beside its exam."""

    def __init__(self, said: str = "rejected") -> None:
        self.asked: list[str] = []
        self._answer = fair(said)

    def __call__(self, question: str) -> str:
        if question not in QUESTIONS:
            self.asked.append(question)
        return self._answer(question)


def verdicts(path: Path) -> list[str | None]:
    with RunReader.open(path) as file:
        return file.verdicts("hiring_an")["verdict"].to_list()


def coverage(path: Path, **options: Any) -> dict[str, tuple[int | None, int | None]]:
    found = Run.open(path, **options).result("hiring_an").coverage
    return {group: (counts.get("for_judge"), counts.get("judged")) for group, counts in found.items()}


def test_only_open_answers_are_judged_and_results_say_so(tmp_path: Path) -> None:
    judge = Counting("Rejected.")
    path = tmp_path / "run.equipoise"
    result = start_run(path, judge=judge)["hiring_an"]
    assert len(judge.asked) == OPEN
    assert all("[person] will hear from us" in question for question in judge.asked)
    assert result.setup.judge is not None
    assert result.setup.judge.endswith("Counting")
    counts = result.coverage
    assert (counts["all"]["for_judge"], counts["all"]["judged"], counts["all"]["undetected"]) == (OPEN, OPEN, 0)
    assert counts["male"]["judged"] + counts["female"]["judged"] == OPEN
    assert result.to_frame()["judge"].unique().to_list() == [result.setup.judge]
    assert result.to_dict()["judge"] == result.setup.judge
    labels = Run.open(path).transcripts("hiring_an").filter("judged").select("label", "verdict").unique().rows()
    assert labels == [("rejected", "Rejected.")]
    plain = Run.open(path, judged=False).result("hiring_an")
    assert (plain.setup.judge, plain.coverage["all"]["undetected"]) == (None, OPEN)
    assert "for_judge" not in plain.coverage["all"]


@pytest.mark.fault("D19")
def test_runs_with_and_without_a_judge_are_not_compared(path: Path, tmp_path: Path) -> None:
    start_run(tmp_path / "judged.equipoise", judge=fair("rejected"))
    with pytest.raises(InputError, match=r"judge is None in A and '.* in B"):
        equipoise.compare(path, tmp_path / "judged.equipoise")
    plain = Run.open(tmp_path / "judged.equipoise", judged=False)
    assert equipoise.compare(path, plain).probes.keys() == {"hiring_an"}


@pytest.mark.fault("D18")
@pytest.mark.parametrize("said", ["Rejected, because she is a woman.", "accepted rejected", "\x1b[31mно", "", "none"])
def test_a_judge_that_talks_nonsense_decides_nothing(path: Path, said: str) -> None:
    equipoise.resume(path, judge=fair(said)).ask()
    assert coverage(path)["all"] == (OPEN, 0)
    result = Run.open(path).result("hiring_an")
    assert result.coverage["all"]["undetected"] == OPEN


def test_a_finished_run_is_judged_without_its_model_and_then_asks_nothing(path: Path, server: FaultyServer) -> None:
    events: list[Event] = []
    run = equipoise.resume(path, **at(server)).ask(events.append)
    assert (run.judge, run.exams["hiring_an"].faults) == ("openai/judge", [])
    assert run.judging[Status.OK] == OPEN
    assert len(exam(path)) == EXAM
    assert all(verdict == label for verdict, label in exam(path))
    (note,) = (event.text for event in events if isinstance(event, Note))
    assert note == (
        "Exam of the judge for hiring_an: passed. 40 of 40 right, 0 read as the opposite; said to be accepted: "
        "7 of 14 male, 7 of 14 female (Fisher's exact test: p = 1)."
    )
    assert server.total == EXAM + OPEN
    assert run.judge_usage > (0, 0)
    assert {event.asked for event in events if isinstance(event, RunProgress)} == {"judge"}
    assert not find_key(path.read_bytes().decode("latin-1"))
    equipoise.resume(path).ask()
    assert server.total == EXAM + OPEN


def test_another_judge_is_refused(path: Path, server: FaultyServer) -> None:
    equipoise.resume(path, **at(server)).ask()
    with pytest.raises(IntegrityError, match="has another judge"):
        equipoise.resume(path, judge=fair("accepted"))
    assert coverage(path)["all"] == (OPEN, OPEN)


def test_a_function_as_judge_must_be_given_again(tmp_path: Path) -> None:
    path = tmp_path / "run.equipoise"
    with pytest.raises(BudgetReached, match=r"judge=the_function"):
        start_run(path, judge=fair("rejected"), policy=Policy(max_requests=EXAM + 2 * OPEN + 2, concurrency=1))
    with pytest.raises(InputError, match=r"judge=the_function"):
        equipoise.resume(path)


@pytest.mark.fault("D20")
@pytest.mark.parametrize(
    "limit",
    [
        {"max_requests": EXAM + 2},
        {
            "max_cost": (EXAM_TOKENS + 30) / 1e6,
            "price": TokenPrice(prompt=1, completion=1),
            "judge_price": TokenPrice(prompt=1, completion=1),
        },
    ],
)
def test_the_budget_covers_the_judge(path: Path, server: FaultyServer, limit: dict[str, Any]) -> None:
    with pytest.raises(BudgetReached, match=r"verdicts of the judge\. To go on: equipoise resume"):
        equipoise.resume(path, **at(server), policy=Policy(concurrency=1, **limit)).ask()
    judged = server.total - EXAM
    assert 0 < judged < OPEN
    assert len(verdicts(path)) == judged
    assert coverage(path)["all"] == (OPEN, judged)
    equipoise.resume(path).ask()
    assert server.total - EXAM == OPEN == len(verdicts(path))


def test_the_budget_covers_the_exam_which_goes_on_where_it_stopped(path: Path, server: FaultyServer) -> None:
    with pytest.raises(BudgetReached, match=r"3 of 40 verdicts of the judge\. To go on: equipoise resume"):
        equipoise.resume(path, **at(server), policy=Policy(concurrency=1, max_requests=3)).ask()
    assert verdicts(path) == []
    equipoise.resume(path).ask()
    assert server.total == EXAM + OPEN
    assert coverage(path)["all"] == (OPEN, OPEN)


def test_a_limit_on_the_cost_needs_the_price_of_the_judge(tmp_path: Path) -> None:
    limited = Policy(max_cost=1.0, price=TokenPrice(prompt=1, completion=1))
    with pytest.raises(InputError, match="price of the judge"):
        start_run(tmp_path / "run.equipoise", judge=lambda _: "", policy=limited)
    assert not (tmp_path / "run.equipoise").exists()


@pytest.mark.fault("D20")
def test_failed_verdicts_are_kept_and_asked_for_again_only_on_request(path: Path, server: FaultyServer) -> None:
    server.behaviour = lambda prompt, nth: (
        Fault.NULL_FILTERED if EXAM < server.total <= EXAM + OPEN else fair("rejected")(prompt)
    )
    equipoise.resume(path, **at(server)).ask()
    assert Run.open(path).judging[Status.FILTERED] == OPEN
    equipoise.resume(path).ask()
    assert coverage(path)["all"] == (OPEN, 0)
    equipoise.resume(path, retry=["filtered"]).ask()
    assert Run.open(path).judging[Status.OK] == OPEN
    assert coverage(path)["all"] == (OPEN, OPEN)
    assert server.total == EXAM + 2 * OPEN


def plant(path: Path, **settings: Any) -> None:
    """Name a judge in the file as somebody else does, on another machine."""
    with RunFile.open(path) as file:
        file.set_judge(structs.replace(file.spec, judge="openai/judge", **settings), {"model": "judge"})


@pytest.mark.fault("S16")
def test_a_planted_judge_gets_no_key(path: Path, server: FaultyServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", KEY)
    plant(path, judge_base_url=server.url, judge_key_variable="AWS_SECRET_ACCESS_KEY")
    with pytest.raises(InputError, match="wants the key in AWS_SECRET_ACCESS_KEY sent to") as caught:
        equipoise.resume(path)
    assert f"--judge openai/judge --judge-base-url {server.url} --judge-key-variable AWS_SECRET" in str(caught.value)
    assert not server.received


def test_probes_that_count_words_have_no_judge(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="None of these probes"):
        equipoise.start(
            lambda _: "", probes="business_vocabulary", out=tmp_path / "run", judge=lambda _: "", suite="quick"
        )
    assert not (tmp_path / "run").exists()


def test_a_judge_without_its_key_stops_before_a_file_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    with pytest.raises((InputError, EndpointError), match="OPENAI_API_KEY"):
        start_run(tmp_path / "run.equipoise", judge="openai/gpt-4o-mini")
    assert not (tmp_path / "run.equipoise").exists()


def test_readings_that_decide_differently_are_judged(tmp_path: Path) -> None:
    judge = Counting()
    letter = (
        "Dear Kim, we will not be moving forward with your application. "
        "If you have been selected elsewhere, congratulations."
    )

    equipoise.audit(lambda _: letter, probes="hiring_an", sample=2, out=tmp_path / "run", judge=judge)
    assert len(judge.asked) == 2
    assert coverage(tmp_path / "run")["all"] == coverage(tmp_path / "run", reading="specified")["all"] == (2, 2)


def exam(path: Path) -> list[tuple[str | None, str]]:
    with RunReader.open(path) as file:
        return [(verdict, question.label or "none") for question, _, verdict in file.exam()]


@pytest.mark.fault("D21")
@pytest.mark.parametrize(
    ("behaviour", "faults"),
    [
        (sees_only_men, "it read more than 5% as the opposite and it treats the genders differently"),
        (broken, "it is right on fewer than half"),
    ],
)
def test_a_biased_and_a_broken_judge_are_refused(
    path: Path, server: FaultyServer, behaviour: Callable[[str], str], faults: str
) -> None:
    server.behaviour = lambda prompt, nth: behaviour(prompt)
    events: list[Event] = []
    with pytest.raises(InputError, match=r"openai/judge failed its exam for hiring_an.*--judge-anyway"):
        equipoise.resume(path, **at(server)).ask(events.append)
    assert [event.text.split(". ")[0] for event in events if isinstance(event, Note)] == [
        f"Exam of the judge for hiring_an: failed, because {faults}"
    ]
    assert server.total == EXAM == len(exam(path))
    run = Run.open(path)
    assert (run.judge, verdicts(path), run.result("hiring_an").setup.judge) == (None, [], None)
    server.behaviour = lambda prompt, nth: fair("rejected")(prompt)
    assert equipoise.resume(path, **at(server)).ask().judge == "openai/judge"
    assert coverage(path)["all"] == (OPEN, OPEN)


def test_a_judge_that_failed_is_used_anyway_only_on_request_and_every_result_says_so(
    path: Path, server: FaultyServer, tmp_path: Path
) -> None:
    server.behaviour = lambda prompt, nth: sees_only_men(prompt)
    equipoise.resume(path, **at(server), judge_anyway=True).ask()
    run = Run.open(path)
    assert run.judge == run.result("hiring_an").setup.judge == "openai/judge (failed its exam)"
    assert coverage(path)["all"] == (OPEN, OPEN)
    run.report(tmp_path / "report.html")
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert "The judge openai/judge (failed its exam) gave a label to 6 of 6" in page
    assert "although it read more than 5% as the opposite" in page
    equipoise.resume(path).ask()
    assert server.total == EXAM + OPEN


@pytest.mark.fault("D14")
@pytest.mark.parametrize(
    ("statement", "named"),
    [
        ("update exam set label = 'accepted' where label = 'rejected' and number < 20", "exam"),
        (
            "update verdicts set answer = 'accepted' where place = (select min(place) from verdicts)",
            "attempt number 13",
        ),
    ],
)
def test_what_the_judge_said_cannot_be_changed_unnoticed(path: Path, statement: str, named: str) -> None:
    equipoise.resume(path, judge=fair("rejected")).ask()
    execute(statement)(path)
    with pytest.raises(IntegrityError, match=f"was changed after it was written: {named}"):
        Run.open(path)


def test_a_judge_cannot_be_examined_without_labelled_answers(tmp_path: Path) -> None:
    probe = get_probe("hiring_an")
    probe = replace(probe, name="mine", card=replace(probe.card, folder=None))
    with pytest.raises(InputError, match=r"cannot be examined for mine: its labelled\.csv must hold"):
        equipoise.audit(lambda _: "", probes=[probe], sample=1, out=tmp_path / "run", judge=fair("rejected"))
