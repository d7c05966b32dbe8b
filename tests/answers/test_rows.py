"""Answers from anywhere: read from files, and matched to prompts by id or text, never by order."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import equipoise
from equipoise.answers import files
from equipoise.answers.files import read_python, read_tables
from equipoise.answers.matching import PLACE, ROW, PromptIndex, hash_keys
from equipoise.errors import BadFile, IntegrityError, UnknownName
from equipoise.measuring.result import Matching
from equipoise.schema import ANSWER, ID, PROMPT, REPETITION, STATUS

# Two items with the same text, and two with texts of their own.
PROMPTS = pl.DataFrame({ID: ["a", "b", "c", "d"], PROMPT: ["same", "one", "same", "two"]})
Row = dict[str, Any]


def match(prompts: pl.DataFrame, repetitions: int, answers: pl.DataFrame) -> tuple[pl.DataFrame, Matching]:
    """The answers with the ids and repetitions of the attempts that they are assigned to."""
    assigned, matching = PromptIndex([prompts], repetitions).assign(hash_keys(answers))
    keys = prompts[assigned[PLACE]].select(ID).hstack(assigned.select(REPETITION))
    return keys.hstack(answers[assigned[ROW]].select(ANSWER)), matching


def match_rows(given: list[Row], repetitions: int = 1) -> tuple[list[tuple[str, int, str]], Matching]:
    """Which answer goes where, as (id, repetition, answer)."""
    (answers,) = read_python(given)
    matched, matching = match(PROMPTS, repetitions, answers)
    triples = sorted(matched.select(ID, REPETITION, ANSWER).iter_rows())
    assert matching.read == len(given) == matching.matched + matching.surplus + matching.unknown
    assert matching.matched == len(triples) == len({triple[:2] for triple in triples})
    return triples, matching


def row(key: str, said: str, repetition: int | None = None) -> Row:
    """An answer of one letter, or else a state without one; to an id of one letter, or else to a text."""
    outcome = {ANSWER: said} if len(said) == 1 else {ANSWER: None, STATUS: said}
    return {ID if len(key) == 1 else PROMPT: key, REPETITION: repetition, **outcome}


# Matching

MATCHED: dict[str, tuple[list[Row], int, str, int, int]] = {
    "by id": ([row("b", "x"), row("a", "y")], 1, "a1y b1x", 0, 0),
    "by text": ([row("two", "x"), row("one", "y")], 1, "b1y d1x", 0, 0),
    "the first of two is kept": ([row("a", "x"), row("a", "y")], 1, "a1x", 1, 0),
    "unknown": ([row("?", "x"), row("none", "y"), row("a", "z")], 1, "a1z", 0, 2),
    "text when the id is unknown": ([{ID: "?", PROMPT: "one", ANSWER: "x"}], 1, "b1x", 0, 0),
    "the id goes before the text": ([{ID: "a", PROMPT: "one", ANSWER: "x"}], 1, "a1x", 0, 0),
    "neither": ([{ANSWER: "x"}], 1, "", 0, 1),
    "numbered from 1": ([row("a", "y", 2), row("a", "x", 1)], 2, "a1x a2y", 0, 0),
    "numbered from 0": ([row("a", "y", 1), row("a", "x", 0)], 2, "a1x a2y", 0, 0),
    "not numbered": ([row("a", "x"), row("b", "z"), row("a", "y")], 2, "a1x a2y b1z", 0, 0),
    "the same repetition twice": ([row("a", "x", 1), row("a", "y", 1), row("a", "z", 2)], 3, "a1x a2z", 1, 0),
    "twice, by text": ([row("one", "x", 1), row("one", "y", 1), row("one", "z", 2)], 3, "b1x b2z", 1, 0),
    "in plan order": ([row("same", "x"), row("same", "y")], 1, "a1x c1y", 0, 0),
    "repetition by repetition": ([row("same", said) for said in "uvwxy"], 2, "a1u a2w c1v c2x", 1, 0),
    "numbered": (
        [row("same", "x", 2), row("same", "u", 1), row("same", "v", 1), row("same", "y", 2)],
        *(2, "a1u a2x c1v c2y", 0, 0),
    ),
    "an id before a text": ([row("one", "x"), row("b", "y")], 1, "b1y", 1, 0),
    "an answer before a failure": ([row("a", "timeout"), row("a", "x")], 1, "a1x", 1, 0),
    "or what is pending": ([row("a", "pending"), row("a", "timeout"), row("a", "x")], 1, "a1x", 2, 0),
    "a failure before nothing": ([row("a", "pending"), row("a", "timeout")], 1, "a1None", 1, 0),
    "before a failure of its repetition": (
        [row("a", "timeout", 1), row("a", "x", 1), row("a", "y", 2), row("a", "empty", 2)],
        *(2, "a1x a2y", 2, 0),
    ),
    "an answer by text before a failure by id": ([row("b", "timeout"), row("one", "x")], 1, "b1x", 1, 0),
    "before an empty one by text": (
        [row("same", "x", 1), row("same", "empty", 1), row("same", "y", 1)],
        *(1, "a1x c1y", 1, 0),
    ),
}


@pytest.mark.parametrize(("rows", "repetitions", "expected", "surplus", "unknown"), MATCHED.values(), ids=MATCHED)
def test_matching(rows: list[Row], repetitions: int, expected: str, surplus: int, unknown: int) -> None:
    matched, matching = match_rows(rows, repetitions)
    assert " ".join(f"{key}{number}{answer}" for key, number, answer in matched) == expected
    assert (matching.surplus, matching.unknown) == (surplus, unknown)


given_rows = st.lists(
    st.builds(
        lambda key, name, repetition, answer: {key: name, REPETITION: repetition, ANSWER: answer},
        st.sampled_from([ID, PROMPT]),
        st.sampled_from(["a", "b", "c", "same", "one", "?"]),
        st.one_of(st.none(), st.integers(-1, 4)),
        st.text("xyz", min_size=1, max_size=3),
    ),
    min_size=1,
    max_size=30,
)


@given(given_rows, st.integers(1, 4))
def test_every_answer_is_accounted_for_once(rows: list[Row], repetitions: int) -> None:
    matched, _ = match_rows(rows, repetitions)
    assert all(1 <= repetition <= repetitions for _, repetition, _ in matched)


@given(st.permutations([row(key, key, times) for key in "abd" for times in (1, 2, 3)]))
def test_the_order_of_numbered_answers_does_not_matter(rows: list[Row]) -> None:
    assert match_rows(rows, 3)[0] == [(key, times, key) for key in "abd" for times in (1, 2, 3)]


def test_equal_prompts_of_the_corpora_are_matched_in_the_order_of_the_plan(corpora: Path) -> None:
    for probe, size in (("gest_creative", 20), ("discrimination_tamkin", 2)):
        prompts = equipoise.plan(probe).prompts()
        twins = prompts.filter(pl.col(PROMPT).is_duplicated())
        assert twins.height == size
        (answers,) = read_python(
            {PROMPT: prompt, ANSWER: f"answer {place}"} for place, prompt in enumerate(twins[PROMPT])
        )
        matched, matching = match(prompts, 1, answers)
        assert (matching.matched, matching.surplus) == (size, 0)
        answer_by_id = dict(matched.select(ID, ANSWER).iter_rows())
        assert [answer_by_id[key] for key in twins[ID]] == answers[ANSWER].to_list()


# Files


def write_answers(folder: Path, content: str | bytes, name: str = "answers.jsonl") -> Path:
    path = folder / name
    path.write_bytes(content.encode("utf-8", "surrogatepass") if isinstance(content, str) else content)
    return path


def read(path: Path, **names: str) -> list[tuple[Any, ...]]:
    """id, prompt, repetition, status and answer of each row."""
    return pl.concat(read_tables(path, names)).rows()


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
