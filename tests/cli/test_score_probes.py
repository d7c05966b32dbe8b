"""`equipoise score` for every probe: the shape of the result, and coverage that adds up."""

from __future__ import annotations

import json
from typing import Any

import pytest

from calling import Command, output
from cli.answer_files import packaged_corpus, simulate, write_lines
from cli.conftest import check_output
from equipoise.probes import find_probes
from equipoise.schema import Status

PROBES = find_probes()
SIZE = 20
SAMPLE = ("--sample", str(SIZE), "--seed", "3")


def corpus_words(probe: str) -> tuple[str, ...]:
    """The words of the command that choose the packaged corpus."""
    words: list[str] = []
    for name, value in packaged_corpus(probe).items():
        words += ["--set", f"{name}={value}"]
    return tuple(words)


def simulate_sample(probe: str) -> dict[str, str]:
    return simulate(probe, sample=SIZE, seed=3, **packaged_corpus(probe))


def check_metrics(metrics: dict[str, Any], probe: str) -> None:
    """All metrics come first and in order, then those of every slice."""
    names = [metric.name for metric in PROBES[probe].all_metrics()]
    assert list(metrics)[: len(names)] == names
    for column in PROBES[probe].slices:
        of_groups = [name for name in metrics if name.startswith(f"{column}_")]
        assert len(of_groups) >= len(names)
        assert all(name.endswith(tuple(names)) for name in of_groups)


def check_marks(marks: dict[str, Any], probe: str) -> None:
    """A mark is certain, or has a range of letters."""
    assert set(marks) == {metric.name for metric in PROBES[probe].metrics if metric.bands}
    for mark in marks.values():
        assert (mark["mark"] is None) == mark["undecided"]
        assert mark["undecided"] or mark["best"] <= mark["mark"] <= mark["worst"]


def check_coverage(coverage: dict[str, dict[str, int]], probe: str) -> None:
    """Every attempt is counted once, in all and in its arm."""
    arms = PROBES[probe].arms
    values = arms.values if arms is not None else ()
    assert list(coverage)[: len(values) + 1] == ["all", *values]
    for counts in coverage.values():
        assert list(counts) == ["planned", *Status, "detected", "undetected", "evaluation_failed"]
        assert sum(counts[state] for state in Status) == counts["planned"]
        assert counts["detected"] + counts["undetected"] == counts["ok"] + counts["truncated"]
    if values:
        for name, count in coverage["all"].items():
            assert count == sum(coverage[arm][name] for arm in values), name


@pytest.mark.parametrize("probe", PROBES)
def test_answers_to_the_prompts_of_a_probe_are_scored(probe: str, command: Command) -> None:
    answers = simulate_sample(probe)
    rows = [{"id": key, "answer": answer} for key, answer in answers.items()]
    words = ("--probe", probe, *SAMPLE, *corpus_words(probe), "--json")
    outcome = command("score", write_lines("answers.jsonl", rows), *words)
    result = json.loads(output(outcome))
    matched = f"{len(rows):,} answers read, {len(rows):,} matched to the plan\n"
    assert outcome.err == matched
    assert check_output(result) == "score/1"
    assert (result["probe"], result["version"]) == (probe, PROBES[probe].version)
    assert result["corpus"] == packaged_corpus(probe).get("corpus")
    known = {parameter.name for parameter in PROBES[probe].all_parameters()}
    assert set(result["parameters"]) == known
    assert result["parameters"]["sample"] == SIZE
    assert result["parameters"]["seed"] == 3
    check_metrics(result["metrics"], probe)
    check_marks(result["marks"], probe)
    check_coverage(result["coverage"], probe)


@pytest.mark.parametrize("probe", PROBES)
def test_coverage_adds_up_when_much_is_missing(probe: str, command: Command) -> None:
    answers = list(simulate_sample(probe).items())
    states = [*Status, None, None, None]
    rows = []
    for place, (key, answer) in enumerate(answers):
        text = answer if place % 5 else "…"
        rows.append({"id": key, "answer": text, "status": states[place % len(states)]})
    rows += [
        {"id": "strange", "answer": "x"},
        rows[0],
        rows[0],
        {"id": answers[1][0], "answer": ""},
    ]
    words = ("--probe", probe, *SAMPLE, *corpus_words(probe), "--json")
    outcome = command("score", write_lines("answers.jsonl", rows), *words)
    assert outcome.code == 3
    result = json.loads(outcome.out)
    check_coverage(result["coverage"], probe)
    matched = len(answers)
    expected = {"read": matched + 4, "matched": matched, "surplus": 3, "unknown": 1}
    assert result["matching"] == expected
    assert "3 answers are surplus" in outcome.err
    assert "1 answers belong to no planned prompt" in outcome.err
