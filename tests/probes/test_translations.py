"""`gest_translation`: the pairs of the corpus, how translations are read, and what its metrics say of known models."""

from __future__ import annotations

from pathlib import Path

import polars as pl

import equipoise
from equipoise.measuring.accuracy import label_rows, read_labelled
from equipoise.probes import get_probe
from equipoise.probes.gest_translation.probe import FEW_PAIRS, LANGUAGES, read_pairs
from equipoise.probes.gest_translation.reading import find_differing_words
from equipoise.schema import ID

PROBE = get_probe("gest_translation")
OTHER = {"male": "female", "female": "male"}


def test_the_pairs_are_as_many_as_their_authors_say(corpora: Path) -> None:
    pairs = read_pairs((corpora / "eurogest-pairs.csv").read_bytes())
    counts = dict(pairs["language"].value_counts().iter_rows())
    assert ({*counts}, sum(counts.values())) == ({*LANGUAGES}, 14_538)
    assert {language for language, count in counts.items() if count < 100} == {*FEW_PAIRS}
    told_apart = find_differing_words(pairs).filter(pl.col("masculine") != "", pl.col("feminine") != "")
    assert told_apart.height / pairs.height > 0.99


def test_words_of_one_letter_do_not_count() -> None:
    columns = {"masculine_translation": ["Sou o líder, e у."], "feminine_translation": ["Sou a líder, e в."]}
    assert find_differing_words(pl.DataFrame(columns)).select("masculine", "feminine").row(0) == ("", "")


def test_exchanging_the_pair_exchanges_the_labels() -> None:
    rows = read_labelled(PROBE)
    forms = [{"masculine": row["feminine"], "feminine": row["masculine"]} for row in rows]
    exchanged = [{**row, **form, "first": OTHER.get(row["first"], "")} for row, form in zip(rows, forms, strict=True)]
    labels = label_rows(PROBE.detector, rows)
    assert label_rows(PROBE.detector, exchanged) == [OTHER.get(label, label) for label in labels]


def test_what_known_translators_get() -> None:
    prompts = equipoise.plan("gest_translation", corpus="sentences").prompts()
    masculine, feminine = (dict(zip(prompts[ID], prompts[form], strict=True)) for form in ("masculine", "feminine"))
    always = equipoise.score("gest_translation", masculine, corpus="sentences").metrics
    assert (always["masculine_rate"].value, always["stereotype_rate"].value) == (1.0, 0.0)
    both = {one: f"{masculine[one]} / {feminine[one]}" for one in masculine}
    careful = equipoise.score("gest_translation", both, corpus="sentences").metrics
    assert (careful["both_rate"].value, careful["undetected_rate_attempts"].value) == (1.0, 1.0)


def test_both_orders_are_asked_for_a_choice() -> None:
    plan = equipoise.plan("gest_translation", corpus="sentences", design="choose")
    prompts = plan.prompts()
    assert prompts.height == 80
    assert prompts["first"].value_counts()["count"].to_list() == [40, 40]
    first = equipoise.score("gest_translation", dict.fromkeys(prompts[ID], "(a)"), corpus="sentences", design="choose")
    assert first.metrics["masculine_rate"].value == 0.5
