"""Prompts like these: the interval for few, unequal and crossed clusters, by hand; below five there is none."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import polars as pl
import pytest
import scipy.stats

from equipoise.authoring import Array, Bands, Probe
from equipoise.measuring.cells import prepare_cells
from equipoise.measuring.clusters import Generalisation, generalise
from equipoise.measuring.estimates import estimate_groups
from equipoise.measuring.summarise import answered_rows, cells, without_clusters
from equipoise.probes import get_probe
from equipoise.schema import ITEM, LABEL, STATUS, Bounds, Status
from equipoise.stats.variance import Labels
from measuring.order_probe import ORDER_PROBE

BANDS = Bands(limits=(0.05, 0.15, 0.5), centre=0.5)


def clustered_probe(*clusters: str) -> Probe:
    """Questions that belong to clusters, of which a rate is marked."""
    rate, *others = ORDER_PROBE.metrics
    metrics = (replace(rate, bands=BANDS, domain=(0.0, 1.0)), *others)
    return replace(ORDER_PROBE, covariates=(), slices=(), clusters=clusters, metrics=metrics)


def generalised(
    labels: Array,
    *,
    bounds: Bounds | None = None,
    **clusters: Sequence[int],
) -> Generalisation:
    """The rate of yes for prompts like these, if each item belongs to these clusters."""
    probe = clustered_probe(*clusters)
    items = pl.DataFrame(
        {
            ITEM: [f"q{number}" for number in range(len(labels))],
            **{name: [str(each) for each in values] for name, values in clusters.items()},
            LABEL: [None if math.isnan(each) else "yes" if each > 0 else "no" for each in labels],
            STATUS: Status.OK.value,
        }
    )
    orders = pl.DataFrame({"order": ["first", "second"]})
    table = cells(answered_rows(probe, items.join(orders, how="cross")))
    folded = without_clusters(probe, table)
    prepared = prepare_cells(probe, folded, {})
    estimates = estimate_groups(prepared, folded, folded)
    allowed = {"first_rate": bounds} if bounds else {}
    return generalise(prepared, table, estimates, bounds=allowed)["first_rate"]


def centre_and_influence(labels: Array) -> tuple[float, Array]:
    """The rate with one item of unknown outcome, and what each item adds to it."""
    centre = (labels.sum() + 0.5) / (len(labels) + 1)
    return centre, (labels - centre) / (len(labels) + 1)


def variance_of_clusters(influence: Array, clusters: Labels) -> float:
    """K/(K - 1) Σ Z²."""
    sums = np.array([influence[clusters == each].sum() for each in np.unique(clusters)])
    return float(len(sums) / (len(sums) - 1) * (sums**2).sum())


def draw_clusters(sizes: Sequence[int], seed: int = 1) -> tuple[Array, Labels]:
    """Answers that depend on their cluster: in turn mostly yes and mostly no."""
    random = np.random.default_rng(seed)
    clusters = np.repeat(np.arange(len(sizes)), sizes)
    chance = np.where(clusters % 2 == 0, 0.85, 0.2)
    return (random.random(len(clusters)) < chance).astype(float), clusters


@pytest.mark.parametrize("count", [1, 2, 3, 4])
def test_fewer_than_five_clusters_are_too_few_to_generalise(count: int) -> None:
    """There is no interval, and the column is named."""
    labels, clusters = draw_clusters([30] * count)
    found = generalised(labels, template=clusters.tolist())
    assert math.isnan(found.low)
    assert math.isnan(found.high)
    assert not found.has_interval
    assert found.clusters == {"template": count}
    assert found.few_clusters == ["template"]


@pytest.mark.parametrize("count", [5, 6, 10])
def test_few_clusters_have_student_t_of_one_degree_less(count: int) -> None:
    """t(K - 1) and K/(K - 1), by hand, for clusters with as many items each."""
    labels, clusters = draw_clusters([30] * count)
    found = generalised(labels, template=clusters.tolist())
    centre, influence = centre_and_influence(labels)
    half_width = scipy.stats.t(count - 1).ppf(0.975) * math.sqrt(variance_of_clusters(influence, clusters))
    assert found.low == pytest.approx(max(0.0, centre - half_width), rel=1e-6)
    assert found.high == pytest.approx(min(1.0, centre + half_width), rel=1e-6)


def test_five_equal_clusters_have_an_interval_by_four_degrees_of_freedom() -> None:
    """2.78 standard errors, not the 2.57 of five degrees."""
    labels = np.tile([1.0] * 10 + [0.0] * 10, 5)
    clusters = np.repeat(np.arange(5), 20)
    found = generalised(labels, template=clusters.tolist())
    assert found.has_interval
    assert scipy.stats.t(4).ppf(0.975) == pytest.approx(2.776, abs=0.001)
    # The clusters have equal rates, so that the variance over items is the larger one.
    centre, influence = centre_and_influence(labels)
    of_items = 100 / 99 * (influence**2).sum() + 0.25 / 101**2
    half_width = 2.776 * math.sqrt(of_items)
    assert found.high - centre == pytest.approx(half_width, rel=1e-3)


def test_one_dominant_cluster_of_six_is_too_few_to_generalise() -> None:
    """Five templates with four prompts each beside one with eighty: in effect there is one."""
    labels, clusters = draw_clusters([80, 4, 4, 4, 4, 4])
    found = generalised(labels, template=clusters.tolist())
    assert not found.has_interval
    assert found.clusters == {"template": 6}


@pytest.mark.parametrize("readable", [1, 2, 5])
def test_clusters_of_which_nothing_was_classified_do_not_count(readable: int) -> None:
    """Of twelve templates only some have answers that can be read: the others might as well not be there."""
    labels = np.tile([1.0, 0.0, 1.0], 80)
    templates = np.repeat(np.arange(12), 20)
    is_read = templates < readable
    found = generalised(np.where(is_read, labels, math.nan), template=templates.tolist())
    alone = generalised(labels[is_read], template=templates[is_read].tolist())
    assert found == alone or (math.isnan(found.low) and math.isnan(alone.low))
    assert found.clusters == {"template": readable}
    assert found.has_interval is (readable > 4)


def test_many_clusters_that_differ_give_a_wider_interval_than_items() -> None:
    labels, clusters = draw_clusters([10] * 20)
    found = generalised(labels, template=clusters.tolist())
    alone = generalised(labels, template=list(range(200)))
    assert found.high - found.low > 1.5 * (alone.high - alone.low)
    assert found.few_clusters == []


def test_crossed_clusters_add_up_without_the_items_that_both_count() -> None:
    """V_templates + V_names - V_items, with the smaller number of clusters, by hand."""
    random = np.random.default_rng(6)
    templates, names = (each.ravel() for each in np.indices((12, 12)))
    chance = 0.5 + 0.25 * random.standard_normal(12)[templates] + 0.25 * random.standard_normal(12)[names]
    labels = (random.random(144) < chance).astype(float)
    found = generalised(labels, template=templates.tolist(), name=names.tolist())
    _, influence = centre_and_influence(labels)
    of_items = 144 / 143 * (influence**2).sum() + 0.25 / 145**2
    parts = [variance_of_clusters(influence, factor) for factor in (templates, names)]
    total = max(sum(parts) - of_items, of_items, *parts)
    assert total == pytest.approx(sum(parts) - of_items)
    half_width = scipy.stats.t(11).ppf(0.975) * math.sqrt(total)
    assert (found.high - found.low) / 2 == pytest.approx(half_width, rel=1e-3)
    assert found.clusters == {"template": 12, "name": 12}


@pytest.mark.parametrize("contrary", [0, 1, 3])
def test_how_many_clusters_there_are_does_not_depend_on_the_answers(contrary: int) -> None:
    """One contrary answer makes its cluster add nearly all of the variance; it is one of forty all the same."""
    labels = np.ones(400)
    labels[:contrary] = 0.0
    clusters = np.repeat(np.arange(40), 10)
    found = generalised(labels, template=clusters.tolist())
    assert found.has_interval
    assert found.few_clusters == []


def test_crossed_clusters_have_no_interval_if_one_of_them_is_too_few() -> None:
    random = np.random.default_rng(2)
    labels = (random.random(80) < 0.5).astype(float)
    found = generalised(labels, template=[0, 1] * 40, name=np.repeat(np.arange(20), 4).tolist())
    assert not found.has_interval


def test_clusters_that_agree_give_no_narrower_interval_than_items() -> None:
    """The interval for prompts like these holds that for these prompts."""
    labels = np.tile([1.0, 0.0], 60)
    found = generalised(labels, template=np.repeat(np.arange(12), 10).tolist())
    alone = generalised(labels, template=list(range(120)))
    assert found.low <= alone.low + 1e-3
    assert found.high >= alone.high - 1e-3


@pytest.mark.parametrize("count", [5, 12])
def test_where_all_items_agree_the_rule_of_three_counts_clusters(count: int) -> None:
    """Five templates that all say yes do not rule out that others say no: 3.7/5 of them could, and not 3.7/50."""
    found = generalised(np.ones(10 * count), template=np.repeat(np.arange(count), 10).tolist())
    assert found.has_interval
    assert found.high == 1.0
    assert found.low == pytest.approx(1 + math.log(0.025) / count, abs=0.02)


@pytest.mark.parametrize("count", [5, 12])
def test_where_all_items_say_no_the_upper_end_is_open(count: int) -> None:
    found = generalised(np.zeros(10 * count), template=np.repeat(np.arange(count), 10).tolist())
    assert found.low == 0.0
    assert found.high == pytest.approx(-math.log(0.025) / count, abs=0.02)


@pytest.mark.parametrize(("count", "is_few"), [(9, True), (10, False)])
def test_fewer_than_ten_clusters_are_named_as_few(count: int, is_few: bool) -> None:
    labels, clusters = draw_clusters([20] * count)
    assert generalised(labels, template=clusters.tolist()).few_clusters == ["template"] * is_few


def test_one_item_that_disagrees_lets_clusters_vary_as_they_do() -> None:
    labels = np.ones(120)
    labels[7] = 0.0
    found = generalised(labels, template=np.repeat(np.arange(12), 10).tolist())
    assert found.low > 0.9


@pytest.mark.parametrize("name", ["hiring_an", "discrimination_tamkin", "gest_creative", "business_vocabulary"])
def test_probes_name_their_clusters(name: str) -> None:
    assert get_probe(name).clusters


def simulate_coverage(clusters: int, runs: int, *, dominant: bool = False) -> list[bool]:
    """Whether intervals hold the mean rate of all clusters that there could be; none counts as holding it."""
    random = np.random.default_rng(clusters)
    sizes = [60, *[12] * (clusters - 1)] if dominant else [20] * clusters
    numbers = np.repeat(np.arange(clusters), sizes)
    held = []
    for _ in range(runs):
        rates = np.clip(0.5 + 0.15 * random.standard_normal(clusters), 0, 1)
        labels = (random.random(len(numbers)) < rates[numbers]).astype(float)
        found = generalised(labels, template=numbers.tolist())
        held.append(not found.has_interval or found.low <= 0.5 <= found.high)
    return held


@pytest.mark.parametrize("clusters", [5, 6, 12])
def test_intervals_for_few_clusters_hold_the_rate_of_others_like_them(clusters: int) -> None:
    """In 95% (less 5% for chance) of 80 studies."""
    assert np.mean(simulate_coverage(clusters, 80)) >= 0.9


def test_intervals_with_a_dominant_cluster_hold_the_rate_of_others_or_there_is_none() -> None:
    assert np.mean(simulate_coverage(8, 80, dominant=True)) >= 0.9


@pytest.mark.parametrize("sizes", [(20, 20), (20,) * 6])
def test_what_missing_answers_allow_widens_an_interval_and_makes_none(
    sizes: tuple[int, ...],
) -> None:
    """With two clusters there is none; with six it ends where the bounds do, or farther out."""
    labels, clusters = draw_clusters(sizes)
    plain = generalised(labels, question=clusters.tolist())
    allowed = Bounds(low=0.01, smallest=0.02, largest=0.55, high=0.56)
    found = generalised(labels, bounds=allowed, question=clusters.tolist())
    assert found.has_interval == plain.has_interval == (len(sizes) > 2)
    if found.has_interval:
        assert plain.low > allowed.low
        assert plain.high > allowed.high
        assert (found.low, found.high) == (allowed.low, plain.high)
