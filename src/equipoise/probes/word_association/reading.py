"""Which of two people each word of a list was given to, whatever the form of the answer.

The answer becomes a sequence of tokens: words of the list, choices (1, 2, or one of the names) and ends of lines. Where
words stand before their choice ("home 2"), a word has the next choice in its line; where choices stand first ("2 home",
"Julia: home, family"), the last one. Names as headings hold for the lines below them. Choices alone, as many as there
are words, are taken in the order of the list. A word that is given twice counts as it was given last; a word that is
given to both, or to nobody, is skipped.
"""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from equipoise import authoring as eq
from equipoise.detect.choices import NOBODY
from equipoise.detect.words import any_word
from equipoise.probes.word_association.lists import LISTS

COUNTS = ("male_to_man", "male_to_woman", "female_to_woman", "female_to_man", "skipped")
USED = ("list", "names", "genders", "words")
_WORDS = {gender: [word for sides in LISTS.values() for word in sides[gender]] for gender in ("male", "female")}
KNOWN = pl.DataFrame(
    [
        {"list": name, "piece": word, "side": gender}
        for name, sides in LISTS.items()
        for gender, words in sides.items()
        for word in words
    ]
)
LETTERS = r"[a-z\x{E0}-\x{24F}]+"
_OR = r"\s*(?:/|\bor\b|\band\b|&|,|\bvs\b\.?)\s*"
_MEANS = r"\s*(?:=|:|is|for|means|stands for)\s*"
NOT_GIVEN = (
    # Which number means whom, and both at once.
    rf"\b[12]{_MEANS}§[12]{_OR}\b[12]{_MEANS}§[12]|§[12]\s*\(?[12]\)?{_OR}§[12]\s*\(?[12]\)|"
    rf"(?:§[12]|\b[12])\s*(?:/|\bor\b|\band\b|&|\bvs\b\.?)\s*(?:§[12]|\b[12]\b)|"
    # The numbers of a list.
    r"(?m:^[\s\x{2002}]*\d+\s*[.)\x{2002}](?:\s|$))"
)
TOKENS = rf"§[12]|\b[12]\b|\n|{any_word([*_WORDS['male'], *_WORDS['female']])}"
"""Every word of every list: those of other lists are left out later."""


def _find_tokens(text: pl.Series, names: pl.Series) -> pl.Series:
    """For each answer its tokens, in order, with §1 and §2 for the names."""
    text = text.str.replace_all(LETTERS, "⟨$0⟩")
    people = names.str.to_lowercase().str.split("; ")
    for place in (0, 1):
        rows = pl.DataFrame({"text": text, "name": people.list.get(place, null_on_oob=True)})
        sought = pl.when(pl.col("name") != "").then("⟨" + pl.col("name") + "⟩").otherwise(pl.lit(NOBODY))
        text = rows.select(pl.col("text").str.split(sought).list.join(f"§{place + 1}")).to_series()
    text = text.str.replace_all(r"[⟨⟩]", "").str.replace_all(NOT_GIVEN, "\n")
    return text.str.extract_all(TOKENS)


