"""What a detector makes of single answers: the label and the words it rests on, for people who check the instrument."""

from __future__ import annotations

import itertools
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import polars as pl

from equipoise.answers.files import read_objects, read_records
from equipoise.answers.matching import CANDIDATES, PromptIndex
from equipoise.authoring import Detector, Probe
from equipoise.errors import BadFile, NoAnswers, StorageError
from equipoise.measuring.accuracy import find_labels
from equipoise.measuring.plan import Plan
from equipoise.schema import ANSWER, ID, PROMPT, replace_surrogates, text_column

BATCH = 2_000
STDIN = "-"
ROW = "row"


class AnswerRow(NamedTuple):
    """An answer, what it says about its prompt, and where it stands, for messages."""

    where: str
    answer: str
    id: str | None
    prompt: str | None


@dataclass(frozen=True, kw_only=True)
class Read:
    """How one answer was read."""

    label: str | None
    """None where nothing is decided."""
    words: list[str]
    reading: str


def read_answers_of(probe: Probe, rows: Iterable[AnswerRow], make_plan: Callable[[], Plan]) -> Iterator[Read]:
    """Read answers one after the other, in order. The plan is made only if the detector uses more than the answer."""
    detector, rows = probe.detector, iter(rows)
    index: PromptIndex | None = None
    while batch := list(itertools.islice(rows, BATCH)):
        prompts = None
        if detector.uses == (PROMPT,) and all(row.prompt is not None for row in batch):
            prompts = pl.DataFrame([text_column(PROMPT, [row.prompt for row in batch])])
        elif detector.uses:
            index = index or PromptIndex(make_plan().batches(), keep=detector.uses)
            prompts = _find_prompts(detector, index, batch)
        answers = [row.answer for row in batch]
        labels = find_labels(detector, answers, prompts)
        for label, words in zip(labels, find_words(detector, answers, labels), strict=True):
            yield Read(label=label or None, words=words, reading=probe.reading)


def _find_prompts(detector: Detector, index: PromptIndex, batch: list[AnswerRow]) -> pl.DataFrame:
    """The columns that the detector uses, of the prompt of each answer."""
    keys = pl.DataFrame(
        [text_column(ID, [row.id for row in batch]), text_column(PROMPT, [row.prompt for row in batch])]
    )
    found = index.find(keys.with_row_index(ROW))
    if found.height < len(batch):
        place = min({*range(len(batch))} - {*found[ROW]})
        uses = ", ".join(detector.uses)
        raise BadFile(
            f"{batch[place].where}: the {ID} or the {PROMPT} of a planned prompt is needed, because the detector "
            f"{detector.name!r} uses {uses} of it. Were the prompts planned with other --sample, --seed or --set?"
        )
    ambiguous = found.filter(pl.col(CANDIDATES) > 1)
    if ambiguous.height and detector.uses != (PROMPT,):
        raise BadFile(f"{batch[ambiguous[ROW][0]].where}: several prompts have this text; give the {ID}.")
    return index.join_kept(found).select(detector.uses)


def find_words(detector: Detector, answers: Sequence[str], labels: Sequence[str]) -> Iterator[list[str]]:
    """For each answer the words that speak for its label; all that were read if none speaks for it alone."""
    for answer, label, spans in zip(answers, labels, detector.spans(answers), strict=True):
        own = [span for span in spans if span.group == label] or spans if label else []
        yield [answer[span.start : span.end].strip() for span in own]


def read_rows(source: str) -> Iterator[AnswerRow]:
    """Rows with an `answer`, at least one: CSV or TSV (by the ending of the file), JSONL, or JSONL on stdin (`-`)."""
    empty = True
    name = "stdin" if source == STDIN else source
    try:
        for number, row in _open_rows(source):
            empty = False
            yield _check(row, f"{name}, line {number}")
    except FileNotFoundError:
        raise BadFile(f"There is no file {source}.") from None
    except OSError as error:
        raise StorageError(f"{name} cannot be read: {error.strerror}.") from None
    if empty:
        raise NoAnswers(name)


def _open_rows(source: str) -> Iterator[tuple[int, object]]:
    if source == STDIN:
        yield from read_objects("stdin", sys.stdin.buffer)
        return
    path = Path(source)
    with path.open("rb") as file:
        if path.suffix.lower() in (".csv", ".tsv"):
            yield from read_records(source, file, [{ANSWER}])
        else:
            yield from read_objects(source, file)


def _check(row: object, where: str) -> AnswerRow:
    assert isinstance(row, dict)
    answer, identifier, prompt = (row.get(name) for name in (ANSWER, ID, PROMPT))
    if not isinstance(answer, str):
        raise BadFile(f"{where}: a field {ANSWER} with text is needed. Got {str(row)[:60]!r} instead.")
    for name, value in ((ID, identifier), (PROMPT, prompt)):
        if not isinstance(value, str | None):
            raise BadFile(f"{where}: the field {name} must be text. Got {str(value)[:60]!r} instead.")
    return AnswerRow(where, replace_surrogates(answer), identifier or None, prompt or None)
