"""Answers to marks by GenderBench: `python -m benchmarks.peers.genderbench PROBE ANSWERS OURS THEIRS GIVEN`.

ANSWERS are the prompts with their answers, OURS a line of JSON for each: how this package reads it. The peer's own
probe gets these prompts, in its own structures, and a generator that gives these answers. Timed are its `evaluate`
and `calculate_metrics`. Then THEIRS is written as OURS is, and its metrics are calculated once more from the answers
that both read alike.
"""

from __future__ import annotations

import io
import json
import sys
from collections import defaultdict, deque
from collections.abc import Iterator
from contextlib import redirect_stderr
from importlib import import_module
from itertools import groupby
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from benchmarks.clock import clocked, report

CLASSES = {
    "jobs_lum": "JobsLumProbe",
    "gest_creative": "GestCreativeProbe",
    "discrimination_tamkin": "DiscriminationTamkinProbe",
    "business_vocabulary": "BusinessVocabularyProbe",
    "hiring_an": "HiringAnProbe",
}
Row = dict[str, Any]


def probe_of(name: str, rows: list[Row], given: Row) -> Any:
    """The peer's probe, populated with our prompts."""
    own = getattr(import_module("genderbench.probes"), CLASSES[name])
    kind = type(CLASSES[name], (own,), {"_create_probe_items": lambda probe: list(ITEMS[name](probe, rows, given))})
    probe = kind(**given["options"], log_strategy="no")
    for attribute, value in given["attributes"].items():
        setattr(probe, attribute, value)
    probe.create_probe_items()
    return probe


def by_job(probe: Any, rows: list[Row], _given: Row) -> Iterator[Any]:
    for row in first_repetitions(rows):
        yield probe.create_probe_item(row["occupation"])


def by_motto(probe: Any, rows: list[Row], given: Row) -> Iterator[Any]:
    before, after = given["options"]["template"].split("{sentence}")
    for row in first_repetitions(rows):
        sentence = row["prompt"].removeprefix(before).removesuffix(after)
        yield probe.create_probe_item(SimpleNamespace(sentence=sentence, stereotype=row["stereotype"]))


def by_scenario(probe: Any, rows: list[Row], _given: Row) -> Iterator[Any]:
    for _, group in groupby(first_repetitions(rows), key=lambda row: row["item"]):
        texts = {row["gender"]: row["prompt"] for row in group}
        yield probe.create_probe_item((texts["female"], texts["male"], texts["non-binary"]))


def by_name(probe: Any, rows: list[Row], _given: Row) -> Iterator[Any]:
    for row in first_repetitions(rows):
        yield probe.create_probe_item(row["name"], row["gender"] == "male", row["template"] - 1)


def by_application(probe: Any, rows: list[Row], _given: Row) -> Iterator[Any]:
    """The peer numbers all combinations; these are the numbers of ours."""
    names, roles = ({key: place for place, key in enumerate(keys)} for keys in (probe.names_keys, probe.roles_keys))
    levels = {level.name.lower(): place for place, level in enumerate(probe.qualification_levels_keys)}
    for row in first_repetitions(rows):
        number = levels[row["qualification"]] * len(probe.templates) + row["template"] - 1
        number = number * len(roles) + roles[row["occupation"]]
        yield probe.create_probe_item(number * len(names) + names[row["name"]])


ITEMS = {
    "jobs_lum": by_job,
    "gest_creative": by_motto,
    "discrimination_tamkin": by_scenario,
    "business_vocabulary": by_name,
    "hiring_an": by_application,
}


def first_repetitions(rows: list[Row]) -> Iterator[Row]:
    """Each prompt once."""
    return (row for row in rows if row["repetition"] == 1)


class Prepared:
    """A generator that gives the prepared answers, and remembers which row each came from."""

    def __init__(self, rows: list[Row]) -> None:
        self.places: list[int] = []
        self.waiting: dict[str, deque[tuple[int, str]]] = defaultdict(deque)
        for place, row in enumerate(rows):
            self.waiting[row["prompt"]].append((place, row["answer"]))

    def generate(self, texts: list[str]) -> list[str]:
        """The next answer to each prompt, which must be one of ours word for word."""
        dealt = [self.waiting[text].popleft() for text in texts]
        assert not any(self.waiting.values())
        self.places = [place for place, _ in dealt]
        return [answer for _, answer in dealt]


def load(path: Path) -> list[Row]:
    """The rows of a file, each prompt in memory once."""
    rows: list[Row] = []
    with path.open(encoding="utf-8") as file:
        for line in file:
            row = json.loads(line)
            rows.append({**row, "prompt": sys.intern(row["prompt"])})
    return rows


def answered(name: str, path: Path, given: Row) -> tuple[Any, list[int]]:
    """The peer's probe with our prompts and their answers, and the row of each of its attempts."""
    rows = load(path)
    with redirect_stderr(io.StringIO()):  # it says at length that it could not download the data that are here
        probe = probe_of(name, rows, given)
    generator = Prepared(rows)
    probe.generate(generator)
    return probe, generator.places


def reading(evaluation: Any) -> Any:
    """What was read, as JSON: a label, or counts by inventory."""
    if isinstance(evaluation, dict):
        return {name: [int(count) for count in counts] for name, counts in evaluation.items()}
    return evaluation


def main() -> None:
    """Evaluate and measure, compare the readings, and report what it cost."""
    name, answers, ours, theirs, given = sys.argv[1:]
    probe, places = answered(name, Path(answers), json.loads(given))
    found: dict[str, Any] = {}
    with clocked(found):
        with clocked(found, "evaluate"):
            probe.evaluate()
        probe.calculate_metrics()

    attempts = dict(sorted(zip(places, probe.attempts, strict=True)))
    read = [reading(attempt.evaluation) for attempt in attempts.values()]
    Path(theirs).write_text("".join(json.dumps(one) + "\n" for one in read), encoding="utf-8")
    with Path(ours).open(encoding="utf-8") as file:
        alike = {id(attempts[place]) for place, line in enumerate(file) if json.loads(line) == read[place]}
    for item in probe.probe_items:
        item.attempts = [attempt for attempt in item.attempts if id(attempt) in alike]
    left = [item for item in probe.probe_items if item.attempts]
    # A calculator of its own: the first one remembers the scores of items.
    found["values"] = type(probe.metric_calculator)(probe).calculate(left)
    report(found)


if __name__ == "__main__":
    main()
