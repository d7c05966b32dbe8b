"""Suites: which probes each asks, and how much of them."""

from __future__ import annotations

from dataclasses import replace

import pytest

import equipoise
from equipoise.errors import InputError, UnknownName
from equipoise.measuring.precision import expect_width, pass_chance
from equipoise.probes import find_probes
from equipoise.runs.sizes import GOALS, compute_size, find_size, packaged_corpus, simulate_pilot
from equipoise.runs.suites import choose_probes_for, find_suites, get_suite, plan_probes

PROBES = list(find_probes())


@pytest.mark.parametrize("name", PROBES)
def test_the_suite_for_gates_is_as_large_as_a_gate_needs(name: str) -> None:
    (planned,) = plan_probes(name, "ci", {}, repeated=True)
    (standard,) = plan_probes(name, "standard", packaged_corpus(find_probes()[name]), repeated=True)
    if (planned.items, planned.repetitions) == (standard.items, standard.repetitions):
        return  # It is as large as the standard suite, and no larger.
    pilot = simulate_pilot(planned)
    for metric, bands in planned.probe.marked_metrics().items():
        width = expect_width(pilot, metric, planned.items, planned.repetitions)
        assert pass_chance(bands, width, GOALS["ci"].mark) >= GOALS["ci"].chance


@pytest.mark.parametrize("name", PROBES)
def test_each_suite_asks_no_fewer_items_than_the_smaller_one(name: str) -> None:
    probe = find_probes()[name]
    quick, ci, full = (get_suite(suite).parameters(probe) for suite in ("quick", "ci", "full"))
    assert quick["sample"] <= ci["sample"]
    assert full["sample"] * full["repeat"] >= (probe.sample or ci["sample"])
    assert {key: quick.get(key) for key in packaged_corpus(probe)} == packaged_corpus(probe)
    assert "corpus" not in full
    assert "repeat" not in get_suite("ci").parameters(probe, repeated=False)


@pytest.mark.parametrize("name", PROBES)
def test_in_the_quick_suite_every_marked_metric_has_a_value(name: str) -> None:
    probe = find_probes()[name]
    audit = equipoise.audit("simulated/random", probes=[probe], suite="quick")
    assert None not in audit[name].marks.values()


def test_a_probe_without_a_file_of_sizes_gets_them_when_it_is_planned() -> None:
    probe = find_probes()["inventories"]
    without = replace(probe, card=replace(probe.card, folder=None))
    assert find_size(without, "ci") == compute_size(probe, "ci") == find_size(probe, "ci")


def test_a_use_case_is_the_standard_size_of_its_probes() -> None:
    hiring = [probe.name for probe in choose_probes_for("openai/m", None, "hiring")]
    assert {"hiring_an", "hiring_bloomberg"} <= set(hiring) < set(PROBES)
    assert get_suite("writing").parameters(find_probes()["jobs_lum"]) == find_probes()["jobs_lum"].standard
    assert [plan.items for plan in plan_probes(["hiring_an"], "hiring", {})] == [5_000]
    with pytest.raises(InputError, match=r"The suite 'hiring' does not ask jobs_lum. It asks: .*hiring_an"):
        choose_probes_for("openai/m", ["hiring_an", "jobs_lum"], "hiring")
    assert all(suite.use is None or suite.name == suite.use for suite in find_suites().values())


def test_an_unknown_suite_is_named_with_those_there_are() -> None:
    with pytest.raises(UnknownName, match="Did you mean 'hiring'"):
        get_suite("hirin")
