"""A run that stops when its marks are certain: after each look, the probes that are not certain get more items.

What was answered decides, and the file holds it: whoever resumes such a run takes the same looks.
"""

from __future__ import annotations

from collections.abc import Mapping

from equipoise.authoring import Probe
from equipoise.errors import IntegrityError
from equipoise.measuring.looks import look_number
from equipoise.measuring.marks import mark
from equipoise.measuring.plan import Plan, plan
from equipoise.measuring.result import Result
from equipoise.runs.ask.events import Look
from equipoise.runs.file.store import RunFile
from equipoise.runs.run import Run
from equipoise.schema import Status


class Looks:
    """The looks of a run file that this process owns."""

    def __init__(self, file: RunFile, probes: Mapping[str, Probe]) -> None:
        self._file = file
        self._probes = probes
        self._stopped: set[str] = set()

    def take(self) -> Look:
        """Look at every probe of which nothing is pending, and plan more for those that are not certain."""
        run = Run.open(self._file.path, probes=self._probes.values())
        notes: list[str] = []
        grown: list[Plan] = []
        under_way: list[tuple[int, int]] = []
        for name in run.planned:
            sizes = run.looks(name)
            if name in self._stopped or not sizes:
                continue
            setup = run.setup(name)
            items = setup.drawn or 0
            number = look_number(sizes, items)
            if not run.states[name][Status.PENDING]:
                result = run.result(name)
                if is_certain(result) or items >= sizes[-1]:
                    self._stopped.add(name)
                    notes.append(_describe_stop(result))
                    continue
                grown.append(plan_more(run, name, sample=sizes[number] * setup.probe.prompts_per_item))
                number += 1
            under_way.append((number, len(sizes)))
        self._file.extend(grown)
        self._file.add_notes(notes)
        number, most = max(under_way, default=(0, 0))
        return Look(
            name=f"look {number} of {most}" if under_way else "all looks taken",
            notes=notes,
            added=self._file.counts()[Status.PENDING] - run.counts[Status.PENDING],
        )


def wants_more(run: Run) -> bool:
    """Whether a look is due by which more would be planned, though nothing is pending."""
    return any(
        run.looks(name)
        and not run.states[name][Status.PENDING]
        and (run.setup(name).drawn or 0) < run.looks(name)[-1]
        and not is_certain(run.result(name))
        for name in run.planned
    )


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
