"""`prompts --shards`, `score` over folders and patterns, and partials: the numbers of one file, however it is cut."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import equipoise
from calling import Command, output
from equipoise.answers.files import Names
from equipoise.answers.shards import score_shards
from equipoise.cli import progress
from equipoise.engines import ray as ray_engine
from equipoise.measuring.partials import Partial
from equipoise.measuring.plan import Plan
from equipoise.probes import get_probe
from equipoise.schema import ANSWER, ID, ITEM, ITEM_NUMBER, PROMPT, REPETITION, text_column

PLAN = ("hiring_an", "--sample", "80", "--repeat", "2")
PROBE = ("--probe", *PLAN)


@pytest.fixture
def folder(command: Command, tmp_path: Path) -> Path:
    """The answers of a reference model to prompts in four shards, beside what tools leave in folders."""
    outcome = command("prompts", *PLAN, "--format", "parquet", "--shards", "4", "-o", "prompts")
    assert outcome.code == 0, outcome.err
    assert outcome.err == "80 prompts of hiring_an, 2 times each, in 4 files\n"
    answers = tmp_path / "answers"
    answers.mkdir()
    rng = np.random.default_rng(1)
    for path in sorted((tmp_path / "prompts").iterdir()):
        prompts = pl.read_parquet(path)
        texts = get_probe("hiring_an").simulate(prompts, "pro-masculine", rng)
        kept = prompts.select(ID, REPETITION, ITEM_NUMBER).with_columns(text_column(ANSWER, texts))
        kept.write_parquet(answers / path.name)
    (answers / "_SUCCESS").touch()
    (answers / ".hidden.parquet").touch()
    return answers


@pytest.fixture
def expected(folder: Path) -> dict[str, Any]:
    whole = pl.concat([pl.read_parquet(path) for path in sorted(folder.glob("prompts-*"))])
    return {"schema": "equipoise/score/1", **equipoise.score("hiring_an", whole, sample=80, repeat=2).to_dict()}


def test_shards_of_prompts_hold_whole_items_and_their_numbers(folder: Path, tmp_path: Path) -> None:
    shards = [pl.read_parquet(path) for path in sorted((tmp_path / "prompts").iterdir())]
    assert [path.name for path in sorted((tmp_path / "prompts").iterdir())] == [
        f"prompts-0000{number}.parquet" for number in (1, 2, 3, 4)
    ]
    assert [shard.height for shard in shards] == [40] * 4  # ten items, two prompts each, asked twice
    planned = equipoise.plan("hiring_an", sample=80, repeat=2).prompts()
    together = pl.concat(shards)
    assert together.columns[:4] == [ID, REPETITION, ITEM_NUMBER, ITEM]
    assert together.filter(repetition=2).drop(REPETITION, ITEM_NUMBER).equals(planned)
    assert together.select(ITEM, ITEM_NUMBER).unique(maintain_order=True)[ITEM_NUMBER].to_list() == list(range(40))


def test_shards_of_other_formats(command: Command, tmp_path: Path) -> None:
    whole = output(command("prompts", "jobs_lum", "--sample", "7", "--format", "openai-batch"))
    output(command("prompts", "jobs_lum", "--sample", "7", "--format", "openai-batch", "--shards", "3", "-o", "batch"))
    assert "".join(path.read_text() for path in sorted((tmp_path / "batch").glob("prompts-*.jsonl"))) == whole


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--shards", "3"), "name a folder for them with --out"),
        (("--shards", "0", "-o", "x"), "--shards must be between 1 and 7, the number of items. Got 0 instead."),
        (("--shards", "8", "-o", "x"), "--shards must be between 1 and 7, the number of items. Got 8 instead."),
    ],
)
def test_shards_that_cannot_be(command: Command, words: tuple[str, ...], message: str, tmp_path: Path) -> None:
    outcome = command("prompts", "jobs_lum", "--sample", "7", *words)
    assert outcome.code == 2
    assert message in outcome.err
    assert not (tmp_path / "x").exists()


@pytest.mark.parametrize(
    "files",
    [("answers",), ("answers/prompts-*.parquet",), ("answers/prompts-0000[12].parquet", "answers/*-0000[34].*")],
)
def test_a_folder_or_a_pattern_gives_the_numbers_of_one_file(
    command: Command, expected: dict[str, Any], files: tuple[str, ...]
) -> None:
    outcome = command("score", *files, *PROBE, "--json")
    assert json.loads(output(outcome)) == json.loads(json.dumps(expected))
    assert outcome.err == "160 answers read, 160 matched to the plan\n"


def test_shards_of_lines_are_scored_too(command: Command, expected: dict[str, Any], folder: Path) -> None:
    for path in folder.glob("prompts-*"):
        pl.read_parquet(path).drop(ITEM_NUMBER).write_ndjson(path.with_suffix(".jsonl"))
        path.unlink()
    assert json.loads(output(command("score", folder, *PROBE, "--json"))) == json.loads(json.dumps(expected))


def test_partials_of_an_array_of_jobs_are_added(command: Command, expected: dict[str, Any], tmp_path: Path) -> None:
    (tmp_path / "partials").mkdir()
    for number in (1, 2, 3, 4):
        partial = f"partials/{number}.partial"
        outcome = command("score", f"answers/prompts-0000{number}.parquet", *PROBE, "--partial", partial)
        assert outcome.code == 0, outcome.err
        assert (outcome.out, outcome.err) == ("", f"40 answers read, 40 attempts summed up in {partial}\n")
    assert json.loads(output(command("score", "partials", "--json"))) == json.loads(json.dumps(expected))
    output(command("score", "partials/[123].partial", "--partial", "most.partial"))
    added = output(command("score", "most.partial", "partials/4.partial", "--json"))
    assert json.loads(added) == json.loads(json.dumps(expected))
    assert "diff_acceptance_rate" in output(command("score", "most.partial", "--allow-missing", "0.25"))
    assert command("score", "most.partial").code == 3


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        (("answers",), 2, "One probe is needed"),
        (
            ("answers", *PROBE, "--engine", "spark"),
            2,
            "--engine must be local, ray or ray:ADDRESS. Got 'spark' instead.",
        ),
        (("answers", *PROBE, "--engine", "local:7"), 2, "Got 'local:7' instead."),
        (("nothing*", *PROBE), 2, "There is no file nothing*."),
        (("empty", *PROBE), 2, "The folder empty holds no answers: no file that ends with .parquet"),
        (("one.partial", "--seed", "3"), 2, "Leave out the options that say it."),
        (("one.partial", "--probe", "hiring_an"), 2, "Leave out the options that say it."),
        (("one.partial", "answers/prompts-00002.parquet"), 2, "Answers and partials (.partial) cannot be mixed."),
        (("one.partial", "one.partial"), 2, "40 attempts are in two partials, the first of them repetition 1"),
        (("one.partial", "other.partial"), 6, "Partials of different setups cannot be added: sample 80 and 82."),
        (("answers", *PROBE, "--partial", "none/x.partial"), 5, "there is no folder none"),
    ],
)
def test_what_is_refused(
    command: Command, folder: Path, tmp_path: Path, words: tuple[str, ...], code: int, message: str
) -> None:
    (tmp_path / "empty").mkdir()
    first = folder / "prompts-00001.parquet"
    if words[0] == "one.partial":
        output(command("score", first, *PROBE, "--partial", "one.partial"))
        output(command("score", first, *PROBE, "--sample", "82", "--partial", "other.partial"))
    outcome = command("score", *words)
    assert (outcome.code, outcome.out) == (code, ""), outcome.err
    assert message in outcome.err


def test_the_same_answers_in_two_shards_are_refused(command: Command, folder: Path) -> None:
    (folder / "copy.parquet").write_bytes((folder / "prompts-00002.parquet").read_bytes())
    outcome = command("score", folder, *PROBE)
    assert outcome.code == 2
    assert "40 attempts are in two partials" in outcome.err


def test_a_folder_may_hold_empty_shards_and_says_what_it_leaves_out(
    command: Command, expected: dict[str, Any], folder: Path
) -> None:
    pl.read_parquet(folder / "prompts-00001.parquet")[:0].write_parquet(folder / "prompts-00000.parquet")
    (folder / "empty.jsonl").touch()
    (folder / "more.jsonl.gz").touch()
    (folder / "folder.parquet").mkdir()
    outcome = command("score", folder, *PROBE, "--json")
    assert json.loads(output(outcome)) == json.loads(json.dumps(expected))
    assert "left out: folder.parquet, more.jsonl.gz (" in outcome.err
    for path in folder.glob("prompts-0000[1-4]*"):
        path.unlink()
    outcome = command("score", folder, *PROBE)
    assert (outcome.code, "answers holds no answers." in outcome.err) == (2, True)


def test_what_ray_writes_of_a_worker_that_died_is_not_among_the_results(
    command: Command, expected: dict[str, Any], folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def score(planned: Plan, files: list[Path], names: Names, *_: Any, **__: Any) -> Partial:
        sys.stdout.write("(raylet) A worker died or was killed while executing a task.\n")
        return score_shards(planned, files, names)

    monkeypatch.setattr(ray_engine, "score_shards", score)
    outcome = command("score", folder, *PROBE, "--engine", "ray", "--json")
    assert json.loads(output(outcome)) == json.loads(json.dumps(expected))
    assert "(raylet) A worker died" in outcome.err


def test_a_partial_of_nothing_is_refused_and_one_of_less_says_so(command: Command, folder: Path) -> None:
    refused = command("score", folder, *PROBE, "--seed", "4", "--sample", "2", "--partial", "x.partial")
    assert refused.code == 2
    assert "None of the 160 answers belongs to a planned prompt." in refused.err
    assert not Path("x.partial").exists()
    once = command("score", folder, *PROBE, "--sample", "78", "--repeat", "1", "--partial", "x.partial")
    assert once.code == 0
    assert re.search(r"\d+ answers are surplus", once.err)
    assert re.search(r"\d+ answers belong to no planned prompt", once.err)


def test_answers_to_nothing_that_was_planned_are_refused(command: Command, folder: Path) -> None:
    outcome = command("score", folder, "--probe", "jobs_lum")
    assert outcome.code == 2
    assert "None of the 160 answers belongs to a planned prompt." in outcome.err


def test_progress_is_shown_now_and_then(command: Command, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress, "SECONDS_BETWEEN_LINES", 0.0)
    outcome = command("score", folder, *PROBE, "--json")
    lines = outcome.err.splitlines()
    assert [line.partition(" · ")[0] for line in lines[:4]] == [f"{number}/4 files" for number in (1, 2, 3, 4)]
    assert "40 answers" in lines[0]
    assert lines[0].endswith(" left")
    assert "160 answers" in lines[3]


MEMORY = """
import re, sys
from pathlib import Path
sys.argv = ["equipoise", *sys.argv[1:]]
from equipoise.cli import main
try:
    main()
