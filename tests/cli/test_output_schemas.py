"""Everything that `--json` prints names its schema and fits it."""

from __future__ import annotations

import json
from pathlib import Path

from output_shapes import SHAPES

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
        ("estimate", "custom/m", "--probe", "jobs_lum", "--precision", "0.1", "--pilot", "fair", "--price", "1,2"),
    ),
    ("verify/1", ("verify", "a.equipoise", "c.equipoise")),
    ("probes/1", ("probes",)),
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
