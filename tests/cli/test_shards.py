"""`prompts --shards`, `score` over folders and patterns, and partials: the numbers of one file, however it is cut."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
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
from equipoise.schema import ANSWER, ID, ITEM, ITEM_NUMBER, REPETITION, text_column

PLAN = ("hiring_an", "--sample", "80", "--repeat", "2")
PROBE = ("--probe", *PLAN)


@pytest.fixture(scope="module")
def shards(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The answers of a reference model to prompts in four shards, beside what tools leave in folders."""
    folder = tmp_path_factory.mktemp("shards")
    planned, rng = equipoise.plan("hiring_an", sample=80, repeat=2), np.random.default_rng(1)
    for number in range(4):
        prompts = planned.take(10 * number, 10 * (number + 1))
        prompts = prompts.with_columns(pl.Series(ITEM_NUMBER, 10 * number + np.arange(20) // 2))
        parts = []
        for repetition in (1, 2):
            texts = get_probe("hiring_an").simulate(prompts, "pro-masculine", rng)
            parts.append(
                prompts.select(
                    ID,
                    ITEM_NUMBER,
                    pl.lit(repetition).alias(REPETITION),
                    text_column(ANSWER, texts),
                )
            )
        pl.concat(parts).write_parquet(folder / f"prompts-0000{number + 1}.parquet")
    (folder / "_SUCCESS").touch()
    (folder / ".hidden.parquet").touch()
    return folder


@pytest.fixture
def folder(command: Command, shards: Path) -> Path:
    """A copy of them, `answers` in the folder of the test."""
    return Path(shutil.copytree(shards, "answers"))


@pytest.fixture(scope="module")
def expected(shards: Path) -> dict[str, Any]:
    """What all of them together give, as JSON."""
    whole = pl.concat([pl.read_parquet(path) for path in sorted(shards.glob("prompts-*"))])
    result = equipoise.score("hiring_an", whole, sample=80, repeat=2)
    found: dict[str, Any] = json.loads(json.dumps({"schema": "equipoise/score/1", **result.to_dict()}))
    return found


def test_shards_of_prompts_hold_whole_items_and_their_numbers(command: Command) -> None:
    outcome = command("prompts", *PLAN, "--format", "parquet", "--shards", "4", "-o", "prompts")
    assert (outcome.code, outcome.err) == (0, "80 prompts of hiring_an, 2 times each, in 4 files\n")
    paths = sorted(Path("prompts").iterdir())
    assert [path.name for path in paths] == [f"prompts-0000{number}.parquet" for number in (1, 2, 3, 4)]
    shards = [pl.read_parquet(path) for path in paths]
    assert [shard.height for shard in shards] == [40] * 4  # ten items, two prompts each, asked twice
    together = pl.concat(shards)
    assert together.columns[:4] == [ID, REPETITION, ITEM_NUMBER, ITEM]
    planned = equipoise.plan("hiring_an", sample=80, repeat=2).prompts()
    assert together.filter(repetition=2).drop(REPETITION, ITEM_NUMBER).equals(planned)
    assert together.select(ITEM, ITEM_NUMBER).unique(maintain_order=True)[ITEM_NUMBER].to_list() == list(range(40))


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize(
    "files",
    [
        ("answers",),
        ("answers/prompts-*.parquet",),
        ("answers/prompts-0000[12].parquet", "answers/*-0000[34].*"),
    ],
    ids=["folder", "pattern", "two patterns"],
)
def test_a_folder_or_a_pattern_gives_the_numbers_of_one_file(
    command: Command,
    expected: dict[str, Any],
    files: tuple[str, ...],
) -> None:
    outcome = command("score", *files, *PROBE, "--json")
    assert json.loads(output(outcome)) == expected
    assert outcome.err == "160 answers read, 160 matched to the plan\n"


def test_shards_of_lines_are_scored_too(
    command: Command,
    expected: dict[str, Any],
    folder: Path,
) -> None:
    for path in folder.glob("prompts-*"):
        pl.read_parquet(path).drop(ITEM_NUMBER).write_ndjson(path.with_suffix(".jsonl"))
        path.unlink()
    assert json.loads(output(command("score", folder, *PROBE, "--json"))) == expected


@pytest.fixture
def partials(command: Command, folder: Path) -> Path:
    """The folder of the partials of the four shards."""
    Path("partials").mkdir()
    for number in (1, 2, 3, 4):
        partial = f"partials/{number}.partial"
        shard = folder / f"prompts-0000{number}.parquet"
        outcome = command("score", shard, *PROBE, "--partial", partial)
        assert (outcome.code, outcome.out) == (0, ""), outcome.err
        told = f"40 answers read, 40 matched to the plan\n40 attempts in {partial}\n"
        assert outcome.err == told
    return Path("partials")


def test_partials_of_an_array_of_jobs_are_added(
    command: Command,
    expected: dict[str, Any],
    partials: Path,
) -> None:
    assert json.loads(output(command("score", partials, "--json"))) == expected


def test_partials_of_partials_are_added(
    command: Command,
    expected: dict[str, Any],
    partials: Path,
) -> None:
    output(command("score", "partials/[123].partial", "--partial", "most.partial"))
    added = output(command("score", "most.partial", partials / "4.partial", "--json"))
    assert json.loads(added) == expected


def test_some_of_the_partials_are_incomplete(command: Command, partials: Path) -> None:
    one = command("score", partials / "1.partial")
    assert one.code == 3
    assert "diff_acceptance_rate" in one.out
    allowed = command("score", partials / "1.partial", "--allow-missing", "0.75")
    assert allowed.code == 0


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        (("answers",), 2, "One probe is needed"),
        (
            ("answers", *PROBE, "--engine", "spark"),
            2,
            "--engine must be local, ray or ray:ADDRESS. Got 'spark'",
        ),
        (("answers", *PROBE, "--engine", "local:7"), 2, "Got 'local:7' instead."),
        (("nothing*", *PROBE), 2, "There is no file nothing*."),
        (
            ("empty", *PROBE),
            2,
            "The folder empty holds no answers: no file that ends with .parquet",
        ),
        (
            ("answers", "answers/prompts-00002.parquet", *PROBE),
            2,
            "40 attempts are in two partials",
        ),
        (("answers", *PROBE, "--partial", "none/x.partial"), 5, "there is no folder none"),
        (("one.partial", "--probe", "hiring_an"), 2, "Leave out the options that say it."),
        (("one.partial", "one.partial"), 2, "40 attempts are in two partials, one of them at"),
        (("one.partial", "--seed", "3"), 2, "Leave out the options that say it."),
        (
            ("one.partial", "answers/prompts-00002.parquet"),
            2,
            "Answers and partials (.partial) cannot be mixed.",
        ),
        (
            ("one.partial", "other.partial"),
            6,
            "Partials of different setups cannot be added: sample is 80 in one",
        ),
    ],
)
def test_what_is_refused(
    command: Command,
    folder: Path,
    words: tuple[str, ...],
    code: int,
    message: str,
) -> None:
    Path("empty").mkdir()
    first = folder / "prompts-00001.parquet"
    if words[0] == "one.partial":
        output(command("score", first, *PROBE, "--partial", "one.partial"))
        output(command("score", first, *PROBE, "--sample", "82", "--partial", "other.partial"))
    outcome = command("score", *words)
    assert (outcome.code, outcome.out) == (code, ""), outcome.err
    assert message in outcome.err


