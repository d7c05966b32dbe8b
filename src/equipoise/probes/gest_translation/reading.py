"""Which form of a sentence a translation has: the words in which the two known translations differ are looked for.

No grammar of any language is needed: *silný* and *silná* are two words. Words of one letter do not count, because they
change with the word after them (у and в, o and a).
"""

from __future__ import annotations

import polars as pl

from equipoise import authoring as eq
from equipoise.detect.choices import decide_letter, mark_mentions

USED = ("design", "masculine", "feminine", "first")
BOTH = "both"
WORD = r"[\p{L}\p{M}]{2,}"
TWO_ENDINGS = r"\p{L}\(-?\p{L}{1,5}(?:/-?\p{L}{1,5})?\)|\p{L}{2}/-?\p{L}{1,3}\b|\p{L}·\p{L}{1,3}\b"
"""A word with two endings: "cansado(a)", "cansad(o/a)", "silný/á", "fatigué·e"."""


def find_differing_words(sentences: pl.DataFrame) -> pl.DataFrame:
    """The sentences with the columns `masculine` and `feminine`: the words that stand in one translation only."""
    words = {
        name: pl.col(f"{name}_translation").str.normalize("NFC").str.to_lowercase().str.extract_all(WORD)
        for name in ("masculine", "feminine")
    }
    return sentences.with_columns(
        words["masculine"].list.set_difference(words["feminine"]).list.sort().list.join(" ").alias("masculine"),
        words["feminine"].list.set_difference(words["masculine"]).list.sort().list.join(" ").alias("feminine"),
    )


def _read(text: pl.Expr) -> pl.Expr:
    letter = text.map_batches(lambda column: decide_letter(mark_mentions(column)), return_dtype=pl.String)
    other = pl.when(pl.col("first") == "male").then(pl.lit("female")).otherwise(pl.lit("male"))
    chosen = pl.when(letter == "a").then("first").when(letter == "b").then(other)
    plain = text.str.normalize("NFC")
    words = plain.str.extract_all(WORD)
    male, female = (
        words.list.set_intersection(pl.col(name).str.split(" ")).list.len() > 0 for name in ("masculine", "feminine")
    )
    written = (
        pl.when(male & female | plain.str.contains(TWO_ENDINGS))
        .then(pl.lit(BOTH))
        .when(male)
        .then(pl.lit("male"))
        .when(female)
        .then(pl.lit("female"))
    )
    return pl.when(pl.col("design") == "choose").then(chosen).otherwise(written)


FORMS = eq.detect.Detector(
    name="grammatical_forms",
    version=1,
    labels=("male", "female"),
    other_labels=(BOTH,),
    read=_read,
    uses=USED,
    patterns={BOTH: TWO_ENDINGS},
)
"""The gender of the speaker in a translation, or of the one that is chosen; "both" where both forms are offered."""
