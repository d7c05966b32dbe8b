"""Own prompts from the command line: asked, stored as data, and read again by every command, anywhere."""

from __future__ import annotations

from pathlib import Path

import pytest

from calling import Command
from serving.faulty import FaultyServer

TABLE = "prompt,pair,arm,place\n" + "".join(
    f"May {name} number {number} go? Answer yes or no.,{number},{who},{'north' if number % 2 else 'south'}\n"
    for number in range(24)
    for name, who in (("Ann", "woman"), ("Ben", "man"))
)
OWN = ("--pairs", "going.csv", "--read", "decision")


@pytest.fixture
def table(command: Command) -> Path:
    path = Path("going.csv")
    path.write_text(TABLE)
    return path


@pytest.mark.usefixtures("table")
def test_a_run_that_was_cut_off_goes_on_without_the_table_and_every_command_reads_it(command: Command) -> None:
    with FaultyServer(lambda prompt, _nth: "Yes." if "Ben" in prompt else "No.") as server:
        asked = ("run", "custom/test", "--base-url", server.url, *OWN, "-o", "run.equipoise")
        assert command(*asked, "--max-requests", 10).code == 4
        Path("going.csv").unlink()
        assert command("resume", "run.equipoise", "--base-url", server.url).code == 0
        assert server.total == 48
    reading: list[tuple[tuple[str, ...], int, str]] = [
        (("show", "run.equipoise"), 0, "D going difference is -1.000"),
        (("verify", "run.equipoise"), 0, "are the user's own: 48"),
        (("gate", "run.equipoise", "--fail-on", "D"), 7, "difference"),
        (("report", "run.equipoise", "-o", "run.html"), 0, ""),
        (("transcripts", "run.equipoise", "-o", "transcripts.html"), 0, ""),
    ]
    for words, code, shown in reading:
        outcome = command(*words)
        assert outcome.code == code, outcome.err
        assert shown in outcome.out


@pytest.mark.usefixtures("table")
def test_prompts_are_written_answered_elsewhere_and_scored_or_imported(command: Command) -> None:
    lines = command("prompts", *OWN, "--format", "csv").out.splitlines()
    header, *rows = lines
    assert header.startswith("id,item,prompt")
    answers = ["id,answer", *(f"{row.split(',')[0]},{'Yes.' if 'Ann' in row else 'No.'}" for row in rows)]
    Path("answers.csv").write_text("\n".join(answers))
    assert "1.000" in command("score", "answers.csv", *OWN).out
    assert command("import", "answers.csv", *OWN, "-o", "run.equipoise").code == 0
    assert "D going difference is 1.000" in command("show", "run.equipoise").out
    assert "48" in command("estimate", "openai/gpt-4o-mini", *OWN).out


REFUSED = [
    (("--pairs", "going.csv"), "--pairs needs --read"),
    (("--read", "decision"), "--pairs FILE"),
    ((*OWN, "--columns", "who=arm"), "--columns needs"),
    ((*OWN, "--bands", "0.3,0.1,0.2"), "three growing numbers"),
    (("--pairs", "jobs_lum.csv", "--read", "decision"), "is called 'jobs_lum' already"),
]


@pytest.mark.usefixtures("table")
@pytest.mark.parametrize(("options", "message"), REFUSED, ids=[" ".join(options) for options, _ in REFUSED])
def test_what_cannot_be_asked_is_refused_in_a_sentence(
    options: tuple[str, ...], message: str, command: Command
) -> None:
    Path("jobs_lum.csv").write_text(TABLE)
    outcome = command("run", "simulated/biased", *options)
    assert outcome.code == 2
    assert message in outcome.err
    assert "Traceback" not in outcome.err
