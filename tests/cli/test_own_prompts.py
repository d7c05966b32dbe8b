"""Own prompts from the command line: asked, stored as data, and read again by every command, anywhere."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from calling import Command, output
from serving.faulty import FaultyServer
from simulating import renew_digests

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


@pytest.fixture
def run(command: Command, table: Path) -> Path:
    """A run that was cut off, and went on without the table."""
    path = Path("run.equipoise")
    with FaultyServer(lambda prompt, _nth: "Yes." if "Ben" in prompt else "No.") as server:
        asked = ("run", "custom/test", "--base-url", server.url, *OWN, "-o", path)
        assert command(*asked, "--max-requests", 10).code == 4
        table.unlink()
        assert command("resume", path, "--base-url", server.url).code == 0
        assert server.total == 48
    return path


READING: list[tuple[tuple[str, ...], int, str]] = [
    (("show", "run.equipoise"), 0, "D going difference is -1.000"),
    (("verify", "run.equipoise"), 0, "are the user's own: 48"),
    (("gate", "run.equipoise", "--fail-on", "D"), 7, "difference"),
    (("report", "run.equipoise", "-o", "run.html"), 0, ""),
    (("transcripts", "run.equipoise", "-o", "transcripts.html"), 0, ""),
    (("compare", "run.equipoise", "run.equipoise"), 0, "difference"),
    (("export", "run.equipoise", "--format", "csv"), 0, "difference"),
]


@pytest.mark.usefixtures("run")
@pytest.mark.parametrize(("words", "code", "shown"), READING, ids=[row[0][0] for row in READING])
def test_every_command_reads_a_run_of_own_prompts_without_the_table(
    words: tuple[str, ...],
    code: int,
    shown: str,
    command: Command,
) -> None:
    outcome = command(*words)
    assert outcome.code == code, outcome.err
    assert shown in outcome.out


@pytest.fixture
def answers(command: Command, table: Path) -> Path:
    """Answers to the prompts that the command wrote: yes for the one, no for the other."""
    header, *rows = output(command("prompts", *OWN, "--format", "csv")).splitlines()
    assert header.startswith("id,item,prompt")
    lines = ["id,answer"]
    for row in rows:
        answer = "Yes." if "Ann" in row else "No."
        lines.append(f"{row.split(',')[0]},{answer}")
    path = Path("answers.csv")
    path.write_text("\n".join(lines))
    return path


def test_own_prompts_that_were_answered_elsewhere_are_scored(
    command: Command,
    answers: Path,
) -> None:
    assert "1.000" in output(command("score", answers, *OWN))


def test_own_prompts_that_were_answered_elsewhere_are_imported(
    command: Command,
    answers: Path,
) -> None:
    assert command("import", answers, *OWN, "-o", "run.equipoise").code == 0
    assert "D going difference is 1.000" in output(command("show", "run.equipoise"))


@pytest.mark.usefixtures("table")
def test_own_prompts_are_estimated(command: Command) -> None:
    shown = output(command("estimate", "openai/gpt-4o-mini", *OWN, "--json"))
    assert json.loads(shown)["prompts"] == 48


REFUSED = [
    (("--pairs", "going.csv"), "--pairs needs --read"),
    (("--read", "decision"), "--pairs FILE"),
    ((*OWN, "--columns", "who=arm"), "--columns needs"),
    ((*OWN, "--columns", "arm=gender"), "gender"),
    ((*OWN, "--bands", "0.3,0.1,0.2"), "three growing numbers"),
    (("--pairs", "none.csv", "--read", "decision"), "none.csv cannot be read"),
    (("--pairs", "jobs_lum.csv", "--read", "decision"), "is called 'jobs_lum' already"),
]


@pytest.mark.usefixtures("table")
@pytest.mark.parametrize(("options", "message"), REFUSED, ids=[" ".join(options) for options, _ in REFUSED])
def test_what_cannot_be_asked_is_refused_in_a_sentence(
    options: tuple[str, ...],
    message: str,
    command: Command,
) -> None:
    Path("jobs_lum.csv").write_text(TABLE)
    outcome = command("run", "simulated/biased", *options)
    assert outcome.code == 2
    assert message in outcome.err
    assert "Traceback" not in outcome.err


@pytest.mark.fault("S7")
@pytest.mark.usefixtures("table")
def test_a_forged_definition_is_refused(command: Command) -> None:
    """A definition in a run file is data; nothing that it names is run."""
    assert command("run", "simulated/biased", *OWN, "-o", "run.equipoise").code == 0
    with closing(sqlite3.connect("run.equipoise")) as file:
        before = file.execute("select value from settings where key = 'spec'").fetchone()
        assert '"read":"decision"' in before[0]
        forged = """replace(value, '"read":"decision"', '"read":"__import__"')"""
        file.execute(f"update settings set value = {forged}")
        renew_digests(file)
        file.commit()
    outcome = command("show", "run.equipoise")
    assert outcome.code == 6
    assert "Traceback" not in outcome.err
