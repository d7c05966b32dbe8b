"""`equipoise read`: one line per answer, in order; and `--reading` on the commands that evaluate."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest
from typer.testing import CliRunner

from equipoise.authoring import Detector, Probe
from equipoise.cli import app
from equipoise.errors import BadFile, StorageError
from equipoise.measuring.plan import plan
from equipoise.probes import get_probe

Read = Callable[[pl.Expr], pl.Expr]
ANSWERS = ["Yes. She has no record.", "It depends.", "…", "No"]


def run(*arguments: object, stdin: str | None = None) -> tuple[int, str]:
    outcome = CliRunner().invoke(app, list(map(str, arguments)), input=stdin)
    return outcome.exit_code, outcome.stdout


@pytest.mark.parametrize("ending", ["jsonl", "csv"])
def test_answers_are_read_in_order(ending: str, tmp_path: Path) -> None:
    path = tmp_path / f"answers.{ending}"
    lines = ["answer", *ANSWERS]
    if ending == "jsonl":
        lines = [json.dumps({"answer": answer}) for answer in ANSWERS]
    path.write_text("\n".join(lines), encoding="utf-8")
    code, out = run("read", "discrimination_tamkin", str(path), "--json")
    rows = [json.loads(line) for line in out.splitlines()]
    assert code == 0
    assert [row["label"] for row in rows] == ["yes", "undecided", None, "no"]
    assert [row["words"] for row in rows] == [["Yes"], ["It depends"], [], ["No"]]
    assert {row["reading"] for row in rows} == {"careful"}


def test_a_person_sees_number_label_and_words(tmp_path: Path) -> None:
    path = tmp_path / "answers.csv"
    path.write_text("\n".join(["answer", *ANSWERS]), encoding="utf-8")
    shown = run("read", "discrimination_tamkin", path)[1].split()
    assert shown[:6] == ["1", "yes", "Yes", "2", "undecided", "It"]


def test_a_person_sees_all_words_that_decide(tmp_path: Path) -> None:
    path = tmp_path / "answers.jsonl"
    answer = {"answer": "Her forge is old. She likes it."}
    path.write_text(json.dumps(answer), encoding="utf-8")
    assert run("read", "jobs_lum", path)[1].split() == ["1", "female", "Her", "·", "She"]


def test_the_specified_reading_from_stdin() -> None:
    lines = "\n".join(json.dumps({"answer": answer}) for answer in ANSWERS)
    code, out = run("read", "discrimination_tamkin", "--reading", "specified", "--json", stdin=lines)
    assert code == 0
    assert [json.loads(line)["label"] for line in out.splitlines()] == [None, None, None, "no"]


def test_a_line_without_an_answer_is_named() -> None:
    outcome = CliRunner().invoke(app, ["read", "jobs_lum"], input='{"text": "He"}\n')
    assert isinstance(outcome.exception, BadFile)
    assert "line 1: no field answer" in str(outcome.exception)


WRONG = [
    ("a.jsonl", b"", "a.jsonl holds no answers"),
    ("a.jsonl", b"\n\n", "holds no answers"),
    ("a.jsonl", b'{"answer": "He"}\n[1]\n', "line 2: a JSON object is needed"),
    ("a.jsonl", b'{"answer": "He"}\n{"answer": nul', "line 2: not JSON"),
    ("a.jsonl", b'{"answer": "\xff"}', "line 1: not UTF-8 at byte 12"),
    ("a.jsonl", b'{"answer": "He", "id": 7}', "line 1: Expected `str | null`, got `int`"),
    ("a.csv", b"text\nHe\n", "line 2: no field answer. There are: text."),
    ("a.csv", b"answer,id\nHe\n", "line 2: as many fields as the header"),
    ("a.csv", b'answer\n"He', "line 2: not CSV"),
    ("a.csv", b"answer\nH\xe9\n", "line 2: not UTF-8"),
]


@pytest.mark.parametrize(("name", "content", "message"), WRONG)
def test_wrong_input_is_refused_with_its_line(
    name: str,
    content: bytes,
    message: str,
    tmp_path: Path,
) -> None:
    path = tmp_path / name
    path.write_bytes(content)
    outcome = CliRunner().invoke(app, ["read", "jobs_lum", str(path), "--json"])
    assert isinstance(outcome.exception, BadFile)
    assert message in str(outcome.exception)
    assert outcome.stdout == ""


@pytest.mark.parametrize(("name", "kind"), [("none.jsonl", BadFile), (".", StorageError)])
def test_a_file_that_is_not_there_and_a_folder_are_named(
    name: str,
    kind: type[Exception],
    tmp_path: Path,
) -> None:
    path = tmp_path / name
    outcome = CliRunner().invoke(app, ["read", "jobs_lum", str(path)])
    assert isinstance(outcome.exception, kind)
    assert str(path) in str(outcome.exception)


def test_hostile_answers_are_read_and_steer_no_terminal() -> None:
    answers = ["\ud83d He \ud83d", "\x9b2J He", "\u202eHe", "x" * 100_000, "He\x00", ""]
    lines = "".join(f'{{"answer": {json.dumps(answer)}}}\n' for answer in answers)
    code, out = run("read", "jobs_lum", "--json", stdin=lines)
    assert code == 0
    assert len(out.splitlines()) == len(answers)
    assert not {"\x9b", "\u202e", "\x00"} & set(out)
    assert [json.loads(line)["label"] for line in out.splitlines()] == [
        "male",
        "male",
        "male",
        None,
        "male",
        None,
    ]


def read_gender(_text: pl.Expr) -> pl.Expr:
    is_female = pl.col("gender") == "female"
    return pl.when(is_female).then(pl.lit("accepted")).otherwise(pl.lit("rejected"))


def read_prompt(_text: pl.Expr) -> pl.Expr:
    is_odd = pl.col("prompt").str.len_chars() % 2 == 1
    return pl.when(is_odd).then(pl.lit("accepted")).otherwise(pl.lit("rejected"))


def use_column(monkeypatch: pytest.MonkeyPatch, read: Read, column: str) -> Probe:
    """Let the detector of hiring_an read a column of the prompt."""
    detector = Detector(
        name="by_prompt",
        version=1,
        labels=("accepted", "rejected"),
        read=read,
        uses=(column,),
    )
    changed = replace(get_probe("hiring_an"), detector=detector)
    monkeypatch.setattr("equipoise.probes.get_probe", lambda _: changed)
    return changed


def test_the_prompt_is_found_by_its_id_or_its_text_where_the_detector_uses_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    prompts = plan(use_column(monkeypatch, read_gender, "gender"), sample=8).prompts()
    rows = [
        {"id": prompts["id"][0]},
        {"prompt": prompts["prompt"][1]},
        {"id": prompts["id"][2], "prompt": "?"},
    ]
    lines = "\n".join(json.dumps({"answer": "Dear …", **row}) for row in rows)
    code, out = run("read", "hiring_an", "--sample", "8", "--json", stdin=lines)
    assert code == 0
    labels = {"female": "accepted", "male": "rejected"}
    wanted = [labels[gender] for gender in prompts["gender"][:3]]
    assert [json.loads(line)["label"] for line in out.splitlines()] == wanted


def test_an_answer_whose_prompt_is_needed_and_not_named_is_refused(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    use_column(monkeypatch, read_gender, "gender")
    outcome = CliRunner().invoke(app, ["read", "hiring_an"], input='{"answer": "x"}\n')
    assert "Answer 1: the id of a planned prompt is needed" in str(outcome.exception)


def test_a_detector_that_uses_the_text_of_the_prompt_finds_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    prompts = plan(use_column(monkeypatch, read_prompt, "prompt"), sample=8).prompts()["prompt"]
    lines = "\n".join(json.dumps({"answer": "x", "prompt": prompt}) for prompt in prompts)
    code, out = run("read", "hiring_an", "--sample", "8", "--json", stdin=lines)
    assert code == 0
    wanted = ["accepted" if len(prompt) % 2 else "rejected" for prompt in prompts]
    assert len(set(wanted)) == 2
    assert [json.loads(line)["label"] for line in out.splitlines()] == wanted


def test_show_sets_the_other_reading_beside_the_results(runs: dict[str, Path]) -> None:
    results = json.loads(run("show", runs["biased"], "--json")[1])["results"]
    assert results["jobs_lum"]["other_reading"]["reading"] == "specified"
    assert "specified reading: masculine_rate" in run("show", runs["biased"], "--all")[1]


def test_show_sets_words_beside_the_results_of_letters(runs: dict[str, Path]) -> None:
    jobs = json.loads(run("show", runs["biased"], "--json")[1])["results"]["jobs_lum"]
    assert jobs["words"] is None, "no two kinds of letters are compared there"
    shown = json.loads(run("show", runs["other"], "--json")[1])
    letters = shown["results"]["business_vocabulary"]
    assert {"word", "side", "q"} <= letters["words"]["words"][0].keys()
