"""More of a run that is there: prompts nest by their seed, so every answer stays.

A run that stops when its marks are certain grows after each look. What was answered decides, and the file holds it:
whoever resumes such a run takes the same looks.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from msgspec.structs import replace

from equipoise.authoring import Probe
from equipoise.errors import InputError, IntegrityError
from equipoise.measuring.marks import SPENT, look_number, mark
from equipoise.measuring.plan import Plan, plan
from equipoise.measuring.precision import find_certain
from equipoise.measuring.result import Result
from equipoise.runs.estimate import RunEstimate, expect_probe, expect_run
from equipoise.runs.file.store import RunFile
from equipoise.runs.run import Run
from equipoise.runs.spec import RunSpec
from equipoise.runs.suites import get_suite
from equipoise.schema import Status

SIZES = ("sample", "repeat")
"""The parameters that say how much of a probe is asked."""


@dataclass(frozen=True, kw_only=True)
class Growth:
    """What a run becomes: its specification, the plans that grow, and the looks that are taken from now on."""

    spec: RunSpec
    plans: tuple[Plan, ...] = ()
    looks: Mapping[str, list[int]]


def plan_growth(
    run: Run, *, sample: int | None, suite: str | None, repeat: int | None, until_certain: bool, certain: bool
) -> Growth:
    """What the run becomes; InputError if that is no more than it is."""
    if sum(way not in (None, False) for way in (sample, suite, repeat, until_certain, certain)) != 1:
        raise InputError(
            "Say in one way how much more to ask: --sample N, --suite NAME, --repeat N, --certain or --until-certain."
        )
    spec, looks = run.record.spec, dict(run.record.looks)
    if until_certain:
        if looks:
            raise InputError(
                f"{run.path} is asked until it is certain already. To make its last look larger: --sample N"
            )
        looks = {name: _looks_from_here(run, name) for name in run.planned}
        _refuse_no_growth(run, any(len(sizes) > 1 for sizes in looks.values()))
        return Growth(spec=replace(spec, until_certain=True), looks=looks)
    plans = []
    for name, planned in run.planned.items():
        now = {"sample": planned.parameters["sample"], "repeat": planned.repetitions}
        if suite is not None:
            wanted = _suite_size(run, name, suite)
        elif certain:
            wanted = find_certain(run.result(name)) or now
        else:
            wanted = {"sample": sample or now["sample"], "repeat": repeat or now["repeat"]}
        if larger := _grow(run, name, **wanted):
            plans.append(larger)
            if name in looks:
                looks[name] = [*[size for size in looks[name] if size < larger.items][: len(SPENT) - 1], larger.items]
    _refuse_no_growth(run, bool(plans))
    parameters = {key: value for key, value in spec.parameters.items() if key.rpartition(".")[2] not in SIZES}
    if suite is None:  # by probe: one may have fewer items than another
        parameters |= {f"{one.probe.name}.{name}": one.parameters[name] for one in plans for name in SIZES}
    spec = replace(spec, suite=suite or spec.suite, parameters=parameters)
    return Growth(spec=spec, plans=tuple(plans), looks=looks)


def _grow(run: Run, name: str, sample: int | None, repeat: int) -> Plan | None:
    """The plan with this size, or with all items if there are fewer; None if it is no larger than that of the run."""
    planned = run.planned[name]
    now = planned.parameters["sample"]
    repeat = max(repeat, planned.repetitions)
    if sample is None or now is None:
        sample = None
    else:
        setup = run.setup(name)
        sample = max(now, min(sample, setup.population * setup.probe.prompts_per_item))
    if (sample, repeat) == (now, planned.repetitions):
        return None
    return plan_more(run, name, sample=sample, repeat=repeat)


def _suite_size(run: Run, name: str, suite: str) -> dict[str, Any]:
    """How many items and repetitions of a probe a suite asks; InputError if it asks about other texts."""
    setup = run.setup(name)
    repeated = not run.record.is_function
    wanted = setup.probe.resolve(get_suite(suite).parameters(setup.probe, repeated=repeated))
    if wanted.get("corpus") != setup.corpus:
        raise InputError(
            f"The suite {suite!r} asks {name} about the corpus {wanted.get('corpus')!r}, and {run.path} about "
            f"{setup.corpus!r}: their prompts do not nest. Extend it with --sample N, or start a new run."
        )
    return {"sample": wanted["sample"], "repeat": wanted["repeat"]}


def _looks_from_here(run: Run, name: str) -> list[int]:
    """Looks of doubling size, of which the first is what the run holds; as far as there are items."""
    setup = run.setup(name)
    return sorted({min(setup.items * 2**number, setup.population) for number in range(len(SPENT))})


def _refuse_no_growth(run: Run, grows: bool) -> None:
    if not grows:
        raise InputError(f"{run.path} holds as much already, or there is no more. Nothing was changed.")


def estimate_growth(run: Run, growth: Growth) -> RunEstimate:
    """What is missing would take, at most."""
    plans = {planned.probe.name: planned for planned in growth.plans}
    for name, sizes in growth.looks.items():
        plans[name] = plan_more(run, name, sample=sizes[-1] * run.setup(name).probe.prompts_per_item)
    rows = []
    for name, planned in plans.items():
        whole = expect_probe(planned, growth.spec)
        ended = sum(count for status, count in run.states[name].items() if status != Status.PENDING)
        left = max(0.0, 1 - ended / whole.attempts)
        parts = {
            part: round(getattr(whole, part) * left)
            for part in ("prompts", "attempts", "prompt_tokens", "completion_tokens")
        }
        rows.append(dataclasses.replace(whole, **parts))
    return expect_run(rows, growth.spec)


def take_look(file: RunFile, probes: Mapping[str, Probe]) -> tuple[str, list[str]]:
    """Look at every probe of which nothing is pending, and plan more for those that are not certain.

    Returns the name of the look that is asked for now, and what the user was not told yet.
    """
    run = Run.open(file.path, probes=probes.values())
    notes: list[str] = []
    grown: list[Plan] = []
    under_way: list[tuple[int, int]] = []
    for name in filter(run.looks, run.planned):
        sizes, setup = run.looks(name), run.setup(name)
        number = look_number(sizes, setup.items)
        if not run.states[name][Status.PENDING]:
            if not _is_short(run, name):
                notes.append(_describe_stop(run.result(name)))
                continue
            grown.append(plan_more(run, name, sample=sizes[number] * setup.probe.prompts_per_item))
            number += 1
        under_way.append((number, len(sizes)))
    file.change(grown)
    number, most = max(under_way, default=(0, 0))
    look = f"look {number} of {most}" if under_way else "all looks taken"
    return look, [note for note in notes if note not in run.record.notes]


def wants_more(run: Run) -> bool:
    """Whether a look is due by which more would be planned, though nothing is pending."""
    return any(not run.states[name][Status.PENDING] and _is_short(run, name) for name in filter(run.looks, run.planned))


def _is_short(run: Run, name: str) -> bool:
    """Whether the marks of a probe are not certain, and its last look is not taken."""
    return run.setup(name).items < run.looks(name)[-1] and not is_certain(run.result(name))


def is_certain(result: Result) -> bool:
    """Whether the interval of every marked metric lies in one band.

    What the missing answers allow does not count here: more items would not help against that.
    """
    bands = result.setup.probe.marked_metrics()
    marks = [mark(bands[name], estimate) for name, estimate, _ in result.marked()]
    return all(found is not None and found.certain for found in marks)


def plan_more(run: Run, name: str, **size: int | None) -> Plan:
    """The plan of a probe with more items or repetitions, about the same texts."""
    setup = run.setup(name)
    larger = plan(setup.probe, **{**setup.parameters, **size})
    if larger.corpus_sha256 != setup.corpus_sha256:
        raise IntegrityError(f"{run.path} asks about another version of the corpus {setup.corpus!r} of {name}.")
    return larger


def _describe_stop(result: Result) -> str:
    if not is_certain(result):
        return f"{result.probe}: not all marks are certain at the last look ({result.look}); more: equipoise extend"
    left_open = [name for name, _, found in result.marked() if found is not None and not found.certain]
    if left_open:
        return f"{result.probe}: what is missing leaves {', '.join(left_open)} open; more items would not help"
    return f"{result.probe}: all marks are certain ({result.look})"
