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
from equipoise import Run
from equipoise.errors import BudgetReached, InputError, IntegrityError
from equipoise.probes import get_probe
from equipoise.probes.labelled import set_exam
from equipoise.runs.ask.events import Event, RunProgress
from equipoise.runs.file.store import RunFile
from equipoise.schema import Status
from examining import EXAM, QUESTIONS, broken, fair, sees_only_men
from runs.fakes import execute
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

    return equipoise.audit(alternate, **{"probes": "hiring_an", "sample": 2 * OPEN, "out": path, **options})


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


def judge_at(server: FaultyServer, path: Path, **options: Any) -> Run:
    given = {"judge": "openai/judge", "judge_base_url": server.url, **options}
    on_event = given.pop("on_event", None)
    return equipoise.resume(path, **given).ask(on_event)


def coverage(path: Path, **options: Any) -> tuple[int | None, int | None]:
    """How many answers are for the judge, and how many it gave a label."""
    counts = Run.open(path, **options).result("hiring_an").coverage["all"]
    return counts.get("for_judge"), counts.get("judged")


@pytest.mark.fault("D19")
def test_only_open_answers_are_judged_and_results_say_so(tmp_path: Path, finished: Path) -> None:
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
    with pytest.raises(InputError, match=r"judge is None in A and '.* in B"):
        equipoise.compare(finished, path)
    plain = Run.open(path, judged=False)
    assert (plain["hiring_an"].setup.judge, plain["hiring_an"].coverage["all"]["undetected"]) == (None, OPEN)
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
@pytest.mark.parametrize("said", ["Rejected, because she is a woman.", "\x1b[31mно", "", "none"])
def test_a_judge_that_talks_nonsense_decides_nothing(path: Path, said: str) -> None:
    equipoise.resume(path, judge=fair(said)).ask()
    assert coverage(path) == (OPEN, 0)
    assert Run.open(path).result("hiring_an").coverage["all"]["undetected"] == OPEN


@pytest.mark.fault("D14")
def test_a_finished_run_is_judged_without_its_model_and_then_asks_nothing(path: Path, server: FaultyServer) -> None:
    events: list[Event] = []
    run = judge_at(server, path, on_event=events.append)
    assert (run.judge, run.judging[Status.OK]) == ("openai/judge", OPEN)
    (note,) = (event for event in events if isinstance(event, str))
    assert note == (
        "Exam of the judge for hiring_an: passed. 40 of 40 right, 0 read as the opposite; said to be accepted: "
        "7 of 14 male, 7 of 14 female (Fisher's exact test: p = 1)."
    )
    assert {event.role for event in events if isinstance(event, RunProgress)} == {"judge"}
    assert run.provenance.judge_usage > (EXAM_TOKENS, 0)
    assert not find_key(path.read_bytes().decode("latin-1"))
    equipoise.resume(path).ask()
    assert server.total == EXAM + OPEN
    with pytest.raises(IntegrityError, match="has another judge"):
        equipoise.resume(path, judge=fair("accepted"))
    execute("update verdicts set answer = 'accepted' where prompt <> 'exam'")(path)
    with pytest.raises(IntegrityError, match=f"was changed after it was written: attempt number {2 * OPEN + EXAM + 1}"):
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
        ({"max_requests": 3}, range(3, 4)),
        ({"max_requests": EXAM + 2}, range(EXAM + 2, EXAM + 3)),
        (
            {"max_cost": EXAM_TOKENS * (1 + 3 / EXAM) / 1e6, "price": "1,1", "judge_price": "1,1"},
            range(EXAM + 1, EXAM + OPEN),
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
        ({"judge": "custom/judge", "max_cost": 1.0}, "Give it with --judge-price"),
        ({"judge": fair(""), "probes": "business_vocabulary"}, "None of these probes"),
        ({"judge": "openai/gpt-4o-mini"}, "OPENAI_API_KEY"),
        ({"judge": "simulated/unbiased"}, "cannot judge"),
    ],
)
def test_a_judge_that_cannot_be_asked_stops_before_a_file_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, options: dict[str, Any], words: str
) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    with pytest.raises(InputError, match=words):
        start_run(tmp_path / "run.equipoise", **options)
    assert not (tmp_path / "run.equipoise").exists()


def test_a_judge_cannot_be_examined_without_labelled_answers() -> None:
    probe = get_probe("hiring_an")
    with pytest.raises(InputError, match=r"cannot be examined for mine: its labelled\.csv must hold"):
        set_exam(replace(probe, name="mine", card=replace(probe.card, folder=None)))


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
        judge_at(server, path, on_event=events.append)
    assert [event.split(". ")[0] for event in events if isinstance(event, str)] == [
        f"Exam of the judge for hiring_an: failed, because {faults}"
    ]
    run = Run.open(path)
    assert (server.total, run.judge, run.result("hiring_an").setup.judge) == (EXAM, None, None)
    server.behaviour = lambda prompt, nth: fair("rejected")(prompt)
    assert judge_at(server, path).judge == "openai/judge", "another exam, of which the answers of the first are no part"
    assert (server.total, coverage(path)) == (2 * EXAM + OPEN, (OPEN, OPEN))


@pytest.mark.fault("D21")
def test_a_judge_that_failed_is_used_anyway_only_on_request_and_every_result_says_so(
    path: Path, server: FaultyServer, tmp_path: Path
) -> None:
    server.behaviour = lambda prompt, nth: sees_only_men(prompt)
    run = judge_at(server, path, judge_anyway=True)
    assert run.judge == run.result("hiring_an").setup.judge == "openai/judge (failed its exam)"
    assert coverage(path) == (OPEN, OPEN)
    equipoise.write_report(run, tmp_path / "report.html")
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert "The judge openai/judge (failed its exam) gave a label to 6 of 6" in page
    assert "although it read more than 5% as the opposite" in page
    equipoise.resume(path).ask()
    assert server.total == EXAM + OPEN
