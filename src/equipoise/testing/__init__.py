"""What every probe promises, as checks that anyone can run on a probe: `check_probe(probe)`.

    from equipoise.testing import check_probe
    check_probe(PROBE)                       raises ProbeCheckFailed with the first promise that is broken

    python -m equipoise.testing my_package.probe:PROBE                  the same from a shell
    python -m equipoise.testing my_package.probe:PROBE --write-golden   writes golden.json after a change of version
    python -m equipoise.testing my_package.probe:PROBE --write-sizes    writes sizes.json, for the suites ci and full

A corpus that would have to be fetched is only checked where it is on this machine.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from equipoise.authoring import Probe
from equipoise.testing.behaviour import CASE_CHECKS, check_genders_are_treated_alike, check_reference_models
from equipoise.testing.cases import Case, ProbeCheckFailed, find_cases
from equipoise.testing.definition import (
    check_card,
    check_coverage_groups,
    check_examples,
    check_judge,
    check_labelled_answers,
    check_metrics_are_declared_once,
    check_sizes,
    read_examples,
    write_sizes,
)
from equipoise.testing.golden import check_golden_values, read_golden, write_golden

__all__ = [
    "CASE_CHECKS",
    "DEFINITION_CHECKS",
    "Case",
    "ProbeCheckFailed",
    "check_genders_are_treated_alike",
    "check_golden_values",
    "check_probe",
    "check_reference_models",
    "find_cases",
    "probe_checks",
    "read_examples",
    "read_golden",
    "write_golden",
    "write_sizes",
]

DEFINITION_CHECKS: tuple[Callable[[Probe], None], ...] = (
    check_card,
    check_metrics_are_declared_once,
    check_coverage_groups,
    check_examples,
    check_labelled_answers,
    check_judge,
    check_golden_values,
    check_sizes,
)


def check_probe(probe: Probe) -> None:
    """Check all promises of a probe; ProbeCheckFailed for the first that is broken."""
    if not isinstance(probe, Probe):
        raise ProbeCheckFailed(f"A probe is a Probe value. Got {type(probe).__name__} instead.")
    for _, check in probe_checks(probe):
        check()


def probe_checks(probe: Probe) -> Iterator[tuple[str, Callable[[], None]]]:
    """Each check with its name, for test suites that want to run them one by one."""
    for check in DEFINITION_CHECKS:
        yield name_check(check), lambda check=check: check(probe)  # type: ignore[misc]
    for case in find_cases(probe):
        for case_check in CASE_CHECKS:
            name = name_check(case_check) + (f" on {case.corpus}" if case.corpus else "")
            yield name, lambda check=case_check, case=case: check(case)  # type: ignore[misc]


def name_check(check: Callable[..., None]) -> str:
    return check.__name__.removeprefix("check_").replace("_", " ")
