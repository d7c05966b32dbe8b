"""Input that is wrong, hostile or empty ends with a sentence, and what a file says cannot steer a terminal."""

from __future__ import annotations

import json
import os
import sqlite3
import time
from contextlib import closing
from pathlib import Path

import pytest
from msgspec.structs import force_setattr

from answering import answer_all
from calling import Command
from equipoise.report.files import writing
from equipoise.runs.run import Run
from serving.faulty import FaultyServer

BEYOND = str(2**70)
RUN = [
    "run",
    "openai/x",
    "--base-url",
    "http://127.0.0.1:9/v1",
    "--probe",
    "jobs_lum",
    "--out",
    "new.equipoise",
]
OVERFLOWS = [
    ["prompts", "jobs_lum", "--seed", BEYOND],
    ["prompts", "jobs_lum", "--repeat", BEYOND],
    ["prompts", "jobs_lum", "--repeat", "2000000000"],
    ["prompts", "jobs_lum", "--sample", BEYOND],
    ["estimate", "openai/x", "--probe", "jobs_lum", "--repeat", BEYOND],
    ["estimate", "openai/x", "--probe", "jobs_lum", "--max-tokens", BEYOND],
    *([*RUN, name, BEYOND] for name in ("--seed", "--repeat", "--sample", "--model-seed")),
    *([*RUN, name, BEYOND] for name in ("--max-tokens", "--concurrency", "--tries")),
    *([*RUN, name, BEYOND] for name in ("--max-requests", "--max-tokens-total")),
]


@pytest.mark.fault("U12")
@pytest.mark.parametrize("words", OVERFLOWS, ids=" ".join)
def test_numbers_beyond_64_bits_are_refused(words: list[str], keyed: Command) -> None:
    outcome = keyed(*words)
    assert (outcome.code, outcome.err[:7]) == (2, "error: "), outcome.err
    assert not Path("new.equipoise").exists()


LONG = "x" * 300
TOO_LONG = [
    (["show", LONG], 5),
    (["resume", LONG], 5),
    (["run", f"openai/{LONG}", "--probe", "jobs_lum"], 2),
    (["run", "openai/x", "--probe", "jobs_lum", "--out", LONG], 2),
    (["import", "a.jsonl", "--out", LONG, "--probe", "jobs_lum"], 2),
    (["import", LONG, "--out", "new.equipoise", "--probe", "jobs_lum"], 5),
    (["score", LONG, "--probe", "jobs_lum"], 5),
    (["prompts", "jobs_lum", "--out", LONG], 2),
    (["run", "openai/x", "--probe", "jobs_lum", "--report", LONG], 2),
]


@pytest.mark.fault("U11")
@pytest.mark.parametrize(
    ("words", "code"),
    TOO_LONG,
    ids=[" ".join(words).replace(LONG, "LONG") for words, _ in TOO_LONG],
)
def test_names_that_are_too_long_are_refused(words: list[str], code: int, keyed: Command) -> None:
    Path("a.jsonl").write_text('{"id": "x", "answer": "he"}')
    outcome = keyed(*words)
    assert outcome.code == code, outcome.err
    assert outcome.err.startswith("error: ")
    assert outcome.err.count("\n") == 1


@pytest.mark.fault("U11")
@pytest.mark.parametrize("depth", [300, 1000, 100_000])
def test_extra_fields_that_are_nested_too_deep_are_refused(depth: int, keyed: Command) -> None:
    outcome = keyed(*RUN, "--extra", '{"a":' * depth + "1" + "}" * depth)
    assert (outcome.code, "extra" in outcome.err, len(outcome.err) < 500) == (2, True, True)


NOTHING = [
    ("a.jsonl", "", "holds no answers"),
    ("a.jsonl", "\n \n", "holds no answers"),
    ("a.csv", "", "holds no answers"),
    ("a.csv", "id,answer\n", "holds no answers"),
    ("a.csv", "x1,he\n", "holds no answers"),
    ("a.csv", "x1,he\nx2,she\n", "line 2: no field answer. There are: x1, he"),
    ("a.jsonl", '{"id": "unknown", "answer": "he"}', "None of the 1 answers belongs"),
]