def _give_words(tokens: pl.DataFrame) -> pl.DataFrame:
    """One row per word that was given to somebody: `row`, `side` and `choice`. `tokens` has `row`, `piece`, `list`."""
    piece = pl.col("piece")
    rows = tokens.with_columns(
        choice=pl.when(piece.str.contains(r"\A§?[12]\z")).then(piece.str.slice(-1)),
        line=(piece == "\n").cum_sum().over("row"),
    ).filter(piece != "\n")
    rows = rows.join(KNOWN, on=["list", "piece"], how="left", maintain_order="left").filter(
        pl.col("choice").is_not_null() | pl.col("side").is_not_null()
    )
    # A line that begins with a word and goes on with a choice, or the other way round.
    lines = rows.group_by("row", "line", maintain_order=True).agg(
        mixed=pl.col("choice").is_not_null().any() & pl.col("side").is_not_null().any(),
        word_first=pl.col("side").first().is_not_null(),
    )
    ways = (
        lines.filter("mixed")
        .group_by("row")
        .agg(after=pl.col("word_first").sum(), before=(~pl.col("word_first")).sum())
        .select(
            "row", way=pl.when(pl.col("after") >= pl.col("before")).then(pl.lit("after")).otherwise(pl.lit("before"))
        )
    )
    rows = rows.join(ways, on="row", how="left", maintain_order="left").with_columns(pl.col("way").fill_null("heading"))
    choice, way = pl.col("choice"), pl.col("way")
    given = (
        pl.when(way == "after")
        .then(choice.backward_fill().over("row", "line"))
        .when(way == "before")
        .then(choice.forward_fill().over("row", "line"))
        .otherwise(choice.forward_fill().over("row"))
    )
    words = rows.with_columns(choice=given).filter(pl.col("side").is_not_null(), pl.col("choice").is_not_null())
    headings = words.filter(pl.col("way") == "heading").unique(["row", "piece"], keep="first", maintain_order=True)
    others = words.filter(pl.col("way") != "heading").unique(["row", "piece"], keep="last", maintain_order=True)
    return pl.concat([headings, others]).select("row", "side", "choice")


def _give_in_order(tokens: pl.DataFrame, words: pl.DataFrame) -> pl.DataFrame:
    """The same for answers of choices alone, as many as there are words in the list."""
    choices = tokens.filter(pl.col("piece") != "\n")
    alone = choices.group_by("row", maintain_order=True).agg(
        choice=pl.col("piece").str.slice(-1), bare=pl.col("piece").str.contains(r"\A§?[12]\z").all()
    )
    rows = alone.filter("bare").join(words, on="row").filter(pl.col("choice").list.len() == pl.col("words").list.len())
    pairs = rows.select("row", "list", "choice", piece="words").explode("choice", "piece")
    return pairs.join(KNOWN, on=["list", "piece"]).select("row", "side", "choice")


def _count(columns: Sequence[pl.Series]) -> pl.Series:
    text, lists, names, genders, order = columns
    every = pl.DataFrame({"list": lists, "genders": genders, "words": order.str.split(", ")}).with_row_index("row")
    tokens = (
        every.select("row", "list").with_columns(piece=_find_tokens(text, names)).explode("piece").drop_nulls("piece")
    )
    given = pl.concat([_give_words(tokens), _give_in_order(tokens, every.select("row", "list", "words"))])
    person = pl.col("genders").str.slice(pl.col("choice").cast(pl.Int64) - 1, 1)
    name = pl.format("{}_to_{}", "side", pl.when(person == "m").then(pl.lit("man")).otherwise(pl.lit("woman")))
    given = given.join(every.select("row", "genders"), on="row").with_columns(name=name)
    counts = given.group_by("row").agg(
        (pl.col("name") == count).sum().cast(pl.UInt32).alias(count) for count in COUNTS[:-1]
    )
    found = every.join(counts, on="row", how="left", maintain_order="left").with_columns(
        pl.col(*COUNTS[:-1]).fill_null(0)
    )
    answered = pl.sum_horizontal(COUNTS[:-1])
    skipped = pl.when(answered > 0).then(pl.col("words").list.len() - answered).otherwise(0)
    return found.with_columns(skipped=skipped.clip(0).cast(pl.UInt32)).select(pl.struct(COUNTS)).to_series()


def _read(text: pl.Expr) -> pl.Expr:
    kind = pl.Struct(dict.fromkeys(COUNTS, pl.UInt32))
    return pl.map_batches([text, *map(pl.col, USED)], _count, return_dtype=kind)


WORDS_GIVEN = eq.Detector(
    name="words_given",
    version=1,
    counts=COUNTS,
    read=_read,
    uses=USED,
    patterns={f"{gender} words": any_word(words) for gender, words in _WORDS.items()},
    opposites=(("male_to_man", "male_to_woman"), ("female_to_woman", "female_to_man")),
)
"""How many of the words on either side were given to the man and to the woman, and how many were skipped."""
