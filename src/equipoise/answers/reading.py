"""What a detector makes of single answers: the label and the words it rests on, for people who check the instrument."""

from __future__ import annotations

import csv
import io
import itertools
import sys
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson

from equipoise.authoring import Detector, Probe
from equipoise.errors import BadFile, InputError, StorageError
from equipoise.measuring.accuracy import find_labels
from equipoise.schema import ANSWER

BATCH = 2_000
STDIN = "-"


@dataclass(frozen=True, kw_only=True)
class Read:
    """How one answer was read."""

    label: str | None
    """None where nothing is decided."""
    words: list[str]
    reading: str


def read_answers_of(probe: Probe, rows: Iterable[Mapping[str, Any]]) -> Iterator[Read]:
    """Read the answers of rows one after the other, in order."""
    rows = iter(rows)
    while batch := list(itertools.islice(rows, BATCH)):
        answers = [row[ANSWER] for row in batch]
        for answer, label in zip(answers, find_labels(probe.detector, answers), strict=True):
            yield Read(label=label or None, words=find_words(probe.detector, answer, label), reading=probe.reading)


def find_words(detector: Detector, answer: str, label: str) -> list[str]:
    """The words that speak for the label; all that were read if none speaks for it alone, as for "mixed"."""
    if not label:
        return []
    spans = detector.spans(answer)
    own = [span for span in spans if span.group == label] or spans
    return [answer[span.start : span.end].strip() for span in own]


def read_rows(source: str) -> Iterator[dict[str, str]]:
    """Rows with an `answer`, from a CSV file (by its ending), a JSONL file, or JSONL on stdin (`-`)."""
    if source == STDIN:
        yield from _json_rows("stdin", sys.stdin.buffer)
        return
    path = Path(source)
    try:
        with path.open("rb") as file:
            yield from _csv_rows(source, file.read()) if path.suffix.lower() == ".csv" else _json_rows(source, file)
    except FileNotFoundError:
        raise BadFile(f"There is no file {path}.") from None
    except OSError as error:
        raise StorageError(f"{path} cannot be read: {error.strerror}.") from None


def refuse_prompts(detector: Detector) -> None:
    """A detector that needs the prompt cannot read an answer alone."""
    if detector.uses:
        raise InputError(
            f"The detector {detector.name!r} needs {', '.join(detector.uses)} of the prompt beside the answer. "
            "Score the answers with their ids instead: equipoise score"
        )


def _json_rows(source: str, lines: Iterable[bytes]) -> Iterator[dict[str, str]]:
    for number, line in enumerate(lines, 1):
        if line.strip():
            try:
                row = orjson.loads(line)
            except orjson.JSONDecodeError as error:
                raise BadFile(f"{source}, line {number}: not JSON: {error}.") from None
            yield _check(row, f"{source}, line {number}")


def _csv_rows(source: str, content: bytes) -> Iterator[dict[str, str]]:
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise BadFile(f"{source}: not UTF-8 at byte {error.start} of the file.") from None
    csv.field_size_limit(2**31 - 1)
    for number, row in enumerate(csv.DictReader(io.StringIO(text, newline="")), 1):
        yield _check(row, f"{source}, row {number}")


def _check(row: object, where: str) -> dict[str, str]:
    if not isinstance(row, dict) or not isinstance(row.get(ANSWER), str):
        raise BadFile(f"{where}: a field {ANSWER} with text is needed. Got {str(row)[:60]!r} instead.")
    return row
