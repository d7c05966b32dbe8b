"""Everything that `--json` prints names its schema and fits it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, get_args

import jsonschema
import pytest
from output_shapes import SHAPES, output_schema

from calling import Command, all_commands, output, root
from equipoise.cli.output import Kind
from fitting import check_output

PROBES = ("--probe", "hiring_an", "--probe", "business_vocabulary", "--suite", "quick", "--quiet")
ANSWERS = ("answers.jsonl", "--probe", "jobs_lum", "--sample", "6")
WALK = (
    ("run/1", 0, ("run", "simulated/stereotyping", *PROBES, "-o", "a.equipoise")),
    ("run/1", 0, ("run", "simulated/unbiased", *PROBES, "-o", "b.equipoise")),
    ("run/1", 0, ("resume", "a.equipoise")),
    ("run/1", 0, ("show", "a.equipoise")),
    ("run/1", 0, ("import", *ANSWERS, "-o", "c.equipoise")),
    ("score/1", 0, ("score", *ANSWERS)),
    ("read/1", 0, ("read", "jobs_lum", "answers.jsonl")),
    ("compare/1", 0, ("compare", "b.equipoise", "a.equipoise")),
    ("gate/1", 0, ("gate", "a.equipoise", "b.equipoise", "--fail-on", "C", "--undecided", "pass")),
    ("estimate/1", 0, ("estimate", "openai/gpt-4o-mini", "--suite", "quick", "--precision", "0.1", "--price", "1,2")),
    ("verify/1", 0, ("verify", "a.equipoise", "b.equipoise")),
    ("run/1", 0, ("extend", "a.equipoise", "--repeat", "2")),
    ("probes/1", 0, ("probes",)),
    ("probes/1", 0, ("probes", "jobs_lum")),
    ("data-list/1", 0, ("data", "list")),
    ("data-verify/1", 0, ("data", "verify", "gest")),
)


def test_what_every_command_prints_fits_its_schema(command: Command, tmp_path: Path) -> None:
    prompts = map(json.loads, output(command("prompts", "jobs_lum", "--sample", "6")).splitlines())
    rows = [{"prompt": row["prompt"], "answer": "He." if place % 3 else "…"} for place, row in enumerate(prompts)]
    (tmp_path / "answers.jsonl").write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    for kind, code, words in WALK:
        outcome = command(*words, "--json")
        assert outcome.code == code, outcome.err
        printed = outcome.out.splitlines() if words[0] == "read" else [outcome.out]
        assert {check_output(json.loads(one)) for one in printed} == {kind}, words


def test_every_command_and_every_schema_is_checked() -> None:
    walked = {words[: 2 if words[0] == "data" else 1] for _, _, words in WALK}
    assert walked == {
        words for words, one in all_commands(root()) if any("--json" in option.opts for option in one.params)
    }
    assert {kind for kind, _, _ in WALK} == set(SHAPES) == set(get_args(Kind))


@pytest.mark.parametrize(
    "change",
    [{"schema": "equipoise/verify/2"}, {"files": None}, {"files": [{"file": "a"}]}, {"more": 1}],
    ids=["version", "type", "lacking", "unknown"],
)
def test_what_does_not_fit_is_noticed(change: dict[str, Any]) -> None:
    printed = {"schema": "equipoise/verify/1", "files": []}
    assert check_output(printed) == "verify/1"
    with pytest.raises((AssertionError, KeyError)):
        check_output(printed | change)


def test_a_new_field_fits_the_published_schema() -> None:
    printed = {"schema": "equipoise/verify/1", "files": [], "more": 1}
    jsonschema.validate(printed, output_schema("verify/1"))
