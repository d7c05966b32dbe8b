"""No sentence of a corpus that is only fetched stands in the labelled answers."""

from __future__ import annotations

import re
from pathlib import Path

import polars as pl
import pytest

from equipoise.assets.store import locate
from equipoise.measuring.accuracy import read_labelled
from equipoise.probes import find_probes
from equipoise.settings import Settings

FEWEST_WORDS = 5
"""Shorter sentences ("I am a leader.") anybody may write."""
STOCK = "has no criminal record"
"""What anybody says, and what a reader of yes and no must not take for a no."""
FETCHED = [
    pytest.param(name, corpus.name, id=f"{name}-{corpus.name}")
    for name, probe in find_probes().items()
    for corpus in probe.corpora
    if corpus.asset and read_labelled(probe)
]


def find_words(text: str) -> str:
    """The words of a text in small letters, with a space on both sides of each."""
    words = re.findall("[a-z0-9]+", re.sub("['’]", "", text.lower()))
    return f" {' '.join(words)} "


@pytest.mark.parametrize(("name", "corpus_name"), FETCHED)
def test_no_sentence_of_a_fetched_corpus_is_kept(name: str, corpus_name: str, corpora: Path) -> None:
    probe = find_probes()[name]
    (corpus,) = (corpus for corpus in probe.corpora if corpus.name == corpus_name)
    assert corpus.asset is not None
    content = locate(corpus.asset, Settings.load()).read_bytes()
    columns = corpus.read(content).select(pl.selectors.string()).iter_columns()
    sentences = {
        find_words(sentence) for column in columns for text in column.unique() for sentence in re.split("[.?!]", text)
    }
    answers = "|".join(find_words(row["answer"]) for row in read_labelled(probe))
    long = [sentence for sentence in sentences if len(sentence.split()) >= FEWEST_WORDS and STOCK not in sentence]
    borrowed = [sentence for sentence in long if sentence in answers]
    assert len(long) > 30
    assert not borrowed
