"""`equipoise transcripts`: what it writes, says and refuses."""

from __future__ import annotations

from pathlib import Path

import equipoise
from calling import Command


def test_the_page_is_written_and_the_command_says_what_is_left_out(command: Command, tmp_path: Path) -> None:
    run = tmp_path / "run.equipoise"
    equipoise.audit(lambda _prompt: "He is.", probes=["jobs_lum"], out=run, sample=30)
    outcome = command("transcripts", run, "--most", 10)
    assert (outcome.code, outcome.out) == (0, "")
    assert outcome.err.splitlines() == [
        "10 answers: transcripts.html",
        "20 of 30 answers are left out. To see others: --probe, --label, --status, --repetition, --where, --search",
    ]
    assert (tmp_path / "transcripts.html").read_text(encoding="utf-8").startswith("<!DOCTYPE html>")
    narrow = ("--probe", "jobs_lum", "--label", "male", "--status", "ok", "--repetition", 1, "--search", "HE")
    outcome = command("transcripts", run, "-o", "t.html", *narrow)
    assert (outcome.code, outcome.err) == (0, "30 answers: t.html\n")


def test_what_cannot_be_written_or_does_not_exist_is_refused(command: Command, tmp_path: Path) -> None:
    run = tmp_path / "run.equipoise"
    equipoise.audit(lambda _prompt: "He is.", probes=["jobs_lum"], out=run, sample=3)
    for words, code, message in (
        (["--label", "mael"], 2, "Did you mean 'male'"),
        (["--where", "occupation"], 2, "COVARIATE=VALUE"),
        (["--status", "truncated"], 2, "No answer in"),
        (["-o", run], 2, "is a run file"),
        (["-o", tmp_path / "none" / "t.html"], 5, "there is no folder"),
    ):
        outcome = command("transcripts", run, *words)
        assert outcome.code == code, outcome.err
        assert message in outcome.err
    assert [file.name for file in tmp_path.iterdir()] == ["run.equipoise"]
