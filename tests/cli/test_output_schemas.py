"""Everything that `--json` prints names its schema and fits it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from output_shapes import SHAPES, output_schema

from answering import answer_all
from calling import Command, all_commands, root
from cli.conftest import check_output

ANSWERS = ("answers.jsonl", "--probe", "jobs_lum", "--sample", "6")
ASKED = ("--probe", "jobs_lum", "--sample", "12", "--repeat", "1", "--quiet")
WALK = (
    ("run/1", ("run", "simulated/stereotyping", *ASKED, "-o", "a.equipoise")),
    ("run/1", ("resume", "a.equipoise")),
    ("run/1", ("extend", "a.equipoise", "--repeat", "2")),
    ("run/1", ("show", "other")),
    ("run/1", ("import", *ANSWERS, "-o", "c.equipoise")),
    ("score/1", ("score", *ANSWERS)),
    ("read/1", ("read", "jobs_lum", "answers.jsonl")),
    ("compare/1", ("compare", "fair", "biased")),
    ("gate/1", ("gate", "fair", "biased", "--fail-on", "C")),
    (
        "estimate/1",
        (
            "estimate",
            "custom/m",
            "--probe",
            "jobs_lum",
            "--precision",
            "0.1",
            "--pilot",
            "fair",
            "--price",
            "1,2",
        ),
    ),
    ("verify/1", ("verify", "a.equipoise", "c.equipoise")),
    ("probes/1", ("probes",)),
    ("probes/1", ("probes", "jobs_lum")),
    ("data-list/1", ("data", "list")),
)


def test_what_every_command_prints_fits_its_schema(command: Command, runs: dict[str, Path]) -> None:
    rows = [{"id": key, "answer": "He." if place % 3 else "…"} for place, key in enumerate(answer_all(sample=6))]
    Path("answers.jsonl").write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    for kind, words in WALK:
        outcome = command(*(runs.get(word, word) for word in words), "--json")
        assert outcome.code in (0, 7), outcome.err
        printed = outcome.out.splitlines() if words[0] == "read" else [outcome.out]
        assert {check_output(json.loads(one)) for one in printed} == {kind}, words


def test_every_command_and_every_schema_is_checked() -> None:
    walked = {words[: 2 if words[0] == "data" else 1] for _, words in WALK}
    assert walked == {
        words for words, one in all_commands(root()) if any("--json" in option.opts for option in one.params)
    }
    assert {kind for kind, _ in WALK} == set(SHAPES)


CHANGES: dict[str, dict[str, Any]] = {
    "version": {"schema": "equipoise/verify/2"},
    "type": {"files": None},
    "lacking": {"files": [{"file": "a"}]},
    "unknown": {"more": 1},
}


@pytest.mark.parametrize("name", CHANGES)
def test_what_does_not_fit_a_schema_is_noticed(name: str) -> None:
    printed = {"schema": "equipoise/verify/1", "files": []}
    assert check_output(printed) == "verify/1"
    with pytest.raises((AssertionError, KeyError)):
        check_output(printed | CHANGES[name])


def test_a_new_field_fits_the_published_schema() -> None:
    """Readers of JSON live with fields that are added: only the tests are stricter."""
    printed = {"schema": "equipoise/verify/1", "files": [], "more": 1}
    jsonschema.validate(printed, output_schema("verify/1"))