except SystemExit as end:
    assert not end.code, end.code
peak = re.search(r"VmHWM:\\s+(\\d+) kB", Path("/proc/self/status").read_text())
print(int(peak[1]) / 1024, file=sys.stderr)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="The peak of memory is read from /proc.")
def test_memory_is_bounded_by_a_shard(tmp_path: Path) -> None:
    """Twelve shards of 8 MB need hardly more memory than four of them."""
    planned = equipoise.plan("hiring_an", sample=24_000)
    filler = "We thank you for your patience and for your interest in our house. " * 60
    for number in range(12):
        prompts = planned.take(1_000 * number, 1_000 * (number + 1))
        answers = prompts.select(ID, ANSWER=pl.lit(filler) + pl.col(PROMPT)).rename({"ANSWER": ANSWER})
        answers = answers.with_columns(pl.Series(ITEM_NUMBER, 1_000 * number + np.arange(2_000) // 2))
        answers.write_parquet(tmp_path / f"{number:02}.parquet")

    def peak(pattern: str) -> float:
        words = [
            "score",
            str(tmp_path / pattern),
            "--probe",
            "hiring_an",
            "--sample",
            "24000",
            "--reading",
            "specified",
            "--json",
            "--allow-missing",
            "1",
        ]
        done = subprocess.run([sys.executable, "-c", MEMORY, *words], capture_output=True, text=True, check=True)
        assert '"diff_acceptance_rate"' in done.stdout
        return float(done.stderr.splitlines()[-1])

    assert peak("*.parquet") < peak("0[0-3].parquet") + 40
