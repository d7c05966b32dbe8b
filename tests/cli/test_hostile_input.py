"""Input that is wrong, hostile or empty ends with a sentence, and what a file says cannot steer a terminal."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest
from msgspec.structs import force_setattr

from calling import Command
from equipoise.report.files import writing
from equipoise.runs.run import Run
from serving.faulty import FaultyServer

BEYOND = str(2**70)
RUN = ["run", "openai/x", "--base-url", "http://127.0.0.1:9/v1", "--probe", "jobs_lum", "--out", "new.equipoise"]
OVERFLOWS = [
    ["prompts", "jobs_lum", "--repeat", "2000000000"],
    ["estimate", "openai/x", "--probe", "jobs_lum", "--max-tokens", BEYOND],
    *([*RUN, name, BEYOND] for name in ("--seed", "--sample", "--model-seed")),
]


@pytest.mark.fault("U12")
@pytest.mark.parametrize("words", OVERFLOWS, ids=" ".join)
def test_numbers_beyond_64_bits_are_refused(words: list[str], keyed: Command) -> None:
    outcome = keyed(*words)
    assert (outcome.code, outcome.err[:7]) == (2, "error: "), outcome.err
    assert not Path("new.equipoise").exists()


@pytest.mark.fault("U11")
@pytest.mark.parametrize("depth", [300, 100_000])
def test_extra_fields_that_are_nested_too_deep_are_refused(depth: int, keyed: Command) -> None:
    outcome = keyed(*RUN, "--extra", '{"a":' * depth + "1" + "}" * depth)
    assert (outcome.code, "extra" in outcome.err, len(outcome.err) < 500) == (2, True, True)


@pytest.mark.fault("U13")
@pytest.mark.parametrize(
    ("form", "name", "content", "message"),
    [
        ("score", "a.jsonl", "\n \n", "holds no answers"),
        ("import", "a.csv", "id,answer\n", "holds no answers"),
        ("score", "a.csv", "x1,he\nx2,she\n", "line 2: no field answer. There are: x1, he"),
        ("import", "a.jsonl", '{"id": "unknown", "answer": "he"}', "None of the 1 answers belongs"),
    ],
)
def test_files_without_answers_are_refused(form: str, name: str, content: str, message: str, command: Command) -> None:
    Path(name).write_text(content)
    out = ["--out", "new.equipoise"] if form == "import" else []
    outcome = command(form, name, "--probe", "jobs_lum", *out)
    assert outcome.code == 2, outcome.err
    assert message in outcome.err
    assert outcome.out == ""
    assert not Path("new.equipoise").exists()


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
    assert (target.read_bytes(), stale.exists()) == (b"done", False)
    with pytest.raises(TypeError), writing(target) as file:
        file.writelines([b"half", None])  # type: ignore[list-item]
    assert target.read_bytes() == b"done"
    assert all(path.exists() for path in (fresh, *others))


STEERING = "::error::x\x1b]0;owned\x07\x9b31m\u202e\nPASSED: all\x7f"


@pytest.mark.fault("S12")
@pytest.mark.parametrize("words", [["show"], ["show", "--json"], ["compare"], ["gate"]])
def test_what_a_file_says_cannot_steer_a_terminal(
    words: list[str], command: Command, monkeypatch: pytest.MonkeyPatch, small: Path
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
    ["resume", "run.equipoise", "--report", "run.equipoise"],
    ["transcripts", "run.equipoise", "-o", "other.equipoise"],
    ["export", "run.equipoise", "--what", "metrics", "--format", "csv", "-o", "other.equipoise"],
    ["gate", "run.equipoise", "--fail-on", "D", "--junit", "other.equipoise"],
    ["prompts", "jobs_lum", "--sample", "2", "-o", "run.equipoise"],
]


def test_a_run_file_is_never_overwritten(command: Command, small: Path, tmp_path: Path) -> None:
    Path("other.equipoise").write_bytes(Path("run.equipoise").read_bytes())
    before = {path.name: path.read_bytes() for path in tmp_path.glob("*.equipoise")}
    for words in OVERWRITING:
        outcome = command(*words)
        assert (outcome.code, "its answers would be lost" in outcome.err) == (2, True), words
    assert {path.name: path.read_bytes() for path in tmp_path.glob("*.equipoise")} == before


REFUSED = [
    (["--report", "."], 5, "it is a folder"),
    (["--report", "no/such/report.html"], 5, "there is no folder"),
    (["--out", "same.equipoise", "--report", "same.equipoise"], 2, "cannot both be"),
    (["--out", "no/such/run.equipoise"], 5, "there is no folder"),
]


def test_a_target_is_checked_before_anything_is_asked(command: Command) -> None:
    with FaultyServer() as server:
        where = ("--base-url", server.url, "--probe", "jobs_lum", "--sample", "3")
        for options, code, message in REFUSED:
            outcome = command("run", "custom/test", *where, *options)
            assert (outcome.code, message in outcome.err) == (code, True), options
        assert server.total == 0
