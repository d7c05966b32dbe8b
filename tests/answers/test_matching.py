"""Answers are matched to prompts by id or text, never by their order, and each is accounted for."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import equipoise
from equipoise.answers.files import read_python
from equipoise.answers.matching import PLACE, ROW, PromptIndex, hash_keys
from equipoise.measuring.result import Matching
from equipoise.schema import ANSWER, ID, PROMPT, REPETITION, STATUS

# Two items with the same text, and two with texts of their own.
PROMPTS = pl.DataFrame({ID: ["a", "b", "c", "d"], PROMPT: ["same", "one", "same", "two"]})
Row = dict[str, Any]


def match(prompts: pl.DataFrame, repetitions: int, answers: pl.DataFrame) -> tuple[pl.DataFrame, Matching]:
    """The answers with the ids and repetitions of the attempts that they are assigned to."""
    assigned, matching = PromptIndex([prompts], repetitions).assign(hash_keys(answers))
    keys = prompts[assigned[PLACE]].select(ID).hstack(assigned.select(REPETITION))
    return keys.hstack(answers[assigned[ROW]].select(ANSWER)), matching


def match_rows(given: list[Row], repetitions: int = 1) -> tuple[list[tuple[str, int, str]], Matching]:
    """Which answer goes where, as (id, repetition, answer)."""
    (answers,) = read_python(given)
    matched, matching = match(PROMPTS, repetitions, answers)
    triples = sorted(matched.select(ID, REPETITION, ANSWER).iter_rows())
    assert matching.read == len(given) == matching.matched + matching.surplus + matching.unknown
    assert matching.matched == len(triples) == len({triple[:2] for triple in triples})
    return triples, matching


def row(key: str, said: str, repetition: int | None = None) -> Row:
    """An answer of one letter, or else a state without one; to an id of one letter, or else to a text."""
    outcome = {ANSWER: said} if len(said) == 1 else {ANSWER: None, STATUS: said}
    return {ID if len(key) == 1 else PROMPT: key, REPETITION: repetition, **outcome}


MATCHED: dict[str, tuple[list[Row], int, str, int, int]] = {
    "by id": ([row("b", "x"), row("a", "y")], 1, "a1y b1x", 0, 0),
    "by text": ([row("two", "x"), row("one", "y")], 1, "b1y d1x", 0, 0),
    "the first of two is kept": ([row("a", "x"), row("a", "y")], 1, "a1x", 1, 0),
    "unknown": ([row("?", "x"), row("none", "y"), row("a", "z")], 1, "a1z", 0, 2),
    "text when the id is unknown": ([{ID: "?", PROMPT: "one", ANSWER: "x"}], 1, "b1x", 0, 0),
    "the id goes before the text": ([{ID: "a", PROMPT: "one", ANSWER: "x"}], 1, "a1x", 0, 0),
    "neither": ([{ANSWER: "x"}], 1, "", 0, 1),
    "numbered from 1": ([row("a", "y", 2), row("a", "x", 1)], 2, "a1x a2y", 0, 0),
    "numbered from 0": ([row("a", "y", 1), row("a", "x", 0)], 2, "a1x a2y", 0, 0),
    "not numbered": ([row("a", "x"), row("b", "z"), row("a", "y")], 2, "a1x a2y b1z", 0, 0),
    "the same repetition twice": ([row("a", "x", 1), row("a", "y", 1), row("a", "z", 2)], 3, "a1x a2z", 1, 0),
    "twice, by text": ([row("one", "x", 1), row("one", "y", 1), row("one", "z", 2)], 3, "b1x b2z", 1, 0),
    "in plan order": ([row("same", "x"), row("same", "y")], 1, "a1x c1y", 0, 0),
    "repetition by repetition": ([row("same", said) for said in "uvwxy"], 2, "a1u a2w c1v c2x", 1, 0),
    "numbered": (
        [row("same", "x", 2), row("same", "u", 1), row("same", "v", 1), row("same", "y", 2)],
        *(2, "a1u a2x c1v c2y", 0, 0),
    ),
    "an id before a text": ([row("one", "x"), row("b", "y")], 1, "b1y", 1, 0),
    "an answer before a failure": ([row("a", "timeout"), row("a", "x")], 1, "a1x", 1, 0),
    "or what is pending": ([row("a", "pending"), row("a", "timeout"), row("a", "x")], 1, "a1x", 2, 0),
    "a failure before nothing": ([row("a", "pending"), row("a", "timeout")], 1, "a1None", 1, 0),
    "before a failure of its repetition": (
        [row("a", "timeout", 1), row("a", "x", 1), row("a", "y", 2), row("a", "empty", 2)],
        *(2, "a1x a2y", 2, 0),
    ),
    "an answer by text before a failure by id": ([row("b", "timeout"), row("one", "x")], 1, "b1x", 1, 0),
    "before an empty one by text": (
        [row("same", "x", 1), row("same", "empty", 1), row("same", "y", 1)],
        *(1, "a1x c1y", 1, 0),
    ),
}


@pytest.mark.parametrize(("rows", "repetitions", "expected", "surplus", "unknown"), MATCHED.values(), ids=MATCHED)
def test_matching(rows: list[Row], repetitions: int, expected: str, surplus: int, unknown: int) -> None:
    matched, matching = match_rows(rows, repetitions)
    assert " ".join(f"{key}{number}{answer}" for key, number, answer in matched) == expected
    assert (matching.surplus, matching.unknown) == (surplus, unknown)


given_rows = st.lists(
    st.builds(
        lambda key, name, repetition, answer: {key: name, REPETITION: repetition, ANSWER: answer},
        st.sampled_from([ID, PROMPT]),
        st.sampled_from(["a", "b", "c", "same", "one", "?"]),
        st.one_of(st.none(), st.integers(0, 4)),
        st.text("xyz", min_size=1, max_size=3),
    ),
    min_size=1,
    max_size=30,
)


@given(given_rows, st.integers(1, 4))
def test_every_answer_is_accounted_for_once(rows: list[Row], repetitions: int) -> None:
    matched, _ = match_rows(rows, repetitions)
    assert all(1 <= repetition <= repetitions for _, repetition, _ in matched)


@given(st.permutations([row(key, key, times) for key in "abd" for times in (1, 2, 3)]))
def test_the_order_of_numbered_answers_does_not_matter(rows: list[Row]) -> None:
    assert match_rows(rows, 3)[0] == [(key, times, key) for key in "abd" for times in (1, 2, 3)]


def test_equal_prompts_of_the_corpora_are_matched_in_the_order_of_the_plan(corpora: Path) -> None:
    for probe, size in (("gest_creative", 20), ("discrimination_tamkin", 2)):
        prompts = equipoise.plan(probe).prompts()
        twins = prompts.filter(pl.col(PROMPT).is_duplicated())
        assert twins.height == size
        (answers,) = read_python(
            {PROMPT: prompt, ANSWER: f"answer {place}"} for place, prompt in enumerate(twins[PROMPT])
        )
        matched, matching = match(prompts, 1, answers)
        assert (matching.matched, matching.surplus) == (size, 0)
        answer_by_id = dict(matched.select(ID, ANSWER).iter_rows())
        assert [answer_by_id[key] for key in twins[ID]] == answers[ANSWER].to_list()


# In the order of the plan, or in another

ORDERS: dict[str, list[int]] = {
    "plan": list(range(40)),
    "reversed": list(range(39, -1, -1)),
    "shuffled": np.random.default_rng(0).permutation(40).tolist(),
    "plan with gaps": [place for place in range(40) if place % 7],
    "plan twice": [*range(40), *range(40)],
}


@pytest.mark.parametrize("strangers", [False, True], ids=["all known", "one unknown"])
@pytest.mark.parametrize("by", [ID, PROMPT])
@pytest.mark.parametrize("order", ORDERS)
def test_answers_are_found_wherever_they_stand(order: str, by: str, strangers: bool) -> None:
    places = ORDERS[order]
    names = [f"id{number}" for number in range(40)]
    prompts = pl.DataFrame({ID: names, PROMPT: names})
    given_rows = [{by: f"id{place}", ANSWER: f"{place}"} for place in places]
    if strangers:
        given_rows.insert(5, {by: "unknown", ANSWER: "?"})
    (answers,) = read_python(given_rows)
    index = PromptIndex([prompts[:25], prompts[25:]], 2)
    assigned, matching = index.assign(hash_keys(answers))
    found = answers[assigned[ROW]][ANSWER].to_list()
    assert found == [str(place) for place in assigned[PLACE]]
    assert found == [str(place) for place in sorted(places)]
    assert matching.matched == len(places)
    assert matching.unknown == int(strangers)
