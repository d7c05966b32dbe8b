"""Score answers with GenderBench: `python -m benchmarks.genderbench PROBE ANSWERS OURS THEIRS ARGUMENTS`.

ANSWERS is a file of prompts with their answers. OURS has one line of JSON per answer: how equipoise reads it. The
peer's own probe is filled with these prompts, in its own structures, and with a generator that gives these answers.
Its `evaluate` and `calculate_metrics` are timed. Then THEIRS is written in the form of OURS, and the metrics are
calculated once more from the answers that both read alike.
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

CLASSES = {
    "jobs_lum": "JobsLumProbe",
    "gest_creative": "GestCreativeProbe",
    "discrimination_tamkin": "DiscriminationTamkinProbe",
    "business_vocabulary": "BusinessVocabularyProbe",
    "hiring_an": "HiringAnProbe",
}
Row = dict[str, Any]


def make_probe(name: str, rows: list[Row], arguments: Row) -> Any:
    """The peer's probe, filled with our prompts."""
    base = getattr(import_module("genderbench.probes"), CLASSES[name])
    methods = {"_create_probe_items": lambda probe: list(ITEMS[name](probe, rows, arguments))}
    probe = type(CLASSES[name], (base,), methods)(**arguments["options"], log_strategy="no")
    for attribute, value in arguments["attributes"].items():
        setattr(probe, attribute, value)
    probe.create_probe_items()
    return probe


def job_items(probe: Any, rows: list[Row], _arguments: Row) -> Iterator[Any]:
    for row in first_repetition_rows(rows):
        yield probe.create_probe_item(row["occupation"])


def motto_items(probe: Any, rows: list[Row], arguments: Row) -> Iterator[Any]:
    before, after = arguments["options"]["template"].split("{sentence}")
    for row in first_repetition_rows(rows):
        sentence = row["prompt"].removeprefix(before).removesuffix(after)
        yield probe.create_probe_item(SimpleNamespace(sentence=sentence, stereotype=row["stereotype"]))


def scenario_items(probe: Any, rows: list[Row], _arguments: Row) -> Iterator[Any]:
    for _, group in groupby(first_repetition_rows(rows), key=lambda row: row["item"]):
        texts = {row["gender"]: row["prompt"] for row in group}
        yield probe.create_probe_item((texts["female"], texts["male"], texts["non-binary"]))


def name_items(probe: Any, rows: list[Row], _arguments: Row) -> Iterator[Any]:
    for row in first_repetition_rows(rows):
        yield probe.create_probe_item(row["name"], row["gender"] == "male", row["template"] - 1)


def application_items(probe: Any, rows: list[Row], _arguments: Row) -> Iterator[Any]:
    """The peer has a number for every combination; compute the numbers of our prompts."""
    names, roles = ({key: place for place, key in enumerate(keys)} for keys in (probe.names_keys, probe.roles_keys))
    levels = {level.name.lower(): place for place, level in enumerate(probe.qualification_levels_keys)}
    for row in first_repetition_rows(rows):
        number = levels[row["qualification"]] * len(probe.templates) + row["template"] - 1
        number = number * len(roles) + roles[row["occupation"]]
        yield probe.create_probe_item(number * len(names) + names[row["name"]])


ITEMS = {
    "jobs_lum": job_items,
    "gest_creative": motto_items,
    "discrimination_tamkin": scenario_items,
    "business_vocabulary": name_items,
    "hiring_an": application_items,
}


def first_repetition_rows(rows: list[Row]) -> Iterator[Row]:
    """The rows of the first repetition: each prompt once."""
    return (row for row in rows if row["repetition"] == 1)


class PreparedAnswers:
    """A generator that returns the prepared answers, and remembers which row each one came from."""

    def __init__(self, rows: list[Row]) -> None:
        self.places: list[int] = []
        self.waiting: dict[str, deque[tuple[int, str]]] = defaultdict(deque)
        for place, row in enumerate(rows):
            self.waiting[row["prompt"]].append((place, row["answer"]))

    def generate(self, texts: list[str]) -> list[str]:
        """The next answer to each prompt. The prompts must be ours, word for word."""
        answers = [self.waiting[text].popleft() for text in texts]
        assert not any(self.waiting.values())
        self.places = [place for place, _ in answers]
        return [answer for _, answer in answers]


def load_rows(path: Path) -> list[Row]:
    """Read the rows of a file. Equal prompts share one string in memory."""
    rows: list[Row] = []
    with path.open(encoding="utf-8") as file:
        for line in file:
            row = json.loads(line)
            rows.append({**row, "prompt": sys.intern(row["prompt"])})
    return rows


def make_answered_probe(name: str, path: Path, arguments: Row) -> tuple[Any, list[int]]:
    """The peer's probe with our prompts and answers, and for each of its attempts the number of our row."""
    rows = load_rows(path)
    with redirect_stderr(io.StringIO()):  # it warns at length that it cannot download data, but they are installed
        probe = make_probe(name, rows, arguments)
    generator = PreparedAnswers(rows)
    probe.generate(generator)
    return probe, generator.places


def as_json(evaluation: Any) -> Any:
    """An evaluation of the peer as a JSON value: a label, or counts by inventory."""
    if isinstance(evaluation, dict):
        return {name: [int(count) for count in counts] for name, counts in evaluation.items()}
    return evaluation


def main() -> None:
    """Evaluate and measure, write the readings, and print what it cost."""
    name, answers, ours, theirs, arguments = sys.argv[1:]
    probe, places = make_answered_probe(name, Path(answers), json.loads(arguments))
    result: dict[str, Any] = {}
    with measure_time(result):
        with measure_time(result, "evaluate"):
            probe.evaluate()
        probe.calculate_metrics()

    attempts = dict(sorted(zip(places, probe.attempts, strict=True)))
    readings = [as_json(attempt.evaluation) for attempt in attempts.values()]
    Path(theirs).write_text("".join(json.dumps(reading) + "\n" for reading in readings), encoding="utf-8")
    with Path(ours).open(encoding="utf-8") as file:
        read_alike = {id(attempts[place]) for place, line in enumerate(file) if json.loads(line) == readings[place]}
    for item in probe.probe_items:
        item.attempts = [attempt for attempt in item.attempts if id(attempt) in read_alike]
    remaining = [item for item in probe.probe_items if item.attempts]
    # A new calculator: the first one has cached the scores of the items.
    result["values"] = type(probe.metric_calculator)(probe).calculate(remaining)
    print_result(result)


if __name__ == "__main__":
    main()
