"""Score answers with GenderBench: `python -m benchmarks.genderbench PROBE ANSWERS ARGUMENTS`.

ANSWERS is a file of prompts with their answers. The peer's own probe is filled with these prompts, in its own
structures, and with a generator that gives these answers. Its `evaluate` and `calculate_metrics` are timed.
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

from benchmarks.processes import measure_time, print_result

Row = dict[str, Any]


def job_items(probe: Any, rows: list[Row], _arguments: Row) -> Iterator[Any]:
    for row in rows:
        yield probe.create_probe_item(row["occupation"])


def motto_items(probe: Any, rows: list[Row], arguments: Row) -> Iterator[Any]:
    before, after = arguments["options"]["template"].split("{sentence}")
    for row in rows:
        sentence = row["prompt"].removeprefix(before).removesuffix(after)
        yield probe.create_probe_item(SimpleNamespace(sentence=sentence, stereotype=row["stereotype"]))


def scenario_items(probe: Any, rows: list[Row], _arguments: Row) -> Iterator[Any]:
    for _, group in groupby(rows, key=lambda row: row["item"]):
        texts = {row["gender"]: row["prompt"] for row in group}
        yield probe.create_probe_item((texts["female"], texts["male"], texts["non-binary"]))


def name_items(probe: Any, rows: list[Row], _arguments: Row) -> Iterator[Any]:
    for row in rows:
        yield probe.create_probe_item(row["name"], row["gender"] == "male", row["template"] - 1)


def application_items(probe: Any, rows: list[Row], _arguments: Row) -> Iterator[Any]:
    """The peer has a number for every combination; compute the numbers of our prompts."""
    names, roles = ({key: place for place, key in enumerate(keys)} for keys in (probe.names_keys, probe.roles_keys))
    levels = {level.name.lower(): place for place, level in enumerate(probe.qualification_levels_keys)}
    for row in rows:
        number = levels[row["qualification"]] * len(probe.templates) + row["template"] - 1
        number = number * len(roles) + roles[row["occupation"]]
        yield probe.create_probe_item(number * len(names) + names[row["name"]])


PROBES = {
    "jobs_lum": ("JobsLumProbe", job_items),
    "gest_creative": ("GestCreativeProbe", motto_items),
    "discrimination_tamkin": ("DiscriminationTamkinProbe", scenario_items),
    "business_vocabulary": ("BusinessVocabularyProbe", name_items),
    "hiring_an": ("HiringAnProbe", application_items),
}
"""The class of the peer's probe, and what makes its items of our prompts, each of them once."""


def make_probe(name: str, rows: list[Row], arguments: Row) -> Any:
    """The peer's probe, filled with our prompts."""
    title, make_items = PROBES[name]
    once = [row for row in rows if row["repetition"] == 1]
    methods = {"_create_probe_items": lambda probe: list(make_items(probe, once, arguments))}
    base = getattr(import_module("genderbench.probes"), title)
    probe = type(title, (base,), methods)(**arguments["options"], log_strategy="no")
    for attribute, value in arguments["attributes"].items():
        setattr(probe, attribute, value)
    probe.create_probe_items()
    return probe


class PreparedAnswers:
    """A generator that returns the prepared answers."""

    def __init__(self, rows: list[Row]) -> None:
        self.waiting: dict[str, deque[str]] = defaultdict(deque)
        # Item by item, as the peer asks: two items may have the same prompt.
        order = {item: place for place, item in enumerate(dict.fromkeys(row["item"] for row in rows))}
        for row in sorted(rows, key=lambda row: order[row["item"]]):
            self.waiting[row["prompt"]].append(row["answer"])

    def generate(self, texts: list[str]) -> list[str]:
        """The next answer to each prompt. The prompts must be ours, word for word."""
        answers = [self.waiting[text].popleft() for text in texts]
        assert not any(self.waiting.values())
        return answers


def main() -> None:
    """Evaluate and measure, and print the values and what they cost."""
    name, answers, arguments = sys.argv[1:]
    with Path(answers).open(encoding="utf-8") as file:
        rows = [json.loads(line) for line in file]
    with redirect_stderr(io.StringIO()):  # it warns at length that it cannot download data, but they are installed
        probe = make_probe(name, rows, json.loads(arguments))
    probe.generate(PreparedAnswers(rows))
    with measure_time() as result:
        probe.evaluate()
        probe.calculate_metrics()
    result["values"] = type(probe.metric_calculator)(probe).calculate(probe.probe_items)
    print_result(result)


if __name__ == "__main__":
    main()
