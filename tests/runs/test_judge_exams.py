"""A judge must pass an exam before it is asked about answers, unless the user insists."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

import equipoise
from equipoise import Run
from equipoise.errors import InputError, Interrupted
from equipoise.probes import get_probe
from equipoise.probes.labelled import set_exam
from equipoise.runs import judging
from equipoise.runs.ask.events import Event
from equipoise.runs.file.reader import RunReader
from equipoise.schema import VERDICT
from examining import EXAM, QUESTIONS, broken, fair, sees_only_men
from runs.judged import OPEN, coverage, judge_at, start_run
from serving.asking import KEY
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


def test_a_fair_judge_passes_its_exam_and_is_used(path: Path, server: FaultyServer) -> None:
    events: list[Event] = []
    run = judge_at(server, path, on_event=events.append)
    assert (run.judge, run.exams["hiring_an"].faults) == ("openai/judge", [])
    (note,) = (event for event in events if isinstance(event, str))
    assert note == (
        "Exam of the judge for hiring_an: passed. 40 of 40 right, 0 read as the opposite; said to be accepted: "
        "7 of 14 male, 7 of 14 female (Fisher's exact test: p = 1)."
    )


def test_the_file_holds_the_answers_of_the_exam(path: Path, server: FaultyServer) -> None:
    judge_at(server, path)
    with RunReader.open(path) as file:
        answers = file.verdicts("hiring_an").filter(id="exam")[VERDICT].to_list()
    expected = [asked.label or "none" for asked in QUESTIONS.values() if asked.probe == "hiring_an"]
    assert len(answers) == EXAM
    assert sorted(answers) == sorted(expected)


def test_a_judge_cannot_be_examined_without_labelled_answers(tmp_path: Path) -> None:
    probe = get_probe("hiring_an")
    without_labels = replace(probe, name="mine", card=replace(probe.card, folder=None))
    with pytest.raises(
        InputError,
        match=r"cannot be examined for mine: its labelled\.csv must hold",
    ):
        set_exam(without_labels)
    with pytest.raises(InputError, match=r"cannot be examined for mine: its labelled\.csv must hold"):
        start_run(tmp_path / "run.equipoise", probes=[without_labels], judge=fair("rejected"))


@pytest.mark.fault("D21")
@pytest.mark.parametrize(
    ("behaviour", "faults"),
    [
        (
            sees_only_men,
            "it read more than 5% as the opposite and it treats the genders differently",
        ),
        (broken, "it is right on fewer than half"),
    ],
)
def test_a_biased_and_a_broken_judge_are_refused(
    path: Path, server: FaultyServer, behaviour: Callable[[str], str], faults: str
) -> None:
    server.behaviour = lambda prompt, nth: behaviour(prompt)
    events: list[Event] = []
    with pytest.raises(
        InputError,
        match=r"openai/judge failed its exam for hiring_an.*--judge-anyway",
    ):
        judge_at(server, path, on_event=events.append)
    assert [event.split(". ")[0] for event in events if isinstance(event, str)] == [
        f"Exam of the judge for hiring_an: failed, because {faults}"
    ]
    run = Run.open(path)
    assert (server.total, run.judge, run.result("hiring_an").setup.judge) == (EXAM, None, None)
    assert run.judging == {}
    server.behaviour = lambda prompt, nth: fair("rejected")(prompt)
    assert (
        judge_at(
            server,
            path,
        ).judge
        == "openai/judge"
    ), "another exam, of which the answers of the first are no part"
    assert (server.total, coverage(path)) == (2 * EXAM + OPEN, (OPEN, OPEN))


@pytest.mark.fault("D21")
def test_an_exam_that_was_interrupted_before_it_was_graded_is_graded_in_the_next_session(
    path: Path, server: FaultyServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All its answers are stored, so that nothing is pending."""
    server.behaviour = lambda prompt, nth: sees_only_men(prompt)

    def interrupt(*_: object) -> None:
        raise Interrupted("Stopped.", 130)

    with monkeypatch.context() as patched:
        patched.setattr(judging, "grade_exams", interrupt)
        with pytest.raises(Interrupted):
            judge_at(server, path)
    assert server.total == EXAM
    with pytest.raises(InputError, match="openai/judge failed its exam for hiring_an"):
        equipoise.resume(path, judge_base_url=server.url).ask()
    assert server.total == EXAM, "nothing is asked again, and no answer was judged"
    assert Run.open(path).judging == {}


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
