"""Answers in lines of JSON and in tables, and what can be read of them in the end."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import equipoise
from equipoise.answers import files
from equipoise.answers.files import SCHEMA, read_tables
from equipoise.errors import BadFile, IntegrityError, UnknownName
from equipoise.schema import ANSWER, ID, STATUS

Row = dict[str, Any]


# Files


def write_answers(folder: Path, content: str | bytes, name: str = "answers.jsonl") -> Path:
    path = folder / name
    path.write_bytes(content.encode("utf-8", "surrogatepass") if isinstance(content, str) else content)
    return path


def read(path: Path, **names: str) -> list[tuple[Any, ...]]:
    """id, prompt, repetition, status and answer of each row."""
    return pl.concat(read_tables(path, names)).select(*SCHEMA).rows()


def chat(content: Any = "She.", finish: Any = "stop") -> Row:
    """A chat completion."""
    message = {"role": "assistant", "content": content}
    return {"choices": [{"index": 0, "message": message, "finish_reason": finish}]}


def batch_line(body: Row, custom_id: str = "a", code: int = 200, error: Row | None = None) -> str:
    """A line of the output of a batch job."""
    response = {"status_code": code, "body": body}
    return json.dumps({"custom_id": custom_id, "response": response, "error": error})


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ('{"id": "a", "answer": "She."}', ("a", None, "ok", "She.")),
        ('{"id": "a", "answer": "She.", "repetition": 2, "model": "x"}', ("a", 2, "ok", "She.")),
        ('{"id": "a", "answer": "She.", "repetition": "2"}', ("a", 2, "ok", "She.")),
        ('{"id": "a", "answer": "She.", "repetition": 2.0}', ("a", 2, "ok", "She.")),
        ('{"id": "a", "answer": "She.", "repetition": null}', ("a", None, "ok", "She.")),
        ('{"id": "a", "answer": null}', ("a", None, "empty", None)),
        ('{"id": "a", "answer": ""}', ("a", None, "empty", "")),
        ('{"id": "a", "answer": " \\n"}', ("a", None, "empty", " \n")),
        ('{"id": "a", "answer": null, "status": "ok"}', ("a", None, "empty", None)),
        ('{"id": "a", "answer": "She", "status": "truncated"}', ("a", None, "truncated", "She")),
        ('{"id": "a", "answer": null, "status": "timeout"}', ("a", None, "timeout", None)),
        ('{"id": "a", "answer": "\\u0000"}', ("a", None, "ok", "\x00")),
        ('{"id": "a", "answer": "\\ud800!"}', ("a", None, "ok", "\ufffd!")),
        ('{"id": "a", "answer": "\\ud83d\\ude00"}', ("a", None, "ok", "😀")),
        ('\ufeff{"id": "a", "answer": "She."}', ("a", None, "ok", "She.")),
        ('\n\n  \r\n{"id": "a", "answer": "She."}\r\n\n', ("a", None, "ok", "She.")),
        ('{"id": "a", "answer": "\u2028She.\u0085"}', ("a", None, "ok", "\u2028She.\u0085")),
        ('{"answer": "She."}', (None, None, "ok", "She.")),
        (batch_line(chat()), ("a", None, "ok", "She.")),
        (batch_line(chat(), "a#3"), ("a", 3, "ok", "She.")),
        (batch_line(chat(finish="length")), ("a", None, "truncated", "She.")),
        (batch_line(chat(finish="max_tokens")), ("a", None, "truncated", "She.")),
        (batch_line(chat(finish="refusal")), ("a", None, "filtered", None)),
        (batch_line(chat(finish="content_filter")), ("a", None, "filtered", None)),
        (batch_line(chat(None, "content_filter")), ("a", None, "filtered", None)),
        (batch_line(chat(finish="something new")), ("a", None, "ok", "She.")),
        (batch_line(chat(finish=["stop"])), ("a", None, "ok", "She.")),
        (batch_line(chat(None)), ("a", None, "empty", None)),
        (batch_line(chat(" ")), ("a", None, "empty", " ")),
        (batch_line(chat(None, "length")), ("a", None, "empty", None)),
        (batch_line(chat(), code=500), ("a", None, "http_error", None)),
        (batch_line(chat(), error={"code": "batch_expired"}), ("a", None, "pending", None)),
        (
            '{"custom_id": "a#2", "response": null, "error": {"code": "x"}}',
            ("a", 2, "http_error", None),
        ),
    ],
)
def test_lines_that_can_be_read(tmp_path: Path, line: str, expected: tuple[str, int | None, str, str | None]) -> None:
    ((key, _, repetition, status, answer),) = read(write_answers(tmp_path, line))
    assert (key, repetition, status, answer) == expected


GOOD = '{"id": "a", "answer": "She."}\n'


@pytest.mark.fault("D4")
@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("She.", "not JSON"),
        ('{"id": "a", "answer": "She."', "not JSON"),
        ("{'id': 'a'}", "not JSON"),
        ("[" * 100_000, "not JSON"),
        ('{"id": "a", "answer": "\\ud800", "n": ' + "1" * 5_000 + "}", "not JSON"),
        ('{"id": "a", "answer": "a\x00b"}', "not JSON"),
        ('["a", "She."]', "object is needed"),
        ('"She."', "object is needed"),
        ("null", "object is needed"),
        ('{"id": "a", "text": "She."}', "no field answer. There are: id, text"),
        ("{}", "no field answer. There are: none"),
        ('{"id": 5, "answer": "She."}', "Expected `str | null`, got `int` - at `$.id`"),
        ('{"prompt": ["x"], "answer": "She."}', "at `$.prompt`"),
        ('{"id": "a", "answer": {"text": "She."}}', "at `$.answer`"),
        ('{"id": "a", "answer": NaN}', "at `$.answer`"),
        (
            '{"id": "a", "answer": "She.", "repetition": "first"}',
            "Expected `int | null`, got `str` - at `$.repetition`",
        ),
        ('{"id": "a", "answer": "She.", "repetition": 1.5}', "at `$.repetition`"),
        ('{"id": "a", "answer": "She.", "repetition": 1e999}', "at `$.repetition`"),
        ('{"id": "a", "answer": "She.", "repetition": 1e30}', "at `$.repetition`"),
        ('{"id": "a", "answer": "She.", "repetition": true}', "at `$.repetition`"),
        ('{"id": "a", "answer": "She.", "repetition": [1]}', "at `$.repetition`"),
        ('{"id": "a", "answer": "She.", "status": "fine"}', "status must be one of pending, ok"),
        ('{"id": "a", "answer": "She.", "status": ["ok"]}', "at `$.status`"),
        ('{"custom_id": 7, "response": {}}', "at `$.id`"),
        ('{"custom_id": "a", "response": "none"}', "no text that a model wrote"),
        (batch_line({"choices": [{}]}), "no text that a model wrote"),
        (batch_line({"choices": [{"message": None}]}), "no text that a model wrote"),
        (batch_line(chat([{"type": "text", "text": 7}])), "no text that a model wrote"),
        (batch_line(chat(7)), "no text that a model wrote"),
        (batch_line(chat("She."), "a#" + "9" * 30), "at `$.repetition`"),
    ],
)
def test_lines_that_cannot_be_read_are_named(tmp_path: Path, line: str, words: str) -> None:
    path = write_answers(tmp_path, GOOD * 2 + "\n" + line + "\n" + GOOD)
    with pytest.raises(BadFile) as error:
        read(path)
    assert str(error.value).startswith(f"{path}, line 4: ")
    assert words in str(error.value)
    assert len(str(error.value)) - len(str(path)) < 400


@pytest.mark.fault("D5")
@pytest.mark.parametrize("name", ["answers.jsonl", "answers.csv"])
def test_text_that_is_not_utf_8_is_refused_with_its_byte_offset(tmp_path: Path, name: str) -> None:
    before = b'id,answer\n"a","She"\n"b","' if name.endswith("csv") else GOOD.encode() * 2 + b'{"id": "b", "answer": "'
    path = write_answers(tmp_path, before + b'caf\xe9"\n', name)
    with pytest.raises(BadFile) as error:
        read(path)
    assert str(error.value) == f"{path}, line 3: not UTF-8 at byte {len(before) + 3} of the file."


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ("id,answer\na,She.\n", [("a", None, "She.")]),
        ("answer,id,repetition\nShe.,a,2\nHe.,b,\n", [("a", 2, "She."), ("b", None, "He.")]),
        ('\ufeffid,answer\r\na,"She,\r\n""he"""\r\n', [("a", None, 'She,\r\n"he"')]),
        ("id,answer\na,\n", [("a", None, "")]),
        ("id,answer\n\n\na,x\n", [("a", None, "x")]),
        ("id,answer\na,x\x00y\nb,u\u2028v\n", [("a", None, "x\x00y"), ("b", None, "u\u2028v")]),
        ("id,answer\na,s\x85t\x0b\x0c\n", [("a", None, "s\x85t\x0b\x0c")]),
        ("id,answer\na," + "x" * 300_000 + "\n", [("a", None, "x" * 300_000)]),
        ("id;answer\na;x, y\n", [("a", None, "x, y")]),
        ("id\tanswer\na\tx; y\n", [("a", None, "x; y")]),
        ("\n\nid,answer\na,x\n", [("a", None, "x")]),
    ],
)
def test_csv(tmp_path: Path, content: str, expected: list[tuple[str, int | None, str]]) -> None:
    found = read(write_answers(tmp_path, content, "answers.CSV"))
    assert [(key, repetition, answer) for key, _, repetition, _, answer in found] == expected


