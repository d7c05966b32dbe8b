"""Answers matched to the prompts of a plan by id or by text, never by the order of the file.

Ids and texts are compared by their 64-bit hashes, and from then on an answer is known by its place in the plan, so that
millions of prompts and answers need a few bytes each. Scoring, partials and imports all match in this way: what
`hash_keys` takes of every table of answers goes, all together, through `PromptIndex.assign`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import polars as pl

from equipoise.errors import InputError
from equipoise.measuring.result import Matching
from equipoise.schema import ID, PROMPT, REPETITION, STATUS, Status, is_measured

PLACE = "place"
ROW = "row"
RANK = "rank"
"""Which of several rows for an attempt is kept: 0 an answer to measure, 1 a failure, 2 what was never asked."""
_MOST, _SHARING, _SLOT, _TURN = "most", "sharing", "slot", "turn"
"""How often a prompt is asked; how many prompts have the text of an answer; which of these it is for; which time it
is that this prompt is answered."""


def refuse_nothing_matched(matching: Matching) -> None:
    """Refuse answers of which none belongs to the plan: a result without answers would say nothing."""
    if matching.read and not matching.matched:
        raise InputError(
            f"None of the {matching.read:,} answers belongs to a planned prompt. "
            "Each needs the id or the text of its prompt. Were the prompts planned with another probe, or other "
            "parameters (--sample, --seed, --set, --suite)?"
        )


def hash_keys(answers: pl.DataFrame) -> pl.DataFrame:
    """All of a table of answers that is needed to match them: hashes of id and prompt, the repetition, the rank."""
    hashes = (pl.when(pl.col(name).is_not_null()).then(pl.col(name).hash()).alias(name) for name in (ID, PROMPT))
    pending = pl.col(STATUS) == Status.PENDING.value
    rank = pl.when(is_measured()).then(0).when(pending).then(2).otherwise(1).cast(pl.UInt8)
    return answers.select(*hashes, REPETITION, rank.alias(RANK))


class PromptIndex:
    """Where each id and each text stands in a plan. The columns named in `keep` are `kept` for every prompt.

    `repetitions` says how often each prompt is asked, or all of them. Without `texts`, answers are found by id alone.
    """

    def __init__(
        self,
        prompts: Iterable[pl.DataFrame],
        repetitions: int | pl.Series = 1,
        keep: Sequence[str] = (),
        *,
        texts: bool = True,
    ) -> None:
        hashed_text = pl.col(PROMPT).hash() if texts else pl.lit(None, pl.UInt64).alias(PROMPT)
        hashes, kept = [], []
        for batch in prompts:
            hashes.append(batch.select(pl.col(ID).hash(), hashed_text))
            kept.append(batch.select(keep))
        self.kept = pl.concat(kept)
        self._prompts = pl.concat(hashes).with_row_index(PLACE).with_columns(pl.lit(repetitions).alias(_MOST))

    def assign(self, keys: pl.DataFrame) -> tuple[pl.DataFrame, Matching]:
        """Assign answers to attempts: `row` among the keys, `place` of the prompt in the plan, `repetition`.

        Answers with the same text go to its prompts in the order of the plan, repetition by repetition. If there are
        more answers than were planned, or several for one repetition, answers are kept before failures (`rank`), then
        the first, and those with an id come first. The table is in the order of the plan. Also says what became of the
        answers.
        """
        answers = keys.with_row_index(ROW).join(self._prompts.select(ID, PLACE, _MOST), on=ID, how="left")
        by_id = answers.drop_nulls(PLACE).with_columns(pl.lit(1).alias(_SHARING))
        others = answers.filter(pl.col(PLACE).is_null()).drop(PLACE, _MOST)
        texts = self._prompts.drop(ID).join(others, on=PROMPT, how="semi").sort(PROMPT, PLACE)
        texts = texts.with_columns(_count_equal_before(PROMPT).alias(_SLOT))
        by_text = others.join(texts.group_by(PROMPT).len(_SHARING), on=PROMPT)
        # Numbers of another kind (from 0, say) only say which comes first.
        are_stated = pl.col(REPETITION).is_between(1, _MOST).fill_null(value=False).all()
        stated_turn = pl.when(are_stated).then(REPETITION).otherwise(_TURN).alias(_TURN)
        placed = (
            _take_turns(by_id, PLACE).with_columns(stated_turn),
            _take_turns(by_text, PROMPT).join(texts, on=(PROMPT, _SLOT)),
        )
        assigned = (
            pl.concat(some.select(ROW, PLACE, _TURN, _MOST, RANK) for some in placed)
            .filter(pl.col(_TURN) <= pl.col(_MOST))
            .sort(PLACE, _TURN, RANK, maintain_order=True)
            .filter(_count_equal_before(PLACE, _TURN) == 0)
            .select(ROW, PLACE, pl.col(_TURN).alias(REPETITION))
        )
        found = by_id.height + by_text.height
        return assigned, Matching(
            read=keys.height,
            matched=assigned.height,
            surplus=found - assigned.height,
            unknown=keys.height - found,
        )


def _take_turns(answers: pl.DataFrame, group: str) -> pl.DataFrame:
    """Which time the prompts of a group are answered by each answer, and which of them; not more than once a time."""
    ordered = answers.sort(group, REPETITION, RANK, ROW, nulls_last=True)
    too_often = pl.col(REPETITION).is_not_null() & (_count_equal_before(group, REPETITION) >= pl.col(_SHARING))
    number = _count_equal_before(group)
    return ordered.filter(~too_often).with_columns(
        (number % pl.col(_SHARING)).alias(_SLOT), (number // pl.col(_SHARING) + 1).alias(_TURN)
    )


def _count_equal_before(*columns: str) -> pl.Expr:
    """For each row of a table that is sorted by these columns, how many rows with the same values stand before it."""
    row = pl.int_range(pl.len())
    differs = pl.any_horizontal(pl.col(name).ne_missing(pl.col(name).shift()) for name in columns)
    return row - pl.when(differs | (row == 0)).then(row).forward_fill()
