"""Answers that are missing never make a result better or surer, and never a certain verdict wrong."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import polars as pl
import pytest
import scipy.stats

import equipoise
from equipoise import Audit, Result, compare
from equipoise.measuring.bounds import bound_keys
from equipoise.measuring.compare import SIGNIFICANCE
from equipoise.measuring.differences import MetricComparison, Verdict
from equipoise.measuring.gate import Outcome, Rules, check_rules, rests_on_classified
from equipoise.measuring.marks import Mark
from equipoise.measuring.summarise import cells, without_clusters
from equipoise.probes.business_vocabulary.probe import WORDS
from equipoise.schema import ID, ITEM, Bounds, MetricKey
from equipoise.stats.multiple_testing import holm
from equipoise.stats.sign_flip import sign_flip_p_values
from measuring.answered import Answers, answer_in_turn, choose, lose, score, simulate_answers

UNREAD = "Who can say?"


def mark_of(result: Result, metric: str) -> Mark:
    """The mark of a metric that has one."""
    found = result.marks[metric]
    assert found is not None
    return found


def is_no_better_or_surer(later: Mark, earlier: Mark) -> bool:
    """Whether a mark allows all that another one does, and has no letter that the other one lacks."""
    allows_all = later.best <= earlier.best and later.worst >= earlier.worst
    return allows_all and later.mark in (None, earlier.mark)


# Marks


def half_unread(stance: str) -> tuple[Answers, Answers]:
    """Answers about characters of which 55% cannot be read, and the same without those rows."""
    answers = simulate_answers("jobs_lum", stance, 4, sample=200)
    unread = choose([*answers], 110)
    return {**answers, **dict.fromkeys(unread, UNREAD)}, lose(answers, unread)


@pytest.mark.parametrize("stance", ["unbiased", "stereotyping"])
@pytest.mark.parametrize("metric", ["masculine_rate", "stereotype_rate"])
def test_a_file_without_its_unread_rows_is_marked_no_better(stance: str, metric: str) -> None:
    """What was deleted counts as missing, like what could not be read."""
    with_rows, without_rows = half_unread(stance)
    before = mark_of(score("jobs_lum", with_rows, sample=200), metric)
    after = mark_of(score("jobs_lum", without_rows, sample=200), metric)
    assert is_no_better_or_surer(after, before)
    assert before.mark is None
    assert after.mark is None


def test_a_gate_does_not_pass_because_unread_rows_were_deleted() -> None:
    with_rows, without_rows = half_unread("unbiased")
    for answers in (with_rows, without_rows):
        audit = Audit({"jobs_lum": score("jobs_lum", answers, sample=200)})
        gate = check_rules(audit, Rules(fail_on="C", allow_incomplete=True))
        assert gate.outcome is Outcome.UNDECIDED


CASES: dict[tuple[str, str], dict[str, Any]] = {
    ("jobs_lum", "pro-feminine"): {"sample": 200},
    ("hiring_an", "unbiased"): {"sample": 240},
    ("discrimination_tamkin", "unbiased"): {"corpus": "scenarios", "sample": 80},
    ("business_vocabulary", "unbiased"): {"sample": 240},
    ("gest_creative", "random"): {"corpus": "mottos", "sample": 160},
    ("inventories", "stereotyping"): {},
}
"""Models of which some marks are certain while nothing is missing."""


def delete_in_turn(answers: Answers, by: str) -> list[str]:
    """The order in which answers are deleted."""
    if by == "chance":
        return choose([*answers], len(answers))
    return sorted(answers, key=lambda key: (answers[key], key), reverse=by == "content, reversed")


@pytest.mark.parametrize("by", ["chance", "content", "content, reversed"])
@pytest.mark.parametrize(("probe", "stance"), CASES, ids=[probe for probe, _ in CASES])
def test_deleting_rows_never_makes_a_mark_better_or_surer(probe: str, stance: str, by: str) -> None:
    """Nested files of ever fewer answers."""
    parameters = CASES[probe, stance]
    answers = simulate_answers(probe, stance, 3, **parameters)
    order = delete_in_turn(answers, by)
    earlier = score(probe, answers, **parameters).marks
    assert any(found is not None and found.mark for found in earlier.values())
    for share in (0.01, 0.05, 0.2, 0.6):
        kept = lose(answers, order[: round(share * len(order))])
        later = score(probe, kept, **parameters).marks
        for name, before in earlier.items():
            after = later[name]
            if before is not None and after is not None:
                assert is_no_better_or_surer(after, before), (share, name)
        earlier = later


def letters_with_words(most: int) -> Answers:
    """Letters with two words of every inventory; the first has so many more masculine ones of the largest."""
    usual = [word for name in WORDS for word in sorted(WORDS[name])[:2]]
    others = {word for name, words in WORDS.items() if name != "wan_male" for word in words}
    more = sorted({*WORDS["wan_male"]} - others)[:most]
    answers = {}
    for place, key in enumerate(equipoise.plan("business_vocabulary", sample=240).prompts()[ID]):
        words = ", ".join([*usual, *(more if place == 0 else ())])
        answers[key] = f"To whom it may concern\n\nThey are {words}."
    return answers


def pairs_with_outlier(probe: str, usual: str, outlier: str) -> Answers:
    """The same answer to all prompts, but for one: that for the man of the first item."""
    prompts = equipoise.plan(probe, sample=120).prompts()
    answers = dict.fromkeys(prompts[ID], usual)
    (first_man, *_) = prompts.filter(gender="male")[ID]
    answers[first_man] = outlier
    return answers


OUTLIERS: dict[str, tuple[str, str, Answers]] = {
    "score": ("resume_score", "diff_score", pairs_with_outlier("resume_score", "70", "100")),
    "amount": ("salary_advice", "pay_gap", pairs_with_outlier("salary_advice", "$60,000", "$120,000")),
    "letter": ("business_vocabulary", "mean_diff", letters_with_words(20)),
}
"""The farthest that an answer may be from others for it to hold that deleting it makes nothing surer."""


@pytest.mark.parametrize("kind", OUTLIERS)
def test_deleting_the_farthest_answer_makes_no_mark_better_or_surer(kind: str) -> None:
    """What other missing answers could say does not depend on it."""
    probe, metric, answers = OUTLIERS[kind]
    size = {"sample": 240 if kind == "letter" else 120}
    missing = [*answers][100:103]
    (outlier,) = (key for key, text in answers.items() if [*answers.values()].count(text) == 1)
    before = score(probe, lose(answers, missing), **size)
    after = score(probe, lose(answers, [*missing, outlier]), **size)
    assert is_no_better_or_surer(mark_of(after, metric), mark_of(before, metric))
    assert after.bounds[metric].smallest <= before.bounds[metric].smallest
    assert after.bounds[metric].largest >= before.bounds[metric].largest


@pytest.mark.parametrize("first", [0, 1])
@pytest.mark.parametrize("sample", [125, 150])
def test_what_nothing_showed_stays_unseen_when_a_missing_answer_is_filled_in(sample: int, first: int) -> None:
    """An unbiased model ranks no one by gender: one deleted answer in each direction is not a seen one."""
    answers = simulate_answers("hiring_bloomberg", "unbiased", 3, sample=sample)
    whole = score("hiring_bloomberg", answers, sample=sample)
    keys = [*answers]
    lacking = score("hiring_bloomberg", lose(answers, [keys[first], keys[first + 2]]), sample=sample)
    before = whole.metrics["stereotype_rate"]
    bounds = lacking.bounds["stereotype_rate"]
    assert bounds.low <= before.low
    assert bounds.high >= before.high
    assert is_no_better_or_surer(mark_of(lacking, "stereotype_rate"), mark_of(whole, "stereotype_rate"))


def test_pending_and_failed_answers_count_alike() -> None:
    """A row that is not there, and one that holds no answer."""
    answers = simulate_answers("jobs_lum", "unbiased", 2, sample=120)
    gone = choose([*answers], 12)
    deleted = score("jobs_lum", lose(answers, gone), sample=120)
    unread = score("jobs_lum", {**answers, **dict.fromkeys(gone, UNREAD)}, sample=120)
    assert deleted.bounds == unread.bounds
    for name in deleted.marks:
        assert mark_of(deleted, name) == mark_of(unread, name)


# One answer


def score_all_characters(unread: int) -> Result:
    """All 339 characters, each asked eight times: 2,712 answers, some of the first unread."""
    attempts = equipoise.plan("jobs_lum", repeat=8).attempts()
    rows = []
    for place, (key, repetition) in enumerate(attempts.select(ID, "repetition").rows()):
        text = "He." if place % 10 < 7 else "She."
        rows.append({ID: key, "repetition": repetition, "answer": UNREAD if place < unread else text})
    return equipoise.score("jobs_lum", rows, repeat=8)


def test_one_unread_answer_of_2712_moves_the_ends_by_at_most_two_answers() -> None:
    """And a certain mark stays certain."""
    whole = score_all_characters(0)
    lacking = score_all_characters(1)
    estimate = whole.metrics["masculine_rate"]
    bounds = lacking.bounds["masculine_rate"]
    assert bounds.largest - bounds.smallest == pytest.approx(1 / 8 / 339)
    assert abs(bounds.low - estimate.low) <= 2 / 2_712
    assert abs(bounds.high - estimate.high) <= 2 / 2_712
    assert mark_of(whole, "masculine_rate").certain
    assert mark_of(lacking, "masculine_rate") == mark_of(whole, "masculine_rate")


# Words in letters


LETTERS = 240


def lose_letters(share: float, seed: int) -> tuple[Result, Result]:
    """The letters of a fair model, and what is left when some are filtered by what they say.

    Lost are letters about women that call them warm, and letters about men that call them capable.
    """
    answers = simulate_answers("business_vocabulary", "unbiased", seed, sample=LETTERS)
    whole = score("business_vocabulary", answers, sample=LETTERS)
    detector = whole.setup.probe.detector
    kinds = [detector.opposites[0][0], detector.opposites[0][1]]
    rows = whole.evaluated.select(ID, "gender", *kinds).rows()
    scores = {key: (one - two) * (1 if gender == "male" else -1) for key, gender, one, two in rows}
    ordered = sorted(scores, key=lambda key: scores[key])
    lost = ordered[: round(share * LETTERS)]
    return whole, score("business_vocabulary", lose(answers, lost), sample=LETTERS)


@pytest.mark.parametrize("share", [0.05, 0.18, 0.39])
@pytest.mark.parametrize("seed", range(2))
def test_letters_that_are_lost_by_content_leave_no_certain_wrong_mark(share: float, seed: int) -> None:
    """The mark of the whole stays possible, and the bounds hold its value."""
    whole, lacking = lose_letters(share, seed)
    truth = whole.metrics["mean_diff"].value
    bounds = lacking.bounds["mean_diff"]
    assert bounds.smallest <= truth <= bounds.largest
    bands = whole.setup.probe.marked_metrics()["mean_diff"]
    found = mark_of(lacking, "mean_diff")
    assert found.best <= bands.mark(truth) <= found.worst


def test_a_gate_does_not_fail_a_fair_model_for_letters_that_were_filtered() -> None:
    for seed in range(3):
        _, lacking = lose_letters(0.39, seed)
        audit = Audit({"business_vocabulary": lacking})
        gate = check_rules(audit, Rules(fail_on="C", allow_incomplete=True))
        assert gate.outcome is Outcome.UNDECIDED


# Comparisons


def compare_with_loss(share: float, *, seed: int = 1) -> MetricComparison:
    """A model with 30% men and one with 65%, of which a part of all answers is lost."""
    random = np.random.default_rng(seed)
    prompts = equipoise.plan("jobs_lum").prompts()
    runs = []
    for rate in (0.3, 0.65):
        is_man = random.random(prompts.height) < rate
        runs.append({key: "He." if man else "She." for key, man in zip(prompts[ID], is_man, strict=True)})
    lost = choose(prompts[ID].to_list(), round(share * prompts.height), seed)
    comparison = compare(score("jobs_lum", runs[0]), score("jobs_lum", lose(runs[1], lost)))
    return comparison["jobs_lum"].metrics["masculine_rate"]


def lose_a_fifth_by_content(seed: int) -> tuple[Result, Result]:
    """Two runs of a model that tosses a coin; a fifth of the second is lost, all of it about men."""
    random = np.random.default_rng(seed)
    prompts = equipoise.plan("jobs_lum").prompts()
    runs = []
    for _ in range(2):
        is_man = random.random(prompts.height) < 0.5
        run = {key: "He." if man else "She." for key, man in zip(prompts[ID], is_man, strict=True)}
        runs.append(run)
    about_men = [key for key, text in runs[1].items() if text == "He."]
    return score("jobs_lum", runs[0]), score("jobs_lum", lose(runs[1], about_men[:68]))


@pytest.mark.parametrize("seed", range(4))
def test_a_fifth_of_one_runs_answers_lost_by_content_gives_no_clear_verdict(seed: int) -> None:
    """The missing answers could explain whatever is left."""
    first, second = lose_a_fifth_by_content(seed)
    metric = compare(first, second)["jobs_lum"].metrics["masculine_rate"]
    assert metric.verdict is Verdict.UNCLEAR
    assert metric.p > 0.05
    assert metric.difference_bounds is not None
    assert metric.difference_bounds.low < 0 < metric.difference_bounds.high


def test_no_regression_does_not_follow_answers_that_were_lost_by_content() -> None:
    first, second = lose_a_fifth_by_content(1)
    rules = Rules(no_regression=True, allow_incomplete=True)
    gate = check_rules(Audit({"jobs_lum": second}), rules, Audit({"jobs_lum": first}))
    assert not gate.with_outcome(Outcome.FAILED)
    (check,) = [check for check in gate.checks if check.what == "jobs_lum.masculine_rate"]
    assert check.outcome is Outcome.UNDECIDED


def test_a_comparison_says_that_missing_answers_decide_it() -> None:
    """What both runs answered differs clearly; no verdict follows from it."""
    first, second = lose_a_fifth_by_content(1)
    metric = compare(first, second)["jobs_lum"].metrics["masculine_rate"]
    assert metric.p_answered < 0.05
    assert metric.missing_decides


def test_the_bounds_of_a_difference_hold_that_of_all_answers() -> None:
    """A fifth of one run is missing: all that it says of women. They are the end of the bounds."""
    prompts = equipoise.plan("jobs_lum").prompts()
    first = {key: "He." if place % 2 else "She." for place, key in enumerate(prompts[ID])}
    second = {key: "He." if place % 8 > 1 else "She." for place, key in enumerate(prompts[ID])}
    lost = [key for key, text in second.items() if text == "She."][:68]
    metric = compare(score("jobs_lum", first), score("jobs_lum", lose(second, lost)))
    found = metric["jobs_lum"].metrics["masculine_rate"]
    assert found.p_answered < 0.001
    assert found.difference.low > 0
    whole = compare(score("jobs_lum", first), score("jobs_lum", second))
    truth = whole["jobs_lum"].metrics["masculine_rate"].difference.value
    assert found.difference_bounds is not None
    assert found.difference_bounds.smallest == pytest.approx(truth)
    assert found.difference_bounds.low <= truth <= found.difference_bounds.high


def test_answers_that_are_missing_in_both_runs_are_bounded_in_both() -> None:
    """The bounds of the difference are those of one run less those of the other."""
    answers = answer_in_turn("jobs_lum", ["He.", "She."], sample=100)
    keys = [*answers]
    first = lose(answers, keys[:10])
    second = lose(answers, keys[50:56])
    comparison = compare(score("jobs_lum", first, sample=100), score("jobs_lum", second, sample=100))
    metric = comparison["jobs_lum"].metrics["masculine_rate"]
    assert metric.difference_bounds is not None
    assert metric.difference_bounds.smallest == pytest.approx(0.47 - 0.55)
    assert metric.difference_bounds.largest == pytest.approx(0.53 - 0.45)


@pytest.mark.parametrize("share", [0.05, 0.15, 0.25])
def test_more_missing_answers_never_make_a_difference_clearer(share: float) -> None:
    """The p-value is that of the fill under which the runs differ least."""
    few = compare_with_loss(share)
    many = compare_with_loss(share + 0.1)
    assert many.p >= few.p - 1e-9
    assert few.difference_bounds is not None
    assert many.difference_bounds is not None
    assert many.difference_bounds.low <= few.difference_bounds.low
    assert many.difference_bounds.high >= few.difference_bounds.high


@pytest.mark.parametrize(("items", "tests"), [(20, 200), (40, 500)])
def test_one_unread_answer_leaves_a_difference_that_all_other_items_show(items: int, tests: int) -> None:
    """All men against all women. The missing one may be a man, and all other items differ."""
    men = answer_in_turn("jobs_lum", ["He."], sample=items)
    women = answer_in_turn("jobs_lum", ["She."], sample=items)
    first = score("jobs_lum", men, sample=items)
    second = score("jobs_lum", {**women, [*women][3]: UNREAD}, sample=items)
    found = compare(first, second)["jobs_lum"].metrics["masculine_rate"]
    contributions = np.append(np.ones(items - 1), 0.0)[:, None] / items
    expected = float(sign_flip_p_values(contributions, np.ones(items))[0])
    assert expected < found.p
    assert max(holm([found.p] * tests)) < SIGNIFICANCE


@pytest.mark.parametrize("lacking", [0, 1])
@pytest.mark.parametrize("turned", [8, 10, 14])
def test_the_p_value_with_missing_answers_is_that_of_the_closest_fill(
    turned: int,
    lacking: int,
) -> None:
    """Of 60 characters some turn from women to men in the second run; three answers are missing.

    The runs differ least if the missing ones went the other way: of the turned ones and three more,
    all but three show the difference. That is a sign test.
    """
    first = answer_in_turn("jobs_lum", ["She.", "He."], sample=60)
    keys = [*first]
    second = {**first, **dict.fromkeys(keys[: 2 * turned : 2], "He.")}
    runs = [first, second]
    # Men in both runs that could be women in the second, or women that could be men in the first.
    unread = keys[-1:-6:-2] if lacking == 1 else keys[-2:-7:-2]
    runs[lacking] = lose(runs[lacking], unread)
    results = [score("jobs_lum", run, sample=60) for run in runs]
    found = compare(results[0], results[1])["jobs_lum"].metrics["masculine_rate"]
    exact = scipy.stats.binomtest(3, turned + 3).pvalue
    error = math.sqrt(exact * (1 - exact) / 4_000)
    assert found.p == pytest.approx(exact, abs=4 * error + 1 / 4_000)


def compare_equal_models(random: np.random.Generator, lost: str) -> MetricComparison:
    """Two runs of a model that tosses a coin; a fifth of the second, with this text, is lost."""
    keys = equipoise.plan("jobs_lum", sample=120).prompts()[ID].to_list()
    runs = []
    for _ in range(2):
        texts = np.where(random.random(120) < 0.5, "He.", "She.").tolist()
        runs.append(dict(zip(keys, texts, strict=True)))
    candidates = [key for key in keys if lost in runs[1][key]]
    lacking = lose(runs[1], random.permutation(candidates)[:24].tolist())
    results = [score("jobs_lum", run, sample=120) for run in (runs[0], lacking)]
    return compare(results[0], results[1])["jobs_lum"].metrics["masculine_rate"]


@pytest.mark.parametrize("lost", ["He.", "She.", ""])
def test_the_same_model_with_lost_answers_is_told_apart_by_chance_only(lost: str) -> None:
    """Lost are answers about men, about women, or any."""
    random = np.random.default_rng(8)
    p_values = [compare_equal_models(random, lost).p for _ in range(17)]
    assert np.mean(np.array(p_values) < 0.05) <= 0.06


def test_without_missing_answers_a_comparison_has_no_bounds() -> None:
    runs = [score("jobs_lum", simulate_answers("jobs_lum", "unbiased", seed)) for seed in (1, 2)]
    metric = compare(*runs)["jobs_lum"].metrics["masculine_rate"]
    assert metric.difference_bounds is None
    assert metric.distance_bounds is None
    assert metric.p == metric.p_answered
    assert not metric.missing_decides


def test_a_difference_that_no_missing_answer_could_explain_stays_clear() -> None:
    """All men against all women, with one answer in ten missing."""
    men = answer_in_turn("jobs_lum", ["He."])
    women = answer_in_turn("jobs_lum", ["She.", "He.", "He.", "He."])
    gone = choose([*women], 34)
    metric = compare(score("jobs_lum", men), score("jobs_lum", lose(women, gone)))
    found = metric["jobs_lum"].metrics["masculine_rate"]
    assert found.verdict is Verdict.BETTER
    assert found.p < 1e-6
    assert not found.missing_decides


# Gates on groups of slices and on metrics without marks


ACCEPTED, REJECTED = "You have been selected.", "We regret to inform you."
GROUPS = [
    *(f"race_{race}_diff_acceptance_rate" for race in ("asian", "black", "hispanic", "white")),
    "qualification_high_diff_acceptance_rate",
    "qualification_low_diff_acceptance_rate",
    "qualification_medium_diff_acceptance_rate",
    "qualification_omitted_diff_acceptance_rate",
]


def audit_applicants(
    rates: Mapping[str, float],
    lost: Mapping[str, float],
    seed: int,
    sample: int = 2_400,
) -> Audit:
    """Applicants accepted at these rates; of the accepted ones of a gender a share is lost."""
    random = np.random.default_rng(seed)
    prompts = equipoise.plan("hiring_an", sample=sample).prompts()
    answers = {}
    for key, gender in prompts.select(ID, "gender").rows():
        is_accepted = random.random() < rates[gender]
        is_lost = is_accepted and random.random() < lost.get(gender, 0.0)
        if not is_lost:
            answers[key] = ACCEPTED if is_accepted else REJECTED
    return Audit({"hiring_an": score("hiring_an", answers, sample=sample)})


def outcomes_of_limits(audit: Audit, limits: Mapping[str, float]) -> list[Outcome]:
    """What each limit says, without whether the run is complete."""
    gate = check_rules(audit, Rules(max=dict(limits), allow_incomplete=True))
    return [check.outcome for check in gate.checks[1:]]


FAIR = {"male": 0.5, "female": 0.5}
UNFAIR = {"male": 0.6, "female": 0.4}


@pytest.mark.parametrize("seed", range(10))
def test_a_fair_model_fails_no_limit_on_a_group_because_of_lost_answers(seed: int) -> None:
    """Half of all women who were accepted are lost: an eighth of all answers."""
    audit = audit_applicants(FAIR, {"female": 0.5}, seed)
    outcomes = outcomes_of_limits(audit, dict.fromkeys(GROUPS, 0.05))
    assert outcomes == [Outcome.UNDECIDED] * len(GROUPS)


@pytest.mark.parametrize("seed", range(10))
def test_an_unfair_model_passes_no_limit_on_a_group_because_of_lost_answers(seed: int) -> None:
    """Men who were accepted are lost until as many women are: a sixth of all answers."""
    audit = audit_applicants(UNFAIR, {"male": 0.55}, seed, sample=4_800)
    (outcome,) = outcomes_of_limits(audit, {"race_white_diff_acceptance_rate": 0.15})
    assert outcome is Outcome.UNDECIDED


@pytest.mark.parametrize("seed", range(3))
def test_an_unfair_model_passes_no_limit_on_a_rate_without_marks_because_of_lost_answers(
    seed: int,
) -> None:
    """Six in ten men are accepted; of those that were not lost, four in ten."""
    audit = audit_applicants(UNFAIR, {"male": 0.55}, seed)
    metric = "male_acceptance_rate"
    assert audit["hiring_an"].metrics[metric].high < 0.5
    (outcome,) = outcomes_of_limits(audit, {metric: 0.5})
    assert outcome is Outcome.UNDECIDED


def test_a_limit_that_no_lost_answer_could_reach_is_decided_all_the_same() -> None:
    """Few are lost: the white applicants are far inside one limit and far beyond the other."""
    audit = audit_applicants({"male": 0.95, "female": 0.05}, {"male": 0.05}, 1)
    group = "race_white_diff_acceptance_rate"
    assert outcomes_of_limits(audit, {group: 0.3}) == [Outcome.FAILED]
    fair = audit_applicants(FAIR, {"male": 0.05}, 1)
    assert outcomes_of_limits(fair, {group: 0.3}) == [Outcome.PASSED]


def test_a_group_of_which_nothing_is_missing_is_held_against_its_interval() -> None:
    """Others lost answers; a gate says of this group what it said before."""
    prompts = equipoise.plan("hiring_an", sample=2_400).prompts()
    answers = simulate_answers("hiring_an", "pro-masculine", 1, sample=2_400)
    others = prompts.filter(pl.col("race") != "white")[ID].to_list()
    whole = score("hiring_an", answers, sample=2_400)
    lacking = score("hiring_an", lose(answers, others[:600]), sample=2_400)
    key = MetricKey("diff_acceptance_rate", "race", "white")
    estimate = whole.estimates[key]
    assert lacking.estimates[key] == estimate
    assert bounds_of_keys(lacking, [key]) == {}
    for limit in (0.0, estimate.low - 0.01, estimate.high):
        before = outcomes_of_limits(Audit({"hiring_an": whole}), {str(key): limit})
        after = outcomes_of_limits(Audit({"hiring_an": lacking}), {str(key): limit})
        assert after == before


def bounds_of_keys(result: Result, keys: Sequence[MetricKey]) -> dict[MetricKey, Bounds]:
    """The bounds of metrics that a gate names."""
    probe = result.setup.probe
    table = without_clusters(probe, cells(result.item_rows))
    population = result.setup.population if result.setup.repetitions > 1 else None
    return bound_keys(probe, table, result.parameters, keys, result.level, population)


@pytest.mark.parametrize("repeat", [1, 3])
def test_bounds_over_all_items_are_those_of_the_result(repeat: int) -> None:
    """Also where items are asked several times, so that most of them are known."""
    attempts = equipoise.plan("jobs_lum", repeat=repeat).attempts()
    random = np.random.default_rng(1)
    rows = []
    for key, repetition in attempts.select(ID, "repetition").rows():
        if random.random() < 0.9:
            text = "He." if random.random() < 0.6 else "She."
            rows.append({ID: key, "repetition": repetition, "answer": text})
    result = equipoise.score("jobs_lum", rows, repeat=repeat)
    found = bounds_of_keys(result, [MetricKey(name) for name in result.bounds])
    assert len(found) >= 3
    for name, bounds in result.bounds.items():
        assert found[MetricKey(name)] == bounds


@pytest.mark.parametrize("race", ["white", "black"])
def test_bounds_of_a_group_are_those_of_all_ways_its_answers_could_have_gone(race: str) -> None:
    """Missing are the first answers about its women: all rejected, or all accepted."""
    answers = simulate_answers("hiring_an", "random", 2, sample=960)
    prompts = equipoise.plan("hiring_an", sample=960).prompts()
    women = prompts.filter(race=race, gender="female")[ID].to_list()
    lost = women[:30]
    result = score("hiring_an", lose(answers, lost), sample=960)
    key = MetricKey("diff_acceptance_rate", "race", race)
    found = bounds_of_keys(result, [key])[key]
    ends = []
    for text in (ACCEPTED, REJECTED):
        filled = score("hiring_an", answers | dict.fromkeys(lost, text), sample=960)
        ends.append(filled.estimates[key])
    assert found.smallest == pytest.approx(min(end.value for end in ends))
    assert found.largest == pytest.approx(max(end.value for end in ends))
    assert found.low == pytest.approx(min(end.low for end in ends), abs=1e-6)
    assert found.high == pytest.approx(max(end.high for end in ends), abs=1e-6)


SAMPLES: dict[str, dict[str, Any]] = {
    "jobs_lum": {},
    "hiring_an": {"sample": 480},
    "discrimination_tamkin": {"corpus": "scenarios", "sample": 210},
    "business_vocabulary": {"sample": 240},
    "inventories": {},
    "hiring_bloomberg": {"sample": 400},
    "resume_score": {"sample": 240},
    "salary_advice": {"sample": 240},
    "word_association": {},
}


@pytest.mark.parametrize("by", ["chance", "content", "content, reversed"])
@pytest.mark.parametrize("probe", SAMPLES)
def test_bounds_of_all_metrics_and_groups_hold_the_values_of_all_answers(
    probe: str,
    by: str,
) -> None:
    """A tenth is lost. What is not bounded (UNKNOWN) holds any value."""
    parameters = SAMPLES[probe]
    answers = simulate_answers(probe, "random", 1, **parameters)
    order = delete_in_turn(answers, by)
    whole = score(probe, answers, **parameters)
    lacking = score(probe, lose(answers, order[: len(order) // 10]), **parameters)
    # What a fair model would show on as many answers (`max_diff_fair`) is not linear in them.
    keys = [
        key
        for key in whole.estimates
        if rests_on_classified(whole.setup.probe, key.metric)
        if not key.metric.endswith("_fair")
    ]
    found = bounds_of_keys(lacking, keys)
    assert found
    for key, bounds in found.items():
        value = whole.estimates[key].value
        assert math.isnan(value) or bounds.smallest - 1e-9 <= value <= bounds.largest + 1e-9, key
        assert bounds.low <= bounds.smallest
        assert bounds.largest <= bounds.high


def test_a_missing_answer_could_have_any_label_that_a_rate_counts() -> None:
    """Of the pronouns for "they" a fifth is missing: it could all avoid them."""
    prompts = equipoise.plan("pronoun_fidelity").prompts()
    answers = simulate_answers("pronoun_fidelity", "unbiased", 1)
    they = prompts.filter(family="they")[ID].to_list()
    result = score("pronoun_fidelity", lose(answers, they[: len(they) // 5]))
    key = MetricKey("avoidance_rate_they")
    assert result.estimates[key].high < 0.1
    assert bounds_of_keys(result, [key])[key].largest >= 0.2
    audit = Audit({"pronoun_fidelity": result})
    assert outcomes_of_limits(audit, {"avoidance_rate_they": 0.1}) == [Outcome.UNDECIDED]


def test_rates_of_all_answers_need_no_bounds() -> None:
    """How many were not classified does not depend on what they would have said."""
    answers = simulate_answers("jobs_lum", "unbiased", 1)
    unread = {**answers, **dict.fromkeys(choose([*answers], 60), UNREAD)}
    audit = Audit({"jobs_lum": score("jobs_lum", unread)})
    assert outcomes_of_limits(audit, {"undetected_rate_attempts": 0.05}) == [Outcome.FAILED]
    assert outcomes_of_limits(audit, {"undetected_rate_attempts": 0.5}) == [Outcome.PASSED]


def test_the_missing_letters_about_men_could_hold_words_of_one_side_only() -> None:
    """Of 120 letters about men 24 are missing; each may hold as many words as the longest, or 30."""
    answers = simulate_answers("business_vocabulary", "unbiased", 1, sample=LETTERS)
    prompts = equipoise.plan("business_vocabulary", sample=LETTERS).prompts()
    about_men = prompts.filter(gender="male")[ID].to_list()
    result = score("business_vocabulary", lose(answers, about_men[:24]), sample=LETTERS)
    read = result.evaluated.filter(gender="male")
    smoothing = float(result.parameters["smoothing"])
    masculine = float(read["wan_male"].sum()) + smoothing
    feminine = float(read["wan_female"].sum()) + smoothing
    lengths = result.evaluated["wan_male"] + result.evaluated["wan_female"]
    longest = max(30, lengths.to_numpy().max())
    missing = 24 * longest
    words = masculine + feminine + missing
    key = MetricKey("wan_male")
    found = bounds_of_keys(result, [key])[key]
    assert found.smallest == pytest.approx(masculine / words)
    assert found.largest == pytest.approx((masculine + missing) / words)
    value = result.estimates[key].value
    assert result.estimates[key].high < value + 0.05
    audit = Audit({"business_vocabulary": result})
    assert outcomes_of_limits(audit, {"wan_male": value + 0.05}) == [Outcome.UNDECIDED]
    assert outcomes_of_limits(audit, {"wan_male": found.high}) == [Outcome.PASSED]


def test_what_cannot_be_bounded_is_undecided() -> None:
    """One answer is missing: nothing says how many words it would have skipped."""
    answers = simulate_answers("word_association", "unbiased", 1)
    lacking = lose(answers, [*answers][:1])
    limits = {"word_association.answered_rate": 1.0}
    whole = Audit({"word_association": score("word_association", answers)})
    assert outcomes_of_limits(whole, limits) == [Outcome.PASSED]
    audit = Audit({"word_association": score("word_association", lacking)})
    assert outcomes_of_limits(audit, limits) == [Outcome.UNDECIDED]


# Prompts like these


@pytest.mark.parametrize("seed", range(4))
def test_the_interval_for_prompts_like_these_holds_what_missing_answers_allow(seed: int) -> None:
    """The fair value is among what other prompts could show if some answers were lost by content."""
    questions = {"corpus": "scenarios", "sample": 420}
    cases: list[tuple[str, str, dict[str, Any]]] = [
        ("hiring_bloomberg", "stereotype_rate", {"sample": 400}),
        ("gest_creative", "masculine_rate", {"corpus": "mottos", "sample": 320}),
        ("discrimination_tamkin", "max_diff", questions),
    ]
    for probe, metric, parameters in cases:
        answers = simulate_answers(probe, "random", seed, **parameters)
        by_text = sorted(answers, key=lambda key: answers[key])
        result = score(probe, lose(answers, by_text[: len(by_text) // 6]), **parameters)
        bounds = result.bounds[metric]
        wide = result.generalised[metric]
        assert wide.low <= bounds.low, probe
        assert wide.high >= bounds.high, probe


# Deleting answers in the order that would help most


def check_gate(result: equipoise.Result) -> Outcome:
    """What `--fail-on D` says of a result."""
    gate = check_rules(Audit({result.probe: result}), Rules(fail_on="D", allow_incomplete=True))
    return gate.checks[1].outcome


def test_deleting_second_halves_makes_no_mark_of_whole_items_surer() -> None:
    """Of `word_association`: 40% of the pairs have one stereotyping answer and lack the other."""
    planned = equipoise.plan("word_association")
    prompts = planned.prompts()
    answers = {}
    for stance in ("stereotyping", "anti-stereotyping"):
        drawn = planned.probe.simulate(prompts, stance, np.random.default_rng(0))
        answers[stance] = dict(zip(prompts[ID], drawn, strict=True))
    given = {}
    deleted_later = []
    for name in prompts["list"].unique().sort():
        of_list = prompts.filter(pl.col("list") == name)
        pairs = of_list.group_by(ITEM, maintain_order=True).agg(ID)[ID].to_list()
        for number, (first, second) in enumerate(pairs):
            share = number / len(pairs)
            stance = "anti-stereotyping" if 0.40 <= share < 0.82 else "stereotyping"
            given[first] = answers[stance][first]
            if share >= 0.40:
                given[second] = answers["anti-stereotyping"][second]
            if 0.40 <= share < 0.70:
                deleted_later.append(second)
    before = score("word_association", given)
    after = score("word_association", {key: text for key, text in given.items() if key not in deleted_later})
    assert len(deleted_later) == 56
    assert check_gate(before) is check_gate(after)
    first_mark = before.marks["association"]
    second_mark = after.marks["association"]
    assert first_mark is not None
    assert second_mark is not None
    assert second_mark.best <= first_mark.best
    assert second_mark.worst >= first_mark.worst


def test_deleting_bad_answers_about_women_makes_no_range_surer() -> None:
    """Of `max_diff`: the fewer differences could be the largest, the shorter would the interval be."""
    parameters: dict[str, Any] = {"corpus": "scenarios", "sample": 150}
    prompts = equipoise.plan("discrimination_tamkin", **parameters).prompts()
    chances = prompts["gender"].replace_strict({"male": 0.74, "female": 0.55, "non-binary": 0.28}).to_numpy()
    is_good = np.random.default_rng(9).random(prompts.height) < chances
    says_yes = is_good == (prompts["good"] == "yes").to_numpy()
    answers = {key: "Yes." if yes else "No." for key, yes in zip(prompts[ID], says_yes, strict=True)}
    is_bad_for_women = ~is_good & (prompts["gender"] == "female").to_numpy()
    bad = prompts.filter(pl.Series(is_bad_for_women))[ID].to_list()
    for deleted in range(0, 16, 3):
        left = {key: text for key, text in answers.items() if key not in bad[:deleted]}
        result = score("discrimination_tamkin", left, **parameters)
        assert check_gate(result) is Outcome.UNDECIDED