@pytest.mark.parametrize("ending", ["csv", "jsonl"])
def test_a_file_is_read_a_few_rows_at_a_time(ending: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It may be much larger than the memory: rows are there before the rest of it is read."""
    monkeypatch.setattr(files, "ROWS_PER_TABLE", 2)
    table = pl.DataFrame({ID: ["a", "b", "c"], ANSWER: ["She\nsaid.", "He.", "café"]})
    path = write_table(tmp_path / f"a.{ending}", table)
    path.write_bytes(path.read_bytes().replace("café".encode(), b"caf\xe9"))
    tables = read_tables(path)
    assert next(tables)[ANSWER].to_list() == ["She\nsaid.", "He."]
    with pytest.raises(BadFile, match="not UTF-8 at byte"):
        next(tables)


@pytest.mark.parametrize("content", [b"", b"\n", b" \r\n\n", b"id,answer\n"])
def test_csv_without_a_record_holds_no_answers(tmp_path: Path, content: bytes) -> None:
    with pytest.raises(BadFile, match="holds no answers"):
        read(write_answers(tmp_path, content, "answers.csv"))


def write_table(path: Path, table: pl.DataFrame) -> Path:
    writers: Row = {".csv": table.write_csv, ".jsonl": table.write_ndjson, ".parquet": table.write_parquet}
    writers[path.suffix](path)
    return path


@pytest.mark.parametrize("ending", ["csv", "jsonl", "parquet"])
def test_columns_may_be_called_otherwise(tmp_path: Path, ending: str) -> None:
    table = pl.DataFrame({"key": ["a"], "response": ["She."], "answer": ["42"]})
    path = write_table(tmp_path / f"a.{ending}", table)
    assert read(path, key="id", response="answer") == [("a", None, None, "ok", "She.")]
    with pytest.raises(UnknownName, match=r"No column of .* is called 'respnse'\. Did you mean 'response'"):
        read(path, respnse="answer")


@pytest.mark.fault("D4")
@pytest.mark.parametrize(
    ("content", "line", "words"),
    [
        ('id,answer\na,"She.\n', 2, "not CSV"),
        ('id,answer\n\na,"She"he\n', 3, "not CSV"),
        ('id,answer\ra,"She\rhe"\rb,x\r', 1, "not CSV"),
        ("id,answer\na,x\nb\n", 3, "as many fields as the header"),
        ("id,answer\na,x\nb,y,z\n", 3, "as many fields as the header"),
        ("id,text\na,x\n", 2, "no field answer. There are: id, text"),
        ("id,answer,repetition\na,x,one\n", 2, "at `$.repetition`"),
        ("id,answer,status\na,x,good\n", 2, "status must be one of"),
    ],
)
def test_csv_that_cannot_be_read_is_refused_with_its_line(tmp_path: Path, content: str, line: int, words: str) -> None:
    path = write_answers(tmp_path, content, "answers.csv")
    with pytest.raises(BadFile) as error:
        read(path)
    assert str(error.value).startswith(f"{path}, line {line}: ")
    assert words in str(error.value)


def refusal(path: Path) -> str:
    """The message with which a file is refused; empty if it can be read."""
    try:
        read(path)
    except BadFile as error:
        return str(error)
    return ""


@given(st.lists(st.binary(max_size=40), max_size=6))
def test_any_bytes_are_read_or_refused(lines: list[bytes]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        for name in ("answers.jsonl", "answers.csv"):
            path = write_answers(Path(folder), b"\n".join(lines), name)
            message = refusal(path)
            assert not message or message.startswith((f"{path}, line ", f"{path} holds no answers"))


# Through to the result


def test_answers_with_nothing_to_read_in_them_are_scored() -> None:
    prompts = equipoise.plan("jobs_lum").prompts()
    nasty = ["\ud800", "\x00", "\u202e", "<think>", "**", "He\x00.", "\udfffShe"]
    result = equipoise.score("jobs_lum", dict(zip(prompts[ID], nasty, strict=False)))
    thoughts = nasty.count("<think>")
    assert result.coverage["all"]["empty"] == thoughts
    assert result.coverage["all"]["ok"] == len(nasty) - thoughts
    assert result.coverage["all"]["detected"] == 2


def test_only_answers_are_measured() -> None:
    ids = equipoise.plan("jobs_lum").prompts()[ID].to_list()
    states = ["ok", "truncated", "filtered", "empty", "malformed", "too_large", "http_error", "timeout"]
    rows = [{ID: one, ANSWER: "She.", STATUS: state} for one, state in zip(ids, states, strict=False)]
    result = equipoise.score("jobs_lum", rows)
    counts = result.coverage["all"]
    assert all(counts[state] == 1 for state in states)
    assert (counts["detected"], counts["undetected"], counts["pending"]) == (2, 0, 339 - len(states))
    assert result.metrics["masculine_rate"].n == 2


@pytest.mark.fault("D31")
@pytest.mark.parametrize("ending", ["csv", "jsonl", "parquet"])
def test_an_answer_that_is_too_long_is_refused_by_name(
    ending: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(files, "LONGEST_ANSWER", 1_000)
    table = pl.DataFrame({ID: ["a", "b"], ANSWER: ["x" * 900, "y" * 1_100]})
    with pytest.raises(BadFile, match=r"line [23]: longer than 1,000 bytes|row 2: no answer has more than 1,000 bytes"):
        read(write_table(tmp_path / f"a.{ending}", table))


@pytest.mark.fault("D31")
def test_a_file_on_which_a_library_panics_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def panic(*_given: object, **_named: object) -> None:
        raise pl.exceptions.PanicException("Cannot allocate memory to hold CompactString")

    monkeypatch.setattr(files, "check_table", panic)
    with pytest.raises(IntegrityError, match="is damaged, or holds an answer that is longer than the memory"):
        read(write_table(tmp_path / "a.parquet", pl.DataFrame({ID: ["a"], ANSWER: ["x"]})))
