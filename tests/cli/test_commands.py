"""`equipoise probes`, help, and mistakes in the words of a command: what is said, and with which code it ends."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from calling import Command, output
from equipoise.assets import REGISTRY
from equipoise.probes import find_probes

PROBES = find_probes()
# Nothing listens on this port of this machine.
CLOSED = "http://127.0.0.1:9/"


def test_probes_are_listed(command: Command) -> None:
    lines = output(command("probes")).splitlines()
    assert [line.split()[0] for line in lines] == ["probe", *PROBES]
    described = json.loads(output(command("probes", "--json")))["probes"]
    assert [probe["name"] for probe in described] == list(PROBES)
    for probe in described:
        assert {metric.name for metric in PROBES[probe["name"]].all_metrics()} == set(probe["metrics"])


def test_a_probe_shows_its_card(command: Command) -> None:
    probe = "jobs_lum"
    shown = output(command("probes", probe))
    assert shown.startswith(PROBES[probe].card.text.rstrip())
    assert "`seed` = 0" in shown
    assert f"The longest answer: {PROBES[probe].max_tokens} tokens" in shown
    (described,) = json.loads(output(command("probes", probe, "--json")))["probes"]
    assert (described["name"], described["max_tokens"]) == (probe, PROBES[probe].max_tokens)


@pytest.mark.parametrize(
    ("words", "code", "parts"),
    [
        (["prompts", "job_lum"], 2, ["No probe is called 'job_lum'", "Did you mean 'jobs_lum'?", "equipoise probes"]),
        (["probes", "xyz"], 2, ["No probe is called 'xyz'", *PROBES]),
        (["prompts", "hiring_an", "--sample", "5424001"], 2, ["between 1 and 5,424,000"]),
        (["prompts", "jobs_lum", "--sample", "x"], 2, ["The 'sample' parameter must be JSON", "Got 'x' instead"]),
        (["prompts", "jobs_lum", "--seed", "-1"], 2, ["seed", "0 or more", "Got -1 instead"]),
        (["prompts", "jobs_lum", "--set", "templat=x"], 2, ["No parameter", "'templat'", "Did you mean 'template'"]),
        (["prompts", "jobs_lum", "--set", "template"], 2, ["--set needs NAME=VALUE. Got 'template' instead"]),
        (["prompts", "gest_creative", "--set", "corpus=gest2"], 2, ["'gest', 'mottos'"]),
        (["prompts", "gest_creative", "--set", "exclude=[15"], 2, ["exclude", "JSON"]),
        (["prompts", "gest_creative", "--set", "exclude=@none.json"], 2, ["in a file that cannot be read: none.json"]),
        (["prompts", "jobs_lum", "--set", "template=Write about {job"], 2, ["cannot be read"]),
        (["prompts", "jobs_lum", "--format", "xml"], 2, ["No format is called 'xml'", "anthropic-batch, csv"]),
        (["prompts", "jobs_lum", "--sample", "7", "--shards", "8", "-o", "x"], 2, ["--shards must be between 1 and 7"]),
        (["score", "\x1b[31mred\x1b]0;x\x07", "--probe", "jobs_lum"], 2, [r"no file \x1b[31mred\x1b]0;x\x07"]),
        (["prompts", "jobs_lum", "-o", "nowhere/prompts.jsonl"], 5, ["nowhere/prompts.jsonl cannot be written"]),
    ],
)
def test_a_mistake_is_reported_in_one_message(
    words: list[str], code: int, parts: list[str], command: Command, tmp_path: Path
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


def test_words_that_the_command_does_not_know(command: Command) -> None:
    for words in (["prompts", "jobs_lum", "--repeat", "x"], ["prompts", "jobs_lum", "--nothing"], ["unheard-of"]):
        outcome = command(*words)
        assert (outcome.code, outcome.out, "Usage" in outcome.err) == (2, "", True)


def test_a_corpus_that_cannot_be_fetched(command: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("no_proxy", "*")
    monkeypatch.setitem(REGISTRY, "gest", replace(REGISTRY["gest"], sources=(CLOSED + "gest",)))
    outcome = command("prompts", "gest_creative")
    assert (outcome.code, outcome.out) == (6, "")
    assert "equipoise data fetch gest" in outcome.err
    assert "--set gest_creative.corpus=mottos" in outcome.err