@pytest.mark.fault("U13")
@pytest.mark.parametrize("form", ["score", "import"])
@pytest.mark.parametrize(("name", "content", "message"), NOTHING)
def test_files_without_answers_are_refused(
    form: str,
    name: str,
    content: str,
    message: str,
    command: Command,
) -> None:
    Path(name).write_text(content)
    out = ["--out", "new.equipoise"] if form == "import" else []
    outcome = command(form, name, "--probe", "jobs_lum", *out)
    assert outcome.code == 2, outcome.err
    assert message in outcome.err
    assert outcome.out == ""
    assert not Path("new.equipoise").exists()


@pytest.mark.fault("D6")
def test_halves_of_characters_in_imported_answers_are_replaced_and_nothing_else(
    command: Command,
) -> None:
    """Such halves come from tools that cut an answer in the middle of a character."""
    text = "he \ud83d alone, \ude00 too"
    rows = [json.dumps({"id": key, "answer": text}) for key in answer_all(sample=2)]
    Path("a.jsonl").write_text("\n".join(rows))
    plan = ("--probe", "jobs_lum", "--sample", "2", "--out", "new.equipoise")
    assert command("import", "a.jsonl", *plan).code == 0
    with closing(sqlite3.connect("new.equipoise")) as connection:
        stored = [row[0] for row in connection.execute("select answer from attempts")]
    assert stored == ["he \ufffd alone, \ufffd too"] * 2


@pytest.mark.fault("U10")
def test_a_run_without_answers_is_not_said_to_have_some(command: Command) -> None:
    failed = {"answer": None, "status": "http_error"}
    rows = [json.dumps({"id": key, **failed}) for key in answer_all(sample=20)]
    Path("failed.jsonl").write_text("\n".join(rows))
    plan = ("--probe", "jobs_lum", "--sample", "20", "--out", "run.equipoise")
    assert command("import", "failed.jsonl", *plan).code == 3
    assert command("report", "run.equipoise", "-o", "run.html").code == 0
    page = Path("run.html").read_text()
    assert "1 probe, 0 answers" in page
    assert "20 answers" not in page


@pytest.mark.fault("U5")
@pytest.mark.parametrize("folder", ["/dev/null/x", "a.jsonl"])
def test_charts_that_cannot_be_written_are_refused(
    folder: str,
    command: Command,
    small: Path,
) -> None:
    Path("a.jsonl").write_text("")
    outcome = command("report", small, "--charts", folder)
    assert outcome.code == 5
    assert "cannot be written" in outcome.err


@pytest.mark.fault("P19")
def test_what_a_killed_command_left_is_deleted_by_the_next(tmp_path: Path) -> None:
    target, old = tmp_path / "out.csv", time.time() - 7200
    stale, fresh = tmp_path / ".out.csv.0123abcd.part", tmp_path / ".out.csv.89abcdef.part"
    others = [tmp_path / name for name in (".out.csv.mine.part", ".other.csv.0123abcd.part", "out.csv.0123abcd.part")]
    for path in (stale, fresh, *others):
        path.write_text("x")
        if path != fresh:
            os.utime(path, (old, old))
    with writing(target) as file:
        file.write(b"done")
    assert target.read_bytes() == b"done"
    assert not stale.exists()
    assert all(path.exists() for path in (fresh, *others))


def test_a_file_whose_writing_fails_stays_as_it_was(tmp_path: Path) -> None:
    target = tmp_path / "out.csv"
    target.write_bytes(b"before")
    with pytest.raises(TypeError), writing(target) as file:
        file.writelines([b"half", None])  # type: ignore[list-item]
    assert target.read_bytes() == b"before"
    assert list(tmp_path.iterdir()) == [target]


