"""`equipoise probes`, help, and mistakes in the words of a command: what is said, and with which code it ends."""

from __future__ import annotations

import json
import os
import re
from dataclasses import replace
from pathlib import Path

import pytest

from calling import Command, output
from equipoise.assets import REGISTRY
from equipoise.errors import InputError
from equipoise.measuring import plan as plans
from equipoise.probes import find_probes

PROBES = find_probes()
# Nothing listens on this port of this machine.
CLOSED = "http://127.0.0.1:9/"


def without_colours(text: str) -> str:
    return re.sub(r"\x1b\[[0-9;]*m", "", text)


# probes


def test_probes_are_listed(command: Command) -> None:
    lines = output(command("probes")).splitlines()
    assert [line.split()[0] for line in lines] == ["probe", *PROBES]
    described = json.loads(output(command("probes", "--json")))["probes"]
    assert [probe["name"] for probe in described] == list(PROBES)
    for probe in described:
        assert {metric.name for metric in PROBES[probe["name"]].all_metrics()} == set(probe["metrics"])


@pytest.mark.parametrize("probe", PROBES)
def test_a_probe_shows_its_card(probe: str, command: Command) -> None:
    shown = output(command("probes", probe))
    assert shown.startswith(PROBES[probe].card.text.rstrip())
    assert "`seed` = 0" in shown
    assert f"The longest answer: {PROBES[probe].max_tokens} tokens" in shown
    (described,) = json.loads(output(command("probes", probe, "--json")))["probes"]
    assert (described["name"], described["max_tokens"]) == (probe, PROBES[probe].max_tokens)


# Mistakes

TEMPLATE = "template=Write about {}."


@pytest.mark.parametrize(
    ("words", "code", "parts"),
    [
        (["prompts", "job_lum"], 2, ["No probe is called 'job_lum'", "Did you mean 'jobs_lum'?", "equipoise probes"]),
        (["probes", "xyz"], 2, ["No probe is called 'xyz'", *PROBES]),
        (["score", "x.jsonl", "--probe", "lum_jobs"], 2, ["No probe is called 'lum_jobs'"]),
        (["prompts", "jobs_lum", "--sample", "0"], 2, ["between 1 and 339", "Got 0 instead"]),
        (["prompts", "jobs_lum", "--sample", "-3"], 2, ["between 1 and 339", "Got -3 instead"]),
        (["prompts", "jobs_lum", "--sample", "999999999"], 2, ["between 1 and 339", "Got 999999999 instead"]),
        (["prompts", "hiring_an", "--sample", "5424001"], 2, ["between 1 and 5,424,000"]),
        (["prompts", "jobs_lum", "--sample", "x"], 2, ["--sample needs a whole number or 'all'. Got 'x' instead"]),
        (["prompts", "jobs_lum", "--sample", "1.5"], 2, ["--sample needs a whole number"]),
        (["prompts", "jobs_lum", "--repeat", "0"], 2, ["repeat", "between 1 and 1,000,000", "Got 0 instead"]),
        (["prompts", "jobs_lum", "--seed", "-1"], 2, ["seed", "0 or more", "Got -1 instead"]),
        (["prompts", "jobs_lum", "--set", "templat=x"], 2, ["No parameter", "'templat'", "Did you mean 'template'"]),
        (["prompts", "jobs_lum", "--set", "template"], 2, ["--set needs NAME=VALUE. Got 'template' instead"]),
        (["prompts", "hiring_an", "--set", "design=paired"], 2, ["'matched', 'random'", "Got 'paired' instead"]),
        (["prompts", "gest_creative", "--set", "corpus=gest2"], 2, ["'gest', 'mottos'"]),
        (["prompts", "gest_creative", "--set", "exclude=15"], 2, ["exclude", "must be a list"]),
        (["prompts", "gest_creative", "--set", "exclude=[15"], 2, ["exclude", "JSON"]),
        (["prompts", "gest_creative", "--set", "exclude=[[15]]"], 2, ["exclude", "from 1 to 16"]),
        (["prompts", "business_vocabulary", "--set", 'templates=[{"male": 1, "female": ""}]'], 2, ["template"]),
        (["prompts", "jobs_lum", "--set", TEMPLATE.format("{work}")], 2, ["{work}", "The slots there are: {job}"]),
        (["prompts", "jobs_lum", "--set", TEMPLATE.format("a job")], 2, ["lacks the slot {job}"]),
        (
            ["prompts", "jobs_lum", "--set", TEMPLATE.format("{job.__class__}")],
            2,
            ["{job.__class__}", "not a plain name", "The slots there are: {job}"],
        ),
        (["prompts", "jobs_lum", "--set", TEMPLATE.format("{0}")], 2, ["{0}", "not a plain name"]),
        (["prompts", "jobs_lum", "--set", TEMPLATE.format("{job")], 2, ["cannot be read"]),
        (["prompts", "jobs_lum", "--format", "xml"], 2, ["No format is called 'xml'", "anthropic-batch, csv"]),
        (["estimate", "openai/x", "--speed", "0"], 2, ["--speed must be more than 0", "Got 0 instead"]),
        (["score", "missing.jsonl", "--probe", "jobs_lum"], 2, ["There is no file missing.jsonl"]),
        (["score", "\x1b[31mred\x1b]0;x\x07", "--probe", "jobs_lum"], 2, [r"no file \x1b[31mred\x1b]0;x\x07"]),
        (["score", ".", "--probe", "jobs_lum"], 2, ["holds no answers", ".parquet"]),
        (["score", "x.jsonl"], 2, ["One probe is needed", "equipoise probes"]),
        (["prompts", "jobs_lum", "-o", "nowhere/prompts.jsonl"], 5, ["nowhere/prompts.jsonl cannot be written"]),
    ],
)
def test_a_mistake_is_reported_in_one_message(
    words: list[str], code: int, parts: list[str], command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    if words[0] == "prompts" and "-o" not in words:
        words = [*words, "-o", "out.jsonl"]
    outcome = command(*words)
    assert (outcome.code, outcome.out) == (code, ""), outcome.err
    assert outcome.err.startswith("error: ")
    assert outcome.err.count("\n") == 1
    assert all(part in outcome.err for part in parts), outcome.err
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "words",
    [
        ["prompts", "jobs_lum", "--repeat", "x"],
        ["prompts", "jobs_lum", "--seed", "x"],
        ["prompts", "jobs_lum", "--nothing"],
        ["unheard-of"],
    ],
)
def test_words_that_the_command_does_not_know(words: list[str], command: Command) -> None:
    outcome = command(*words)
    assert (outcome.code, outcome.out) == (2, "")
    assert "Usage" in without_colours(outcome.err)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b'{"id": "a", "answer": "x"}\nno json\n', "line 2: not JSON"),
        (b'{"id": "a", "answer": "x"}\n[1]\n', "line 2: a JSON object is needed"),
        (b'{"answer": "x"}\n', "line 1: no field id or prompt"),
        (b'{"id": "a"}\n', "line 1: no field answer"),
        (b'{"id": "a", "answer": "\xe9"}\n', "line 1: not UTF-8 at byte 23 of the file"),
        (b'{"id": "a", "answer": "x", "repetition": "y"}\n', "line 1: repetition must be a whole number"),
    ],
)
def test_a_bad_file_is_reported_with_its_line(content: bytes, message: str, command: Command, tmp_path: Path) -> None:
    file = tmp_path / "answers.jsonl"
    file.write_bytes(content)
    outcome = command("score", file, "--probe", "jobs_lum", "--json")
    assert (outcome.code, outcome.out) == (2, "")
    assert outcome.err.startswith(f"error: {file}, {message}")


