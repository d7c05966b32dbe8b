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


@pytest.mark.parametrize("words", [["show"], ["prompts", "jobs_lum", "--out"]])
def test_a_name_that_is_too_long_is_one_message(words: list[str], command: Command) -> None:
    outcome = command(*words, "x" * 300)
    assert outcome.code in (2, 5), outcome.err
    assert (outcome.err[:7], outcome.err.count("\n")) == ("error: ", 1)


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


@pytest.mark.fault("U5")
def test_charts_that_cannot_be_written_are_refused(command: Command, small: Path) -> None:
    outcome = command("report", small, "--charts", "/dev/null/x")
    assert (outcome.code, "cannot be written" in outcome.err) == (5, True)


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
        force_setattr(run.settings.spec, "model", STEERING)
        force_setattr(run.settings.spec, "suite", STEERING)
        force_setattr(run.settings, "notes", [STEERING])
        for planned in run.planned.values():
            object.__setattr__(planned, "corpus", STEERING)

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