def test_the_same_answers_in_two_shards_are_refused(command: Command, folder: Path) -> None:
    copy = (folder / "prompts-00002.parquet").read_bytes()
    (folder / "copy.parquet").write_bytes(copy)
    outcome = command("score", folder, *PROBE)
    assert outcome.code == 2
    assert "40 attempts are in two partials" in outcome.err


def test_a_folder_may_hold_lines_and_empty_shards_and_says_what_it_leaves_out(
    command: Command,
    expected: dict[str, Any],
    folder: Path,
) -> None:
    lines = folder / "prompts-00001.parquet"
    pl.read_parquet(lines).drop(ITEM_NUMBER).write_ndjson(lines.with_suffix(".jsonl"))
    pl.read_parquet(lines)[:0].write_parquet(lines)
    (folder / "more.jsonl.gz").touch()
    (folder / "folder.parquet").mkdir()
    outcome = command("score", folder, *PROBE, "--json")
    assert json.loads(output(outcome)) == expected
    assert outcome.err.startswith("left out: folder.parquet, more.jsonl.gz (")


def test_a_folder_of_empty_shards_holds_no_answers(command: Command, folder: Path) -> None:
    for path in folder.glob("prompts-0000[1-4]*"):
        pl.read_parquet(path)[:0].write_parquet(path)
    (folder / "empty.jsonl").touch()
    outcome = command("score", folder, *PROBE)
    assert outcome.code == 2
    assert "holds no answers." in outcome.err


