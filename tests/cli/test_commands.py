"""`equipoise probes`, help, and mistakes in the words of a command: what is said, and with which code it ends."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from calling import Command, output
from equipoise.assets import REGISTRY
from equipoise.errors import InputError
from equipoise.measuring.plan import Plan
from equipoise.probes import find_probes

PROBES = find_probes()
# Nothing listens on this port of this machine.
CLOSED = "http://127.0.0.1:9/"
MAY_WRITE_ANYWHERE = os.name == "nt" or os.geteuid() == 0


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


@pytest.mark.parametrize(
    ("words", "code", "parts"),
    [
        (
            ["prompts", "job_lum"],
            2,
            ["No probe is called 'job_lum'", "Did you mean 'jobs_lum'?", "equipoise probes"],
        ),
        (["probes", "xyz"], 2, ["No probe is called 'xyz'", *PROBES]),
        (["score", "x.jsonl", "--probe", "lum_jobs"], 2, ["No probe is called 'lum_jobs'"]),
        (["prompts", "jobs_lum", "--sample", "0"], 2, ["between 1 and 339", "Got 0 instead"]),
        (["prompts", "jobs_lum", "--sample", "-3"], 2, ["between 1 and 339", "Got -3 instead"]),
        (
            ["prompts", "jobs_lum", "--sample", "999999999"],
            2,
            ["between 1 and 339", "Got 999999999 instead"],
        ),
        (["prompts", "hiring_an", "--sample", "5424001"], 2, ["between 1 and 5,424,000"]),
        (["prompts", "jobs_lum", "--sample", "1.5"], 2, ["must be a whole number or all. Got 1.5"]),
        (
            ["prompts", "jobs_lum", "--repeat", "0"],
            2,
            ["repeat", "between 1 and 1,000,000", "Got 0 instead"],
        ),
        (
            ["prompts", "jobs_lum", "--sample", "x"],
            2,
            ["The 'sample' parameter must be JSON", "Got 'x' instead"],
        ),
        (["prompts", "jobs_lum", "--seed", "-1"], 2, ["seed", "0 or more", "Got -1 instead"]),
        (
            ["prompts", "jobs_lum", "--set", "templat=x"],
            2,
            ["No parameter", "'templat'", "Did you mean 'template'"],
        ),
        (
            ["prompts", "jobs_lum", "--set", "template"],
            2,
            ["--set needs NAME=VALUE. Got 'template' instead"],
        ),
        (
            ["prompts", "hiring_an", "--set", "design=paired"],
            2,
            ["'matched', 'random'", "Got 'paired' instead"],
        ),
        (["prompts", "gest_creative", "--set", "corpus=gest2"], 2, ["'gest', 'mottos'"]),
        (["prompts", "gest_creative", "--set", "exclude=15"], 2, ["exclude", "must be a list"]),
        (["prompts", "gest_creative", "--set", "exclude=[[15]]"], 2, ["exclude", "from 1 to 16"]),
        (
            ["prompts", "business_vocabulary", "--set", 'templates=[{"male": 1, "female": ""}]'],
            2,
            ["template"],
        ),
        (["prompts", "gest_creative", "--set", "exclude=[15"], 2, ["exclude", "JSON"]),
        (
            ["prompts", "gest_creative", "--set", "exclude=@none.json"],
            2,
            ["in a file that cannot be read: none.json"],
        ),
        (["prompts", "jobs_lum", "--set", "template=Write about {job"], 2, ["cannot be read"]),
        (
            ["prompts", "jobs_lum", "--set", "template=Write about {work}."],
            2,
            ["{work}", "The slots there are: {job}"],
        ),
        (
            ["prompts", "jobs_lum", "--set", "template=Write about a job."],
            2,
            ["lacks the slot {job}"],
        ),
        (
            ["prompts", "jobs_lum", "--set", "template=Write about {job.__class__}."],
            2,
            ["{job.__class__}", "not a plain name"],
        ),
        (["prompts", "jobs_lum", "--set", "template=Write about {0}."], 2, ["{0}", "plain name"]),
        (["score", "missing.jsonl", "--probe", "jobs_lum"], 2, ["There is no file missing.jsonl"]),
        (["score", ".", "--probe", "jobs_lum"], 2, ["holds no answers", ".parquet"]),
        (["score", "x.jsonl"], 2, ["One probe is needed", "equipoise probes"]),
        (
            ["prompts", "jobs_lum", "--format", "xml"],
            2,
            ["No format is called 'xml'", "anthropic-batch, csv"],
        ),
        (
            ["prompts", "jobs_lum", "--sample", "7", "--shards", "8", "-o", "x"],
            2,
            ["--shards must be between 1 and 7"],
        ),
        (
            ["score", "\x1b[31mred\x1b]0;x\x07", "--probe", "jobs_lum"],
            2,
            [r"no file \x1b[31mred\x1b]0;x\x07"],
        ),
        (
            ["prompts", "jobs_lum", "-o", "nowhere/prompts.jsonl"],
            5,
            ["nowhere/prompts.jsonl cannot be written"],
        ),
    ],
)
def test_a_mistake_is_reported_in_one_message(
    words: list[str],
    code: int,
    parts: list[str],
    command: Command,
    tmp_path: Path,
) -> None:
    if words[0] == "prompts" and "-o" not in words:
        words = [*words, "-o", "out.jsonl"]
    outcome = command(*words)
    assert (outcome.code, outcome.out) == (code, ""), outcome.err
    assert outcome.err.startswith("error: ")
    assert outcome.err.count("\n") == 1
    assert all(part in outcome.err for part in parts), outcome.err
    assert list(tmp_path.iterdir()) == []


def test_a_parameter_may_stand_in_a_file(command: Command, tmp_path: Path) -> None:
    (tmp_path / "sample.json").write_text("7")
    assert output(command("prompts", "jobs_lum", "--set", "sample=@sample.json")).count("\n") == 7


@pytest.mark.parametrize(
    "words",
    [
        ["prompts", "jobs_lum", "--repeat", "x"],
        ["prompts", "jobs_lum", "--seed", "x"],
        ["prompts", "jobs_lum", "--nothing"],
        ["unheard-of"],
    ],
    ids=" ".join,
)
def test_words_that_the_command_does_not_know_show_its_usage(
    words: list[str],
    command: Command,
) -> None:
    outcome = command(*words)
    assert (outcome.code, outcome.out) == (2, "")
    assert "Usage" in outcome.err


BAD_LINES = [
    (b'{"id": "a", "answer": "x"}\nno json\n', "line 2: not JSON"),
    (b'{"id": "a", "answer": "x"}\n[1]\n', "line 2: a JSON object is needed"),
    (b'{"id": "a"}\n', "line 1: no field answer"),
    (b'{"id": "a", "answer": "\xe9"}\n', "line 1: not UTF-8 at byte 23 of the file"),
    (
        b'{"id": "a", "answer": "x", "repetition": "y"}\n',
        "line 1: Expected `int | null`, got `str` - at `$.repetition`",
    ),
]


@pytest.mark.parametrize(("content", "message"), BAD_LINES)
def test_a_bad_file_is_reported_with_its_line(
    content: bytes,
    message: str,
    command: Command,
) -> None:
    file = Path("answers.jsonl")
    file.write_bytes(content)
    outcome = command("score", file, "--probe", "jobs_lum", "--json")
    assert (outcome.code, outcome.out) == (2, "")
    assert outcome.err.startswith(f"error: {file}, {message}"), outcome.err


def test_answers_that_name_no_prompt_are_refused(command: Command) -> None:
    Path("answers.jsonl").write_text('{"answer": "x"}\n')
    outcome = command("score", "answers.jsonl", "--probe", "jobs_lum")
    assert (outcome.code, outcome.out) == (2, "")
    assert "Each needs the id or the text of its prompt" in outcome.err


@pytest.mark.skipif(MAY_WRITE_ANYWHERE, reason="Permissions do not stop this user.")
def test_a_folder_that_cannot_be_written_is_refused(command: Command, tmp_path: Path) -> None:
    (tmp_path / "locked").mkdir(mode=0o500)
    outcome = command("prompts", "jobs_lum", "-o", tmp_path / "locked" / "out.jsonl")
    assert (outcome.code, outcome.out) == (5, "")


def test_an_old_file_survives_a_plan_that_fails_half_way(
    command: Command,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    prompts_of = Plan.batches

    def fail_after_the_first(plan: Plan, *options: Any) -> Iterator[pl.DataFrame]:
        yield next(prompts_of(plan, *options))
        raise InputError("Two prompts have the same id.")

    monkeypatch.setattr(Plan, "batches", fail_after_the_first)
    old = tmp_path / "prompts.jsonl"
    old.write_text("old", encoding="utf-8")
    outcome = command("prompts", "jobs_lum", "-o", old)
    assert outcome.code == 2
    assert "Two prompts have the same id." in outcome.err
    assert old.read_text(encoding="utf-8") == "old"
    assert list(tmp_path.iterdir()) == [old]


CORPORA = [
    ("gest_creative", "gest", "mottos"),
    ("discrimination_tamkin", "discrim-eval", "scenarios"),
]


@pytest.mark.parametrize(("probe", "asset", "alternative"), CORPORA)
@pytest.mark.parametrize("name", ["prompts", "score"])
def test_a_corpus_that_cannot_be_fetched_has_an_alternative(
    name: str,
    probe: str,
    asset: str,
    alternative: str,
    command: Command,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("no_proxy", "*")
    unreachable = replace(REGISTRY[asset], sources=(CLOSED + asset,))
    monkeypatch.setitem(REGISTRY, asset, unreachable)
    Path("answers.jsonl").write_text('{"id": "x", "answer": "y"}\n', encoding="utf-8")
    words = ["score", "answers.jsonl", "--probe", probe] if name == "score" else ["prompts", probe]
    outcome = command(*words)
    assert (outcome.code, outcome.out) == (6, "")
    assert f"equipoise data fetch {asset}" in outcome.err
    assert f"--set {probe}.corpus={alternative}" in outcome.err
