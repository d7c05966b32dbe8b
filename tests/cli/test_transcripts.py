"""`equipoise transcripts`: what it writes, says and refuses."""

from __future__ import annotations

from pathlib import Path

import pytest

from calling import Command


def test_the_page_is_written_and_the_command_says_what_is_left_out(
    command: Command,
    small: Path,
) -> None:
    outcome = command("transcripts", small, "--most", 10)
    assert (outcome.code, outcome.out) == (0, "")
    assert outcome.err.splitlines() == [
        "10 answers: transcripts.html",
        "50 of 60 answers are left out. To see others: --probe, --where, --search",
    ]
    page = Path("transcripts.html").read_text(encoding="utf-8")
    assert page.startswith("<!DOCTYPE html>")


def test_options_narrow_what_the_page_shows(command: Command, small: Path) -> None:
    words = ("transcripts", small, "-o", "t.html", "--probe", "jobs_lum")
    women = ("--where", "label=female", "--where", "status=ok", "--where", "repetition=1")
    outcome = command(*words, *women, "--search", "SHE")
    assert outcome.code == 0
    shown, _, rest = outcome.err.partition(" ")
    assert rest == "answers: t.html\n"
    assert 0 < int(shown) < 60
    men = command(*words, "--where", "label=male", "--search", "he")
    assert int(shown) + int(men.err.partition(" ")[0]) == 60


REFUSED = [
    (["--where", "gendr=x"], 2, "No value of attempts is called 'gendr'"),
    (["--where", "label=mael"], 2, "No answer in"),
    (["--where", "occupation"], 2, "--where needs NAME=VALUE"),
    (["--where", "status=truncated"], 2, "No answer in"),
    (["-o", "run.equipoise"], 2, "its answers would be lost"),
    (["-o", "none/t.html"], 5, "there is no folder"),
]


@pytest.mark.parametrize(("words", "code", "message"), REFUSED)
def test_what_cannot_be_written_or_does_not_exist_is_refused(
    words: list[str],
    code: int,
    message: str,
    command: Command,
    small: Path,
) -> None:
    outcome = command("transcripts", small, *words)
    assert outcome.code == code, outcome.err
    assert message in outcome.err
    assert [file.name for file in small.parent.iterdir()] == ["run.equipoise"]
