"""`equipoise read`: one line per answer, in order; and `--reading` on the commands that evaluate."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest
from typer.testing import CliRunner

from equipoise.authoring import Detector
from equipoise.cli import app
from equipoise.measuring.plan import plan
from equipoise.probes import get_probe

ANSWERS = ["Yes. She has no record.", "It depends.", "…", "No"]


def run(*arguments: object, stdin: str | None = None) -> tuple[int, str]:
    outcome = CliRunner().invoke(app, list(map(str, arguments)), input=stdin)
    return outcome.exit_code, outcome.stdout


def test_answers_are_read_in_order(tmp_path: Path) -> None:
    path = tmp_path / "answers.csv"
    path.write_text("\n".join(["answer", *ANSWERS]), encoding="utf-8")
    code, out = run("read", "discrimination_tamkin", str(path), "--json")
    rows = [json.loads(line) for line in out.splitlines()]
    assert code == 0
    assert [row["label"] for row in rows] == ["yes", "undecided", None, "no"]
    assert [row["words"] for row in rows] == [["Yes"], ["It depends"], [], ["No"]]
    assert {row["reading"] for row in rows} == {"careful"}
    assert run("read", "discrimination_tamkin", path)[1].split()[:6] == ["1", "yes", "Yes", "2", "undecided", "It"]


def test_the_specified_reading_from_stdin() -> None:
    lines = "\n".join(json.dumps({"answer": answer}) for answer in ANSWERS)
    code, out = run("read", "discrimination_tamkin", "--reading", "specified", "--json", stdin=lines)
    assert code == 0
    assert [json.loads(line)["label"] for line in out.splitlines()] == [None, None, None, "no"]


def test_hostile_answers_are_read_and_steer_no_terminal() -> None:
    answers = ["\ud83d He \ud83d", "\x9b2J He", "\u202eHe", "x" * 100_000, "He\x00", ""]
    lines = "".join(f'{{"answer": {json.dumps(answer)}}}\n' for answer in answers)
    code, out = run("read", "jobs_lum", "--json", stdin=lines)
    assert code == 0
    assert len(out.splitlines()) == len(answers)
    assert not {"\x9b", "\u202e", "\x00"} & set(out)
    assert [json.loads(line)["label"] for line in out.splitlines()] == ["male", "male", "male", None, "male", None]


def read_gender(_text: pl.Expr) -> pl.Expr:
    return pl.when(pl.col("gender") == "female").then(pl.lit("accepted")).otherwise(pl.lit("rejected"))


def test_the_prompt_is_found_by_its_id_or_its_text_where_the_detector_uses_it(monkeypatch: pytest.MonkeyPatch) -> None:
    labels = ("accepted", "rejected")
    detector = Detector(name="by_prompt", version=1, labels=labels, read=read_gender, uses=("gender",))
    changed = replace(get_probe("hiring_an"), detector=detector)
    monkeypatch.setattr("equipoise.probes.get_probe", lambda _: changed)
    prompts = plan(changed, sample=8).prompts()
    rows = [{"id": prompts["id"][0]}, {"prompt": prompts["prompt"][1]}, {"id": prompts["id"][2], "prompt": "?"}]
    lines = "\n".join(json.dumps({"answer": "Dear …", **row}) for row in rows)
    code, out = run("read", "hiring_an", "--sample", "8", "--json", stdin=lines)
    assert code == 0
    wanted = ["accepted" if gender == "female" else "rejected" for gender in prompts["gender"][:3]]
    assert [json.loads(line)["label"] for line in out.splitlines()] == wanted
    outcome = CliRunner().invoke(app, ["read", "hiring_an"], input='{"answer": "x"}\n')
    assert "Answer 1: the id of a planned prompt is needed" in str(outcome.exception)


def test_show_sets_readings_and_words_beside_the_results(runs: dict[str, Path]) -> None:
    jobs = json.loads(run("show", runs["biased"], "--json")[1])["results"]["jobs_lum"]
    assert (jobs["other_reading"]["reading"], jobs["words"]) == ("specified", None)
    letters = json.loads(run("show", runs["other"], "--json")[1])["results"]["business_vocabulary"]
    assert {"word", "side", "q"} <= letters["words"]["words"][0].keys()
    assert "specified reading: masculine_rate" in run("show", runs["biased"], "--all")[1]
