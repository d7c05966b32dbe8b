"""What every probe promises, as checks that anyone can run on a probe: `check_probe(probe)`.

    from equipoise.testing import check_probe
    check_probe(PROBE)                       raises ProbeCheckFailed with the first promise that is broken

    python -m equipoise.testing my_package.probe:PROBE                  the same from a shell
    python -m equipoise.testing my_package.probe:PROBE --write-golden   writes golden.json after a change of version
    python -m equipoise.testing my_package.probe:PROBE --write-sizes    writes sizes.json, for the suites ci and full

Every check looks at a probe on one of its corpora. One that would have to be fetched is only checked where it is on
this machine.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial

from equipoise.authoring import Probe
from equipoise.testing.behaviour import (
    check_declared_metrics_are_measured,
    check_genders_are_treated_alike,
    check_larger_samples_contain_smaller_ones,
    check_missing_arm,
    check_no_data,
    check_order_changes_nothing,
    check_plan,
    check_reference_models,
    check_undetected_answers,
)
from equipoise.testing.cases import Case, ProbeCheckFailed, find_cases
from equipoise.testing.definition import (
    check_card,
    check_examples,
    check_golden_values,
    check_metrics_and_judge,
    check_sizes,
)

__all__ = ["CHECKS", "Case", "ProbeCheckFailed", "check_probe", "find_cases", "probe_checks"]

CHECKS: tuple[Callable[[Case], None], ...] = (
    check_card,
    check_metrics_and_judge,
    check_examples,
    check_golden_values,
    check_sizes,
    check_plan,
    check_larger_samples_contain_smaller_ones,
    check_declared_metrics_are_measured,
    check_reference_models,
    check_undetected_answers,
    check_genders_are_treated_alike,
    check_no_data,
    check_missing_arm,
    check_order_changes_nothing,
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
