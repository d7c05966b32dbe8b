"""A run with many answers is exported and reported without holding them all."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import polars as pl
import pytest
from msgspec.structs import replace

from equipoise.measuring.plan import plan
from equipoise.models.protocol import Reply
from equipoise.runs.file.store import RunFile
from equipoise.runs.file.values import Attempt
from equipoise.schema import ANSWER, ID, Status
from runs.fakes import SETTINGS

ANSWER_BYTES = 100_000
ANSWERS, REPETITIONS = 240, 8
MOST_MEGABYTES = 16
"""Beyond what the same work on few answers needs: two thirds of all answers together."""
SCRIPT = """
import re, sys
from pathlib import Path
from equipoise.report import exports
from equipoise.report.html.write import write_report
from equipoise.runs.file import reader

reader.BATCH_BYTES = exports.GROUP_BYTES = 1_000_000
for run in map(Path, sys.argv[1:]):
    write_report(run, run.with_suffix(".html"))
    for form in ("csv", "jsonl", "parquet"):
        exports.export(run, run.with_suffix(f".{form}"), "attempts", form)
    print(int(re.search(r"VmHWM:\\s+(\\d+)", Path("/proc/self/status").read_text())[1]) // 1024)
"""
"""Reports and exports a small run, so that all is loaded, and then a large one; the peak after each, in MB."""


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """A run with few answers and one with 24 MB of them, of the same length."""
    folder = tmp_path_factory.mktemp("streaming")
    text = "The wind went over the hills and the town slept on. " * (ANSWER_BYTES // 52)
    paths = folder / "small.equipoise", folder / "large.equipoise"
    for path, items in zip(paths, (3, ANSWERS // REPETITIONS), strict=True):
        planned = plan("jobs_lum", sample=items, repeat=REPETITIONS)
        # As specified, which takes a tenth of the time: it is the memory that counts here.
        settings = replace(SETTINGS, spec=replace(SETTINGS.spec, reading="specified"))
        with RunFile.create(path, record=settings, plans=[planned]) as file:
            for prompt in planned.prompts()[ID]:
                texts = (f"{word} wrote. {text}" for word in ("He", "She") * 4)
                replies = [Reply(status=Status.OK, answer=answer) for answer in texts]
                file.store(
                    Attempt(probe="jobs_lum", prompt_id=prompt, repetition=repetition, reply=reply)
                    for repetition, reply in enumerate(replies[:REPETITIONS], 1)
                )
    return paths


@pytest.mark.fault("D8")
@pytest.mark.skipif(sys.platform != "linux", reason="needs the peak memory of a process")
def test_answers_pass_through_without_being_held(runs: tuple[Path, Path]) -> None:
    large = runs[1]
    command = [sys.executable, "-c", SCRIPT, *map(str, runs)]
    output = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    before, after = map(int, output.split())
    assert large.stat().st_size > 22 * 2**20
    assert after - before < MOST_MEGABYTES
    for ending in ("html", "csv", "jsonl"):
        assert large.with_suffix(f".{ending}").stat().st_size > 2**14
    whole = pl.col(ANSWER).str.len_bytes() > ANSWER_BYTES - 52
    answers = pl.scan_parquet(large.with_suffix(".parquet")).select(whole).collect().to_series()
    assert answers.to_list() == [True] * ANSWERS