STEERING = "::error::x\x1b]0;owned\x07\x9b31m\u202e\nPASSED: all\x7f"


@pytest.mark.fault("S12")
@pytest.mark.parametrize(
    "words",
    [["show"], ["show", "--json"], ["compare"], ["compare", "--json"], ["gate"]],
    ids=" ".join,
)
def test_what_a_file_says_cannot_steer_a_terminal(
    words: list[str],
    command: Command,
    monkeypatch: pytest.MonkeyPatch,
    small: Path,
) -> None:
    """The text fields are hostile after the file was read: a file with a changed field is refused, one that was
    written so is not."""
    original = Run.__init__

    def open_hostile(run: Run, *given: object, **more: object) -> None:
        original(run, *given, **more)  # type: ignore[arg-type]
        run.model = STEERING
        force_setattr(run.record.spec, "suite", STEERING)
        force_setattr(run.record, "notes", [STEERING])
        for planned in run.planned.values():
            force_setattr(planned, "corpus", STEERING)

    monkeypatch.setattr(Run, "__init__", open_hostile)
    name, *options = words
    more = {"compare": ["run.equipoise"], "gate": ["--max", "masculine_rate=0.0001"]}.get(name, [])
    outcome = command(name, "run.equipoise", *more, *options)
    assert outcome.code in (0, 7, 8), outcome.err
    assert repr(Run.open("run.equipoise")).isprintable()
    printed = outcome.out + outcome.err
    assert "owned" in printed
    assert [c for c in printed if not c.isprintable() and c != "\n"] == []
    assert not [line for line in printed.splitlines() if line.startswith("PASSED: all")]


OVERWRITING = [
    ["report", "run.equipoise", "-o", "run.equipoise"],
    ["report", "run.equipoise", "-o", "other.equipoise"],
    ["resume", "run.equipoise", "--report", "run.equipoise"],
    ["transcripts", "run.equipoise", "-o", "other.equipoise"],
    ["export", "run.equipoise", "--what", "metrics", "--format", "csv", "-o", "other.equipoise"],
    ["export", "run.equipoise", "-o", "run.equipoise"],
    ["gate", "run.equipoise", "--fail-on", "D", "--junit", "other.equipoise"],
    ["gate", "run.equipoise", "--fail-on", "D", "--markdown", "other.equipoise"],
    ["prompts", "jobs_lum", "--sample", "2", "-o", "run.equipoise"],
]


@pytest.mark.parametrize("words", OVERWRITING, ids=" ".join)
def test_a_run_file_is_never_overwritten(
    words: list[str],
    command: Command,
    small: Path,
    tmp_path: Path,
) -> None:
    Path("other.equipoise").write_bytes(small.read_bytes())
    before = {path.name: path.read_bytes() for path in tmp_path.glob("*.equipoise")}
    outcome = command(*words)
    assert outcome.code == 2
    assert "its answers would be lost" in outcome.err
    assert {path.name: path.read_bytes() for path in tmp_path.glob("*.equipoise")} == before


REFUSED = [
    (["--report", "."], 5, "it is a folder"),
    (["--report", "no/such/report.html"], 5, "there is no folder"),
    (["--out", "same.equipoise", "--report", "same.equipoise"], 2, "cannot both be"),
    (["--out", "no/such/run.equipoise"], 5, "there is no folder"),
]


@pytest.mark.parametrize(
    ("options", "code", "message"),
    REFUSED,
    ids=[" ".join(options) for options, *_ in REFUSED],
)
def test_a_target_is_checked_before_anything_is_asked(
    options: list[str],
    code: int,
    message: str,
    command: Command,
) -> None:
    with FaultyServer() as server:
        where = ("--base-url", server.url, "--probe", "jobs_lum", "--sample", "3")
        outcome = command("run", "custom/test", *where, *options)
        assert server.total == 0
    assert outcome.code == code
    assert message in outcome.err
