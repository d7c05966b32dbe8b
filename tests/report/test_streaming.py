"""A run with many answers is exported and reported without holding them all."""

from __future__ import annotations

import subprocess
import sys
import weakref
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from msgspec.structs import replace

from equipoise.measuring.plan import plan
from equipoise.models.protocol import Reply
from equipoise.report import exports
from equipoise.report.html.sections import SAMPLES
from equipoise.report.html.write import make_page
from equipoise.runs.file import reader
from equipoise.runs.file.reader import RunReader
from equipoise.runs.file.store import RunFile
from equipoise.runs.file.values import Attempt
from equipoise.runs.run import Run
from equipoise.schema import ANSWER, ID, Status
from report.fakes import alone
from runs.fakes import SETTINGS

ANSWER_BYTES = 100_000
REPETITIONS = 8
SMALL = 24
LARGE = 960
"""Answers of the two runs."""
CONTENT_MEGABYTES = LARGE * ANSWER_BYTES // 2**20
MOST_MEGABYTES = CONTENT_MEGABYTES * 2 // 3
"""Beyond what the same work on few answers needs. All answers at once take more than their content;
one batch of a megabyte after another takes a few megabytes, and what the allocator keeps of them."""
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
    """A run with few answers and one with about 90 MB of them, of the same length."""
    folder = tmp_path_factory.mktemp("streaming")
    text = "The wind went over the hills and the town slept on. " * (ANSWER_BYTES // 52)
    small = folder / "small.equipoise"
    large = folder / "large.equipoise"
    # As specified, which takes a tenth of the time: it is the memory that counts here.
    settings = replace(SETTINGS, spec=replace(SETTINGS.spec, reading="specified"))
    for path, answers in ((small, SMALL), (large, LARGE)):
        planned = plan("jobs_lum", sample=answers // REPETITIONS, repeat=REPETITIONS)
        with RunFile.create(path, record=settings, plans=[planned]) as file:
            for prompt in planned.prompts()[ID]:
                file.store(answer_prompt(prompt, text))
    return small, large


def answer_prompt(prompt: str, text: str) -> list[Attempt]:
    """The attempts at a prompt: as many about a man as about a woman."""
    attempts = []
    for repetition in range(1, REPETITIONS + 1):
        word = "He" if repetition % 2 else "She"
        reply = Reply(status=Status.OK, answer=f"{word} wrote. {text}")
        attempt = Attempt(probe="jobs_lum", prompt_id=prompt, repetition=repetition, reply=reply)
        attempts.append(attempt)
    return attempts


@pytest.fixture(scope="module")
def peaks(runs: tuple[Path, Path]) -> tuple[int, int]:
    """The peak memory of a process after the small run, and then after the large one, in MB."""
    command = [sys.executable, "-c", SCRIPT, *map(str, runs)]
    output = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    before, after = map(int, output.split())
    return before, after


@pytest.mark.fault("D8")
@pytest.mark.skipif(sys.platform != "linux", reason="needs the peak memory of a process")
def test_a_report_and_exports_need_no_memory_for_all_answers(runs: tuple[Path, Path], peaks: tuple[int, int]) -> None:
    before, after = peaks
    assert runs[1].stat().st_size > 0.9 * CONTENT_MEGABYTES * 2**20
    assert after - before < MOST_MEGABYTES


@pytest.mark.skipif(sys.platform != "linux", reason="uses the files of the process that is measured")
@pytest.mark.parametrize("ending", ["html", "csv", "jsonl", "parquet"])
def test_a_report_and_exports_of_many_answers_are_written(
    runs: tuple[Path, Path], peaks: tuple[int, int], ending: str
) -> None:
    assert runs[1].with_suffix(f".{ending}").stat().st_size > 2**14


@pytest.mark.skipif(sys.platform != "linux", reason="uses the files of the process that is measured")
def test_every_answer_is_exported_whole(runs: tuple[Path, Path], peaks: tuple[int, int]) -> None:
    whole = pl.col(ANSWER).str.len_bytes() > ANSWER_BYTES - 52
    table = pl.scan_parquet(runs[1].with_suffix(".parquet"))
    assert table.select(whole).collect().to_series().to_list() == [True] * LARGE


class AliveTables:
    """Hands out tables one after another and counts how many of them are alive."""

    def __init__(self) -> None:
        self.handed_out = 0
        self.most_alive = 0
        self._alive = 0

    def watch(self, table: pl.DataFrame) -> None:
        self.handed_out += 1
        self._alive += 1
        self.most_alive = max(self.most_alive, self._alive)
        weakref.finalize(table, self._forget)

    def _forget(self) -> None:
        self._alive -= 1


@pytest.fixture
def one_prompt_each(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each batch that is read of a run file has the answers to one prompt."""
    monkeypatch.setattr(reader, "BATCH_BYTES", REPETITIONS * ANSWER_BYTES // 2)


ONE_AND_THE_NEXT = 2
"""A table is let go when the next one takes its place."""


@pytest.mark.fault("D8")
@pytest.mark.usefixtures("one_prompt_each")
@pytest.mark.parametrize("form", ["csv", "jsonl", "parquet"])
def test_an_export_holds_one_table_and_the_next(
    runs: tuple[Path, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, form: str
) -> None:
    alive = AliveTables()
    read = exports.read_tables

    def read_watched(*arguments: Any) -> Iterator[pl.DataFrame]:
        for table in read(*arguments):
            alive.watch(table)
            yield table

    monkeypatch.setattr(exports, "read_tables", read_watched)
    exports.export(Run.open(runs[0]), tmp_path / "out", "attempts", form)
    assert alive.handed_out >= SMALL // REPETITIONS
    assert alive.most_alive <= ONE_AND_THE_NEXT


@pytest.mark.fault("D8")
@pytest.mark.usefixtures("one_prompt_each")
def test_results_are_made_of_one_batch_of_answers_and_the_next(
    runs: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    alive = AliveTables()
    read = RunReader.attempts

    def read_watched(file: RunReader, *arguments: Any) -> Iterator[Any]:
        for prompts, attempts in read(file, *arguments):
            alive.watch(attempts)
            yield prompts, attempts

    monkeypatch.setattr(RunReader, "attempts", read_watched)
    Run.open(runs[0]).results()
    assert alive.handed_out >= SMALL // REPETITIONS
    assert alive.most_alive <= ONE_AND_THE_NEXT


@pytest.mark.fault("D8")
def test_a_full_report_keeps_the_texts_of_only_a_few_answers(one: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    run = alone(one, "jobs_lum")
    asked_for: list[int] = []
    read = run.transcript_batches

    def read_some(probe: str, among: Any = None) -> Iterator[pl.DataFrame]:
        # Without `among`, batches pass through to be read by the other reading.
        if among is not None:
            asked_for.append(len(among))
        return read(probe, among)

    monkeypatch.setattr(run, "transcript_batches", read_some)
    make_page([run], full=True)
    assert asked_for
    assert sum(asked_for) <= 2 * SAMPLES < run.counts.ended


@pytest.mark.fault("D8")
@pytest.mark.usefixtures("one_prompt_each")
@pytest.mark.parametrize("form", ["csv", "jsonl"])
def test_an_export_writes_each_batch_before_it_hands_out_the_next(
    runs: tuple[Path, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, form: str
) -> None:
    run = Run.open(runs[0])
    read = run.transcript_batches
    written = []
    handed_out = [0]
    with (tmp_path / "out").open("wb") as file:

        def read_watched(probe: str, among: Any = None) -> Iterator[pl.DataFrame]:
            for batch in read(probe, among):
                written.append(file.tell())
                handed_out.append(handed_out[-1] + int(batch[ANSWER].str.len_bytes().sum()))
                yield batch

        monkeypatch.setattr(run, "transcript_batches", read_watched)
        exports.write(run, file, "attempts", form)
    # The first batch is read twice: once for the columns of the table.
    assert len(written) > SMALL // REPETITIONS
    for_columns = handed_out[1]
    for place in range(2, len(written)):
        assert written[place] >= handed_out[place] - for_columns
