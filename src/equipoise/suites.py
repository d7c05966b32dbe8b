"""Suites: which parameters each probe is asked with."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from equipoise.errors import InputError, UnknownName
from equipoise.probe import Parameter, Probe
from equipoise.probes import find, get


@dataclass(frozen=True, kw_only=True)
class Suite:
    """A size of audit. `max_tokens` is the limit of an answer unless the user gives one."""

    name: str
    summary: str
    max_tokens: int

    def parameters(self, probe: Probe) -> dict[str, Any]:
        """What this suite sets for a probe, whoever wrote it; everything else stays at its default."""
        if self.name == "standard":
            return {}
        packaged = [corpus.name for corpus in probe.corpora if corpus.file is not None]
        return {**({"corpus": packaged[0]} if packaged else {}), **probe.quick}


SUITES = {
    suite.name: suite
    for suite in (
        Suite(
            name="quick",
            summary="A stratified subset on the packaged corpora: minutes, wide intervals.",
            max_tokens=96,
        ),
        Suite(
            name="standard",
            summary="The sizes of the probes' cards on the original corpora: 22,556 prompts a repetition.",
            max_tokens=1_024,
        ),
    )
}


def suite(name: str) -> Suite:
    """The suite of this name."""
    if name not in SUITES:
        raise UnknownName("suite", name, SUITES)
    return SUITES[name]


def chosen(probes: str | Probe | Iterable[str | Probe] | None) -> list[Probe]:
    """The probes that were asked for, each once; all there are if none was."""
    if isinstance(probes, str | Probe):
        probes = [probes]
    named = [get(name) for name in (find() if probes is None else probes)]
    if not named:
        raise InputError(f"At least one probe is needed. There are: {', '.join(find())}.")
    return list({probe.name: probe for probe in named}.values())


def parameters_for(probes: Sequence[Probe], size: Suite, given: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """For each probe the suite's parameters and, over them, the given ones that it has.

    `gest_creative.corpus` is the parameter of one probe. A given name that none of the probes has is an error.
    """
    values = {probe.name: size.parameters(probe) for probe in probes}
    known = names(probes)
    for name, value in given.items():
        if name not in known:
            raise UnknownName("parameter of these probes", name, known)
        for probe, parameter in known[name]:
            values[probe.name][parameter.name] = value
    return values


def names(probes: Iterable[Probe]) -> dict[str, list[tuple[Probe, Parameter]]]:
    """Every name that a parameter of these probes can be given by, and whose parameter it is."""
    found: dict[str, list[tuple[Probe, Parameter]]] = {}
    for probe in probes:
        for parameter in probe.all_parameters():
            for name in (parameter.name, f"{probe.name}.{parameter.name}"):
                found.setdefault(name, []).append((probe, parameter))
    return found
