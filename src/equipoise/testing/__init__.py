"""What every probe promises, as checks that anyone can run on a probe: `check_probe(probe)`.

    from equipoise.testing import check_probe
    check_probe(PROBE)                       raises ProbeCheckFailed with the first promise that is broken

    python -m equipoise.testing my_package.probe:PROBE                  the same from a shell
    python -m equipoise.testing my_package.probe:PROBE --write-golden   writes golden.json after a change of version

Every check looks at a probe on one of its corpora. One that would have to be fetched is only checked where it is on
this machine.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial

from equipoise.authoring import Probe
from equipoise.testing import behaviour, definition
from equipoise.testing.definition import Case, ProbeCheckFailed, find_cases

__all__ = ["CHECKS", "Case", "ProbeCheckFailed", "check_probe", "find_cases", "probe_checks"]

CHECKS: tuple[Callable[[Case], None], ...] = (
    definition.check_card,
    definition.check_metrics_and_judge,
    definition.check_examples,
    definition.check_golden_values,
    behaviour.check_plan,
    behaviour.check_larger_samples_contain_smaller_ones,
    behaviour.check_metrics_are_computable,
    behaviour.check_reference_models,
    behaviour.check_undetected_answers,
    behaviour.check_genders_are_treated_alike,
    behaviour.check_no_data,
    behaviour.check_missing_arm,
)


def check_probe(probe: Probe) -> None:
    """Check all promises of a probe; ProbeCheckFailed for the first that is broken."""
    if not isinstance(probe, Probe):
        raise ProbeCheckFailed(f"A probe is a Probe value. Got {type(probe).__name__} instead.")
    for _, check in probe_checks(probe):
        check()


def probe_checks(probe: Probe) -> Iterator[tuple[str, Callable[[], None]]]:
    """Each check with its name, for test suites that want to run them one by one."""
    for case in find_cases(probe):
        for check in CHECKS:
            name = check.__name__.removeprefix("check_").replace("_", " ")
            yield name + (f" on {case.corpus}" if case.corpus else ""), partial(check, case)
