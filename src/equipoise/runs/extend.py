"""`extend`: ask more of a run that is there. Prompts nest by their seed, so every answer stays."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from equipoise.errors import InputError
from equipoise.measuring.looks import SPENT
from equipoise.measuring.plan import Plan, count_population
from equipoise.measuring.precision import find_certain
from equipoise.runs.estimate import RunEstimate, expect_probe, expect_run
from equipoise.runs.looks import plan_more
from equipoise.runs.prices import price_for
from equipoise.runs.resume import resume
from equipoise.runs.run import Run
from equipoise.runs.session import Session
from equipoise.runs.spec import RunSpec
from equipoise.runs.start import Confirm
from equipoise.runs.suites import get_suite
from equipoise.schema import Status


@dataclass(frozen=True, kw_only=True)
class Growth:
    """What a run becomes: its specification, the plans that grow, and the looks that are taken from now on."""

    spec: RunSpec
    plans: tuple[Plan, ...] = ()
    looks: Mapping[str, list[int]]


def extend(
    path: str | Path,
    *,
    sample: int | None = None,
    suite: str | None = None,
    repeat: int | None = None,
    until_certain: bool = False,
    certain: bool = False,
    confirm: Confirm | None = None,
    **given: Any,
) -> Session:
    """Plan more of a run, keep every answer, and open a session to ask for what is missing.

    One of these says how much: a larger `sample` of each probe; a larger `suite`; more repetitions of each prompt
    (`repeat`); `certain`: as many items as should make every mark certain, judged by the answers so far;
    `until_certain`: looks of doubling size from now on, until every mark is. Other keywords are those of `resume`, and
    the same is refused. `confirm` is told what would be asked, as for `start`.
    """
    run = Run.open(path, probes=given.get("probes", ()))
    growth = plan_growth(run, sample=sample, suite=suite, repeat=repeat, until_certain=until_certain, certain=certain)
    if confirm and not (run.settings.spec.local or run.settings.is_function):
        confirm(_estimate(run, growth))
    return resume(path, growth=growth, **given)


def plan_growth(
    run: Run,
    *,
    sample: int | None = None,
    suite: str | None = None,
    repeat: int | None = None,
    until_certain: bool = False,
    certain: bool = False,
) -> Growth:
    """What the run becomes; InputError if that is no more than it is."""
    ways = [sample is not None, suite is not None, repeat is not None, until_certain, certain]
    if sum(ways) != 1:
        raise InputError(
            "Say in one way how much more to ask: --sample N, --suite NAME, --repeat N, --certain or --until-certain."
        )
    spec, looks = run.settings.spec, dict(run.settings.looks)
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
        if suite is not None:
            wanted = _suite_size(run, name, suite)
        elif certain:
            wanted = _needed_size(run, name)
        else:
            wanted = {"sample": sample or planned.parameters["sample"], "repeat": repeat or planned.repetitions}
        if larger := _grow(run, name, **wanted):
            plans.append(larger)
            if name in looks:
                looks[name] = [*[size for size in looks[name] if size < larger.items][: len(SPENT) - 1], larger.items]
    _refuse_no_growth(run, bool(plans))
    kept = {key: value for key, value in spec.parameters.items() if key.rpartition(".")[2] not in ("sample", "repeat")}
    sizes = {} if suite else dict(_size_parameters(plans))
    return Growth(
        spec=replace(spec, suite=suite or spec.suite, parameters={**kept, **sizes}), plans=tuple(plans), looks=looks
    )


def _grow(run: Run, name: str, sample: int | None, repeat: int) -> Plan | None:
    """The plan with this size, or with all items if there are fewer; None if it is no larger than that of the run."""
    planned = run.planned[name]
    now = planned.parameters["sample"]
    if sample is not None and now is not None:
        setup = run.setup(name)
        sample = max(now, min(sample, (count_population(setup) or sample) * setup.probe.prompts_per_item))
    if now is None:
        sample = None
    repeat = max(repeat, planned.repetitions)
    return (
        None if (sample, repeat) == (now, planned.repetitions) else plan_more(run, name, sample=sample, repeat=repeat)
    )


def _suite_size(run: Run, name: str, suite: str) -> dict[str, Any]:
    """How many items and repetitions of a probe a suite asks; InputError if it asks about other texts."""
    setup = run.setup(name)
    asked = not run.settings.is_function
    wanted = setup.probe.resolve(get_suite(suite).parameters(setup.probe, asked=asked))
    if wanted.get("corpus") != setup.corpus:
        raise InputError(
            f"The suite {suite!r} asks {name} about the corpus {wanted.get('corpus')!r}, and {run.path} about "
            f"{setup.corpus!r}: their prompts do not nest. Extend it with --sample N, or start a new run."
        )
    return {"sample": wanted["sample"], "repeat": wanted["repeat"]}


def _needed_size(run: Run, name: str) -> dict[str, Any]:
    """How many items and repetitions should make the marks certain, where more items can tell."""
    planned = run.planned[name]
    now = {"sample": planned.parameters["sample"], "repeat": planned.repetitions}
    return find_certain(run.result(name)) or now


def _looks_from_here(run: Run, name: str) -> list[int]:
    """Looks of doubling size, of which the first is what the run holds; as far as there are items."""
    items = run.result(name).items
    population = count_population(run.setup(name)) or items
    return sorted({min(items * 2**number, population) for number in range(len(SPENT))})


def _refuse_no_growth(run: Run, grows: bool) -> None:
    if not grows:
        sizes = ", ".join(
            f"{name} {planned.parameters['sample'] or 'all'} items, {planned.repetitions} times"
            for name, planned in run.planned.items()
        )
        raise InputError(f"{run.path} holds as much already, or there is no more: {sizes}. Nothing was changed.")


def _size_parameters(plans: Iterable[Plan]) -> Iterator[tuple[str, Any]]:
    """The parameters that plan these sizes, by probe: one may have fewer items than another."""
    for planned in plans:
        for name in ("sample", "repeat"):
            yield f"{planned.probe.name}.{name}", planned.parameters[name]


def _estimate(run: Run, growth: Growth) -> RunEstimate:
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
    spec = growth.spec
    return expect_run(rows, spec, price_for(spec.model, spec.price, needed=False), spec.concurrency)
