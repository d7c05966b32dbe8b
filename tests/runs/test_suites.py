"""Suites: which probes each asks, and how much of them."""

from __future__ import annotations

from dataclasses import replace

import pytest

import equipoise
from equipoise.errors import InputError, UnknownName
from equipoise.probes import find_probes
from equipoise.runs.suites import choose_probes_for, find_size, find_suites, get_suite, packaged_corpus, plan_probes
from simulating import score

PROBES = list(find_probes())


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
def test_the_suite_for_gates_is_as_large_as_a_gate_needs(name: str) -> None:
    """A model that treats everybody alike, by chance, passes a gate on the worst mark."""
    audit = equipoise.audit("simulated/random", probes=[name], suite="ci")
    assert equipoise.gate(audit, fail_on="D").passed


@pytest.mark.parametrize("name", PROBES)
def test_in_the_quick_suite_every_marked_metric_has_a_value(name: str) -> None:
    result = score(name, "random", **get_suite("quick").parameters(find_probes()[name]))
    assert None not in result.marks.values()


@pytest.mark.parametrize(
    ("name", "suite", "sample"),
    [
        ("hiring_an", "quick", 48),
        ("hiring_an", "ci", 10_000),
        ("hiring_an", "full", 100_000),
        ("inventories", "quick", 24),
        ("inventories", "ci", 125),
        ("inventories", "full", 125),
    ],
)
def test_a_probe_that_says_nothing_of_its_size_gets_round_numbers(
    name: str,
    suite: str,
    sample: int,
) -> None:
    probe = find_probes()[name]
    without = replace(probe, card=replace(probe.card, folder=None))
    assert find_size(without, suite)["sample"] == sample


def test_a_use_case_asks_the_probes_about_it() -> None:
    hiring = [probe.name for probe in choose_probes_for("openai/m", None, "hiring")]
    assert {"hiring_an", "hiring_bloomberg"} <= set(hiring) < set(PROBES)


def test_a_use_case_is_the_standard_size_of_its_probes() -> None:
    assert get_suite("writing").parameters(find_probes()["jobs_lum"]) == find_probes()["jobs_lum"].standard
    assert [plan.items for plan in plan_probes(["hiring_an"], "hiring", {})] == [5_000]


def test_a_probe_that_a_use_case_does_not_ask_is_refused() -> None:
    with pytest.raises(InputError, match=r"The suite 'hiring' does not ask jobs_lum. It asks: .*hiring_an"):
        choose_probes_for("openai/m", ["hiring_an", "jobs_lum"], "hiring")


def test_a_use_case_has_the_name_of_its_suite() -> None:
    uses = [suite for suite in find_suites().values() if suite.use]
    assert uses
    assert all(suite.name == suite.use for suite in uses)


def test_an_unknown_suite_is_named_with_those_there_are() -> None:
    with pytest.raises(UnknownName, match="Did you mean 'hiring'"):
        get_suite("hirin")