@pytest.mark.skipif(os.name == "nt" or os.geteuid() == 0, reason="Permissions do not stop this user.")
def test_a_folder_that_cannot_be_written(command: Command, tmp_path: Path) -> None:
    (tmp_path / "locked").mkdir(mode=0o500)
    outcome = command("prompts", "jobs_lum", "-o", tmp_path / "locked" / "out.jsonl")
    assert (outcome.code, outcome.out) == (5, "")


def test_an_old_file_survives_a_plan_that_fails_half_way(
    command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise InputError("Two prompts have the same id.")

    monkeypatch.setattr(plans, "_refuse_equal_ids", refuse)
    old = tmp_path / "prompts.jsonl"
    old.write_text("old", encoding="utf-8")
    assert command("prompts", "jobs_lum", "-o", old).code == 2
    assert old.read_text(encoding="utf-8") == "old"
    assert list(tmp_path.iterdir()) == [old]


@pytest.mark.parametrize(
    ("probe", "asset", "alternative"),
    [("gest_creative", "gest", "mottos"), ("discrimination_tamkin", "discrim-eval", "scenarios")],
)
@pytest.mark.parametrize("name", ["prompts", "score"])
def test_a_corpus_that_cannot_be_fetched(
    name: str,
    probe: str,
    asset: str,
    alternative: str,
    command: Command,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("no_proxy", "*")
    monkeypatch.setitem(REGISTRY, asset, replace(REGISTRY[asset], sources=(CLOSED + asset,)))
    (tmp_path / "answers.jsonl").write_text("", encoding="utf-8")
    outcome = (
        command("prompts", probe)
        if name == "prompts"
        else command("score", tmp_path / "answers.jsonl", "--probe", probe)
    )
    assert (outcome.code, outcome.out) == (6, "")
    assert f"equipoise data fetch {asset}" in outcome.err
    assert f"--set {probe}.corpus={alternative}" in outcome.err