def test_progress_is_shown_file_by_file(
    command: Command,
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(progress, "SECONDS_BETWEEN_LINES", 0.0)
    outcome = command("score", folder, *PROBE, "--json")
    lines = outcome.err.splitlines()
    counted = [line.partition(" · ")[0] for line in lines[:4]]
    assert counted == [f"{number}/4 files" for number in (1, 2, 3, 4)]
    assert "40 answers" in lines[0]
    assert lines[0].endswith(" left")
    assert "160 answers" in lines[3]


def test_a_partial_of_nothing_is_refused(command: Command, folder: Path) -> None:
    plan = ("--seed", "4", "--sample", "2", "--partial", "x.partial")
    refused = command("score", folder, *PROBE, *plan)
    assert refused.code == 2
    assert "None of the 160 answers belongs to a planned prompt." in refused.err
    assert not Path("x.partial").exists()


def test_a_partial_of_a_smaller_plan_says_what_is_left_out(command: Command, folder: Path) -> None:
    plan = ("--sample", "78", "--repeat", "1", "--partial", "x.partial")
    once = command("score", folder, *PROBE, *plan)
    assert once.code == 0
    assert re.search(r"\d+ answers are surplus", once.err)
    assert re.search(r"\d+ answers belong to no planned prompt", once.err)


def test_answers_to_another_probe_are_refused(command: Command, folder: Path) -> None:
    outcome = command("score", folder, "--probe", "jobs_lum")
    assert outcome.code == 2
    assert "None of the 160 answers belongs to a planned prompt." in outcome.err


def test_what_ray_writes_of_a_worker_that_died_is_not_among_the_results(
    command: Command,
    expected: dict[str, Any],
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def score(planned: Plan, files: list[Path], names: Names, **_: Any) -> Iterator[Partial]:
        sys.stdout.write("(raylet) A worker died or was killed while executing a task.\n")
        yield from score_shards(planned, files, names)

    monkeypatch.setattr(ray_engine, "score_shards", score)
    outcome = command("score", folder, *PROBE, "--engine", "ray", "--json")
    assert json.loads(output(outcome)) == expected
    assert "(raylet) A worker died" in outcome.err


MEASURED = """
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
"""A command that then says how many megabytes it needed at most."""


def measure_peak(pattern: Path) -> float:
    words = ["score", str(pattern), "--probe", "hiring_an", "--sample", "24000", "--json"]
    words += ["--reading", "specified", "--allow-missing", "1"]
    started = [sys.executable, "-c", MEASURED, *words]
    done = subprocess.run(started, capture_output=True, text=True, check=True)
    assert '"diff_acceptance_rate"' in done.stdout
    return float(done.stderr.splitlines()[-1])


@pytest.mark.skipif(sys.platform != "linux", reason="The peak of memory is read from /proc.")
def test_memory_is_bounded_by_a_shard(tmp_path: Path) -> None:
    """Twelve shards of 8 MB need hardly more memory than four of them."""
    planned = equipoise.plan("hiring_an", sample=24_000)
    text = "You have been selected. We thank you for your patience and for your interest in our house. "
    filler = pl.lit(text * 70)
    for number in range(12):
        prompts = planned.take(1_000 * number, 1_000 * (number + 1))
        items = pl.Series(ITEM_NUMBER, 1_000 * number + np.arange(2_000) // 2)
        answers = prompts.select(ID, (filler + pl.col(ID)).alias(ANSWER), items)
        answers.write_parquet(tmp_path / f"{number:02}.parquet")
    all_shards = measure_peak(tmp_path / "*.parquet")
    assert all_shards < measure_peak(tmp_path / "0[0-3].parquet") + 40
