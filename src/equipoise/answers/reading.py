"""What a detector makes of single answers: the label and the words it rests on, for people who check the instrument."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

import polars as pl

from equipoise.answers.matching import CANDIDATES, ROW, PromptIndex
from equipoise.authoring import Detector, Probe
from equipoise.errors import BadFile
from equipoise.measuring.accuracy import find_labels
from equipoise.measuring.plan import Plan
from equipoise.schema import ANSWER, ID, PROMPT


@dataclass(frozen=True, kw_only=True)
class Read:
    """How one answer was read."""

    label: str | None
    """None where nothing is decided."""
    words: list[str]
    reading: str


def read_answers(probe: Probe, tables: Iterable[pl.DataFrame], make_plan: Callable[[], Plan]) -> Iterator[Read]:
    """Read answers one after the other, in order. The plan is made only if the detector uses more than the answer."""
    detector = probe.detector
    index: PromptIndex | None = None
    before = 0
    for table in tables:
        prompts = None
        if detector.uses == (PROMPT,) and not table[PROMPT].null_count():
            prompts = table.select(PROMPT)
        elif detector.uses:
            index = index or PromptIndex(make_plan().batches(), keep=detector.uses)
            prompts = _find_prompts(detector, index, table.select(ID, PROMPT).with_row_index(ROW, before + 1))
        answers = table[ANSWER].fill_null("").to_list()
        labels = find_labels(detector, answers, prompts)
        for label, words in zip(labels, find_words(detector, answers, labels), strict=True):
            yield Read(label=label or None, words=words, reading=probe.reading)
        before += table.height


def _find_prompts(detector: Detector, index: PromptIndex, keys: pl.DataFrame) -> pl.DataFrame:
    """The columns that the detector uses, of the prompt of each answer."""
    found = index.find(keys)
    if found.height < keys.height:
        unknown = min({*keys[ROW]} - {*found[ROW]})
        raise BadFile(
            f"Answer {unknown}: the {ID} or the {PROMPT} of a planned prompt is needed, because the detector "
            f"{detector.name!r} uses {', '.join(detector.uses)} of it. Were the prompts planned with other --sample, "
            "--seed or --set?"
        )
    ambiguous = found.filter(pl.col(CANDIDATES) > 1)
    if ambiguous.height and detector.uses != (PROMPT,):
        raise BadFile(f"Answer {ambiguous[ROW][0]}: several prompts have this text; give the {ID}.")
    return index.join_kept(found).select(detector.uses)


def find_words(detector: Detector, answers: Sequence[str], labels: Sequence[str]) -> Iterator[list[str]]:
    """For each answer the words that speak for its label; all that were read if none speaks for it alone."""
    for answer, label, spans in zip(answers, labels, detector.spans(answers), strict=True):
        own = [span for span in spans if span.group == label] or spans if label else []
        yield [answer[span.start : span.end].strip() for span in own]
