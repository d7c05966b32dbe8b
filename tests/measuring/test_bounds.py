"""What missing answers leave open: the same as trying every way they could have gone, and it can open a mark."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import polars as pl
import pytest
import scipy.stats

import equipoise
from equipoise.authoring import Bands, Totals, own_prompts
from equipoise.measuring.bounds import bound_metrics
from equipoise.measuring.cells import measure_totals, prepare_cells
from equipoise.measuring.estimates import estimate_cells
from equipoise.measuring.gate import Rules, check_rules
from equipoise.measuring.result import Audit, Result
from equipoise.measuring.summarise import answered_rows, cells, is_answered, statistics
from equipoise.probes import get_probe
from equipoise.report.text import describe_numbers
from equipoise.schema import ID, ITEM, LABEL, STATUS, Estimate, Status
from measuring.order_probe import ORDER_PROBE, ORDERS

BANDS = Bands(limits=(0.05, 0.15, 0.5))
PROBE = replace(ORDER_PROBE, metrics=tuple(replace(metric, bands=BANDS) for metric in ORDER_PROBE.metrics))
"""Asked in two orders; all three metrics are marked: two rates and their difference."""
METRICS = ("first_rate", "second_rate", "order_effect")
Attempt = tuple[str, str, str | None, Status]
"""Item, order, label, status."""


def summarised(attempts: Sequence[Attempt]) -> pl.DataFrame:
    rows = [(item, "care", order, label, status.value) for item, order, label, status in attempts]
    schema = {ITEM: pl.String, "topic": pl.String, "order": pl.String, LABEL: pl.String, STATUS: pl.String}
    evaluated = pl.DataFrame(rows, schema=schema, orient="row")
    return cells(answered_rows(PROBE, evaluated))


def measure_values(attempts: Sequence[Attempt]) -> dict[str, float]:
    table = summarised(attempts).filter(is_answered(PROBE))
    estimates = estimate_cells(prepare_cells(PROBE, table, {"seed": 0}))
    return {name: estimates[name].value for name in METRICS}


def fill_in(attempts: Sequence[Attempt]) -> Iterator[list[Attempt]]:
    """The attempts with every combination of labels for those that are missing."""
    places = [place for place, (_, _, label, status) in enumerate(attempts) if is_missing(label, status)]
    for labels in itertools.product(("yes", "no"), repeat=len(places)):
        filled = list(attempts)
        for place, label in zip(places, labels, strict=True):
            item, order, _, _ = attempts[place]
            filled[place] = (item, order, label, Status.OK)
        yield filled


def is_missing(label: str | None, status: Status) -> bool:
    return label is None or status is not Status.OK


def random_attempts(seed: int) -> list[Attempt]:
    """Two to five items, each asked once or twice in two orders.

    One to five answers failed or decide nothing; one may be pending.
    """
    rng = np.random.default_rng(seed)
    items, repetitions = rng.integers(2, 6), rng.integers(1, 3)
    attempts: list[Attempt] = [
        (f"q{item}", order, str(rng.choice(["yes", "no"])), Status.OK)
        for item in range(items)
        for order in ORDERS
        for _ in range(repetitions)
    ]
    lost = rng.permutation(len(attempts))[: rng.integers(1, min(6, len(attempts)))]
    for place in lost:
        item, order, _, _ = attempts[place]
        attempts[place] = (item, order, None, Status(rng.choice([Status.OK, Status.TIMEOUT, Status.EMPTY])))
    if seed % 5 == 0:
        attempts.append(("never asked", "first", None, Status.PENDING))
    return attempts


@pytest.mark.parametrize("seed", range(6))
def test_bounds_are_the_smallest_and_the_largest_of_all_possible_values(seed: int) -> None:
    attempts = random_attempts(seed)
    possible = [measure_values(filled) for filled in fill_in(attempts)]
    assert len(possible) > 1
    bounds = bound_metrics(PROBE, summarised(attempts), {})
    assert list(bounds) == list(METRICS)
    for name in METRICS:
        values = [value[name] for value in possible]
        assert bounds[name].smallest == pytest.approx(min(values), abs=1e-9), name
        assert bounds[name].largest == pytest.approx(max(values), abs=1e-9), name
        assert bounds[name].low <= bounds[name].smallest <= bounds[name].largest <= bounds[name].high
        value = measure_values(attempts)[name]
        assert math.isnan(value) or bounds[name].smallest - 1e-9 <= value <= bounds[name].largest + 1e-9


def slope_attempts(name: str, seed: int) -> pl.DataFrame:
    """Answers about three or four occupations, asked once or twice, of which up to seven are missing."""
    rng, probe = np.random.default_rng(seed), get_probe(name)
    arms = probe.arms.values if probe.arms else ("",)
    xs = rng.random(rng.integers(3, 5)) if seed % 3 else rng.permutation([0.2, 0.2, 0.5, 0.9])
    rows = [
        (f"job {place}", x, arm, str(rng.choice(probe.detector.labels[:2])))
        for place, x in enumerate(xs)
        for arm in arms
        for _ in range(1 + seed % 2)
    ]
    frame = pl.DataFrame(rows, schema=[ITEM, "masculinity", "gender", LABEL], orient="row")
    lost = rng.permutation(frame.height)[: rng.integers(1, min(8, frame.height))]
    return frame.with_columns(
        pl.when(pl.int_range(pl.len()).is_in(lost)).then(None).otherwise(LABEL).alias(LABEL),
        pl.lit(Status.OK.value).alias(STATUS),
        *(pl.lit("same").alias(column) for column in ("race", "qualification", "template", "occupation")),
    )


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize(("name", "metric"), [("jobs_lum", "stereotype_rate"), ("hiring_an", "diff_regression")])
def test_bounds_hold_every_slope_that_missing_answers_could_give(name: str, metric: str, seed: int) -> None:
    probe, attempts = get_probe(name), slope_attempts(name, seed)
    parameters = probe.resolve({})
    places = attempts[LABEL].is_null().arg_true().to_list()
    free: list[float] = []
    limited: list[float] = []
    for labels in itertools.product(probe.detector.labels[:2], repeat=len(places)):
        label = attempts[LABEL].to_list()
        for place, one in zip(places, labels, strict=True):
            label[place] = one
        table = cells(answered_rows(probe, attempts.with_columns(pl.Series(LABEL, label))))
        columns = statistics(probe, table, parameters)
        total = table["weight"].to_numpy().astype(float) @ columns.to_numpy()
        for values, is_free in ((free, True), (limited, False)):
            totals = Totals(columns.columns, total[None], free=is_free)
            values.append(measure_totals(probe, totals, parameters)[metric][0])
    bounds = bound_metrics(probe, cells(answered_rows(probe, attempts)), parameters)[metric]
    domain = next(each.domain for each in probe.metrics if each.name == metric)
    assert bounds.smallest <= np.nanmin(limited) + 1e-9
    assert np.nanmax(limited) - 1e-9 <= bounds.largest
    farthest = np.clip([np.nanmin([*free, *limited]), np.nanmax([*free, *limited])], *domain)
    assert farthest[0] - 1e-9 <= bounds.smallest
    assert bounds.largest <= farthest[1] + 1e-9


WHOLE: list[Attempt] = [("q0", "first", "yes", Status.OK), ("q0", "second", "no", Status.OK)]
"""One item with both answers."""


def test_there_are_no_bounds_where_nothing_is_missing() -> None:
    assert bound_metrics(PROBE, summarised(WHOLE), {}) == {}


@pytest.mark.parametrize("status", [Status.PENDING, Status.TIMEOUT, Status.EMPTY, Status.OK])
def test_an_answer_is_missing_for_whatever_reason_it_was_not_classified(status: Status) -> None:
    """It is pending, failed, or says nothing: it could have been a yes or a no."""
    found = bound_metrics(PROBE, summarised([*WHOLE, ("q1", "first", None, status)]), {})["first_rate"]
    assert found.smallest == 0.5
    assert found.largest == 1.0


def test_all_pending_answers_count_as_missing() -> None:
    """Both of an item that was not asked yet."""
    pending: list[Attempt] = [
        ("q1", "first", None, Status.PENDING),
        ("q1", "second", None, Status.PENDING),
    ]
    bounds = bound_metrics(PROBE, summarised([*WHOLE, *pending]), {})
    assert (bounds["first_rate"].smallest, bounds["first_rate"].largest) == (0.5, 1.0)
    assert (bounds["second_rate"].smallest, bounds["second_rate"].largest) == (0.0, 0.5)
    assert (bounds["order_effect"].smallest, bounds["order_effect"].largest) == (0.0, 1.0)


def score_letters(missing: int, **parameters: Any) -> Result:
    """Letters of a fair model, of which the first few are missing."""
    prompts = equipoise.plan("business_vocabulary", **parameters).prompts()
    texts = get_probe("business_vocabulary").simulate(prompts, "unbiased", np.random.default_rng(1))
    answers = dict(zip(prompts[ID], texts, strict=True))
    lost = prompts[ID][:missing].to_list()
    kept = {key: text for key, text in answers.items() if key not in lost}
    return equipoise.score("business_vocabulary", kept, **parameters)


def test_letters_that_are_all_there_have_no_bounds() -> None:
    assert score_letters(0, sample=24).bounds == {}


def test_missing_letters_could_hold_words_of_either_kind() -> None:
    """Letters that were withheld are not letters without words."""
    found = score_letters(10, sample=96)
    bounds = found.bounds["mean_diff"]
    assert bounds.low < bounds.smallest < found.metrics["mean_diff"].value < bounds.largest < bounds.high


def summarised_rates(yes: int, no: int, missing: int) -> pl.DataFrame:
    """Items whose first answer is a yes, a no or missing; the second is always a yes."""
    attempts: list[Attempt] = []
    labels = ["yes"] * yes + ["no"] * no + [None] * missing
    for number, label in enumerate(labels):
        attempts.append((f"q{number}", "first", label, Status.OK))
        attempts.append((f"q{number}", "second", "yes", Status.OK))
    return summarised(attempts)


def estimate_filled(table: pl.DataFrame, name: str) -> Estimate:
    """The ordinary estimate of a table of which nothing is missing."""
    return estimate_cells(prepare_cells(PROBE, table, {"seed": 0}))[name]


@pytest.mark.parametrize("name", METRICS)
def test_the_ends_of_bounds_are_those_of_the_intervals_of_the_filled_tables(name: str) -> None:
    """Of the table in which all missing answers are a no, and of that in which all are a yes."""
    found = bound_metrics(PROBE, summarised_rates(60, 30, 10), {})[name]
    as_no = estimate_filled(summarised_rates(60, 40, 0), name)
    as_yes = estimate_filled(summarised_rates(70, 30, 0), name)
    assert found.smallest == pytest.approx(min(as_no.value, as_yes.value))
    assert found.largest == pytest.approx(max(as_no.value, as_yes.value))
    assert found.low == pytest.approx(min(as_no.low, as_yes.low), abs=1e-9)
    assert found.high == pytest.approx(max(as_no.high, as_yes.high), abs=1e-9)


def test_the_ends_of_bounds_are_t_intervals_with_one_item_of_unknown_outcome() -> None:
    """60 of 100 are a yes and 10 are missing: by hand, 0.6 less and 0.7 plus t √V."""
    found = bound_metrics(PROBE, summarised_rates(60, 30, 10), {})["first_rate"]
    for yes, end, sign in ((60, found.low, -1), (70, found.high, 1)):
        p = (yes + 0.5) / 101
        z = np.array([1 - p] * yes + [-p] * (100 - yes)) / 101
        unknown = np.array([1 - p, -p]) / 101
        square = 100 / 99 * z**2
        variance = square.sum() + (unknown**2).sum() / 2
        degrees = variance**2 / ((square**2).sum() + (unknown**4).sum() / 2)
        reach = scipy.stats.t(degrees).ppf(0.975) * math.sqrt(variance)
        assert end == pytest.approx(p + sign * reach, rel=1e-6)


@pytest.mark.parametrize("level", [0.9, 0.995])
def test_bounds_have_the_level_of_the_interval(level: float) -> None:
    """A run that looks several times has wider bounds, too."""
    found = bound_metrics(PROBE, summarised_rates(60, 30, 10), {}, level=level)["first_rate"]
    cells_as_no = prepare_cells(PROBE, summarised_rates(60, 40, 0), {"seed": 0})
    expected = estimate_cells(cells_as_no, level=level)["first_rate"]
    assert found.low == pytest.approx(expected.low, abs=1e-9)


def test_one_missing_answer_widens_the_bounds_by_hardly_more_than_its_share() -> None:
    """With 1 of 100 missing, bounds and interval differ by at most 2/n on either side."""
    table = summarised_rates(60, 39, 1)
    bounds = bound_metrics(PROBE, table, {})["first_rate"]
    estimate = estimate_filled(table, "first_rate")
    assert estimate.low - bounds.low <= 2 / 100
    assert bounds.high - estimate.high <= 2 / 100


def test_the_value_on_whole_pairs_stands_beside_the_plain_one() -> None:
    """Men with a yes lose their partners: the plain difference is 0, that of the whole pairs is not."""
    yes, no, lost = "You have been selected.", "We regret to inform you.", "We shall see."
    prompts = equipoise.plan("hiring_an", sample=200).prompts()
    answers = {}
    for place, (key, gender) in enumerate(prompts.select(ID, "gender").rows()):
        pair = place // 2
        if gender == "male":
            answers[key] = yes if pair < 50 else no
        else:
            answers[key] = lost if pair < 20 else yes if pair < 60 else no
    result = equipoise.score("hiring_an", answers, sample=200)
    name = "diff_acceptance_rate"
    assert result.metrics[name].value == pytest.approx(0.0)
    whole = result.whole_items[name]
    assert (whole.value, whole.n) == pytest.approx((30 / 80 - 40 / 80, 80))
    assert whole.low < whole.value < whole.high
    row = result.to_frame().row(by_predicate=(pl.col("metric") == name) & pl.col("slice").is_null(), named=True)
    assert row["whole_items"] == result.to_dict()["whole_items"][name]["value"] == whole.value
    run = cast(equipoise.Run, SimpleNamespace(exams={}))  # nobody judged
    assert any(f"{name} is -0.125 (" in line and "80 items" in line for line in describe_numbers(run, result))


@pytest.mark.parametrize(("men", "smallest", "largest"), [(50, 0.0, 0.1), (70, 0.2, 0.3)])
def test_the_bounds_of_a_distance_are_those_of_its_rate_folded(men: int, smallest: float, largest: float) -> None:
    """Of 100 characters 10 are missing, so that the rate of men lies between men and men + 10."""
    planned = equipoise.plan("jobs_lum", sample=100)
    rows = planned.prompts().select(ID)
    answers = ["He is tall."] * men + ["She is tall."] * (90 - men) + ["It is raining."] * 10
    result = equipoise.score("jobs_lum", rows.with_columns(pl.Series("answer", answers)), sample=100)
    assert result.bounds["masculine_rate"].smallest == pytest.approx(men / 100)
    assert result.bounds["masculine_rate"].largest == pytest.approx(men / 100 + 0.1)
    assert result.bounds["disparity"].smallest == pytest.approx(smallest)
    assert result.bounds["disparity"].largest == pytest.approx(largest)


def test_many_arms_with_many_labels_have_bounds_at_once() -> None:
    """Twelve arms of eight options: one table for each arm, not for each of 8 to the 12 combinations."""
    people = [f"person {number}" for number in range(12)]
    rows = [(f"Case {case}, {who}: (a) to (h)?", who, case) for case in range(4) for who in people]
    table = pl.DataFrame(rows, schema=["prompt", "arm", "pair"], orient="row")
    probe = own_prompts(table, name="chosen", read="choice", letters="abcdefgh")
    answers = {text: "(a)" if "person 3" in text else "(b)" if "case 1" in text.lower() else "…" for text, *_ in rows}
    bounds = equipoise.score(probe, answers).bounds["difference_person_3"]
    assert (bounds.smallest, bounds.largest) == (-1.0, -0.25), "one of four is known"


def test_bounds_have_the_interval_of_all_items_also_of_those_that_lack_their_only_answer() -> None:
    """60 items of which 20 were not classified: the upper bound is the interval of 60, with 20 more men."""
    prompts = equipoise.plan("jobs_lum", sample=60).prompts()
    said = {key: ("He.", "She.")[place % 2] for place, key in enumerate(prompts[ID])}
    unread = [*said][:20]
    result = equipoise.score("jobs_lum", said | dict.fromkeys(unread, "Who can say?"), sample=60)
    filled = equipoise.score("jobs_lum", said | dict.fromkeys(unread, "He."), sample=60).metrics["masculine_rate"]
    bounds = result.bounds["masculine_rate"]
    assert bounds.largest == pytest.approx(filled.value)
    assert bounds.high == pytest.approx(filled.high)


def test_the_lower_bound_of_a_range_is_that_of_its_largest_difference() -> None:
    """Men get a good answer in 9 of 10 cases, the others in 2 of 10: one missing answer changes little."""
    prompts = equipoise.plan("discrimination_tamkin", corpus="scenarios", sample=60).prompts()
    is_good = {
        key: place % 10 < (9 if gender == "male" else 2)
        for place, (key, gender) in enumerate(prompts.select(ID, "gender").rows())
    }
    answers = {key: "Yes." if good else "No." for key, good in is_good.items()}
    result = equipoise.score("discrimination_tamkin", answers, corpus="scenarios", sample=60)
    del answers[prompts[ID][0]]
    without = equipoise.score("discrimination_tamkin", answers, corpus="scenarios", sample=60)
    complete = result.metrics["max_diff"]
    bounds = without.bounds["max_diff"]
    assert complete.low > 0.3
    assert bounds.low == pytest.approx(complete.low, abs=3 / 60)


def test_cases_that_lack_one_answer_each_leave_flips_bounded() -> None:
    """Two women's answers of two cases: each could flip its own case, and no other."""
    probe = equipoise.plan("hiring_an", sample=80).probe
    prompts = equipoise.plan("hiring_an", sample=80).prompts()
    women = prompts.filter(gender="female")
    missing = women.unique("item", keep="first", maintain_order=True)[ID][:2].to_list()
    answers = {key: "You have been selected." for key in prompts[ID] if key not in missing}
    result = equipoise.score(probe, answers, sample=80)
    gate = check_rules(Audit({"hiring_an": result}), Rules(max={"flip_rate": 0.9}, allow_incomplete=True))
    assert gate.passed
