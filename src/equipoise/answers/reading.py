"""What a detector makes of single answers: the label and the words it rests on, for people who check the instrument."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

import polars as pl

from equipoise.answers.matching import PLACE
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
    planned = make_plan().prompts() if detector.uses else None
    before = 0
    for table in tables:
        prompts = None if planned is None else _find_prompts(detector, planned, table, before)
        answers = table[ANSWER].fill_null("").to_list()
        labels = find_labels(detector, answers, prompts)
        for label, words in zip(labels, _find_words(detector, answers, labels), strict=True):
            yield Read(label=label or None, words=words, reading=probe.reading)
        before += table.height


def _find_prompts(detector: Detector, planned: pl.DataFrame, answers: pl.DataFrame, before: int) -> pl.DataFrame:
    """The columns that the detector uses, of the prompt of each answer: by its id, or by a text that only one has."""
    places = planned.with_row_index(PLACE)
    texts = places.filter(pl.col(PROMPT).is_unique())
    found = pl.DataFrame(
        answers.select(key).join(known.select(key, PLACE), on=key, how="left", maintain_order="left")[PLACE].alias(key)
        for key, known in ((ID, places), (PROMPT, texts))
    ).select(pl.coalesce(ID, PROMPT))[ID]
    for unknown in found.is_null().arg_true():
        raise BadFile(
            f"Answer {before + unknown + 1}: the {ID} of a planned prompt is needed, or a {PROMPT} that only one has, "
            f"because the detector {detector.name!r} uses {', '.join(detector.uses)} of it. Were the prompts planned "
            "with other --sample, --seed or --set?"
        )
    return planned[found].select(detector.uses)


def _find_words(detector: Detector, answers: Sequence[str], labels: Sequence[str]) -> Iterator[list[str]]:
    """For each answer the words that speak for its label; all that were read if none speaks for it alone."""
    for answer, label, spans in zip(answers, labels, detector.spans(answers), strict=True):
        own = [span for span in spans if span.group == label] or spans if label else []
        yield [answer[span.start : span.end].strip() for span in own]
