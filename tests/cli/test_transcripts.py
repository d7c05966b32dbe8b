"""`equipoise transcripts`: what it writes, says and refuses."""

from __future__ import annotations

from pathlib import Path

from calling import Command


def test_the_page_is_written_and_the_command_says_what_is_left_out(command: Command, small: Path) -> None:
    outcome = command("transcripts", small, "--most", 10)
    assert (outcome.code, outcome.out) == (0, "")
    assert outcome.err.splitlines() == [
        "10 answers: transcripts.html",
        "50 of 60 answers are left out. To see others: --probe, --label, --status, --repetition, --where, --search",
    ]
    assert Path("transcripts.html").read_text(encoding="utf-8").startswith("<!DOCTYPE html>")


def test_what_does_not_exist_is_refused(command: Command, small: Path) -> None:
    for words, code, message in (
        (["--label", "mael"], 2, "Did you mean 'male'"),
        (["--where", "occupation"], 2, "COVARIATE=VALUE"),
        (["--status", "truncated"], 2, "No answer in"),
        (["-o", "none/t.html"], 5, "there is no folder"),
    ):
        outcome = command("transcripts", small, *words)
        assert (outcome.code, message in outcome.err) == (code, True), outcome.err
    assert list(Path().iterdir()) == [Path("run.equipoise")]
