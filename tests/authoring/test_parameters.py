"""Parameters of probes: which values are taken, in which type, and what is said of the others."""

from __future__ import annotations

from typing import Any

import pytest

from equipoise.authoring import Parameter
from equipoise.authoring.parameters import standard_parameters, template_parameter
from equipoise.errors import BadParameter


def check_even(value: int) -> None:
    if value % 2:
        raise ValueError("an even number")


DESIGN = Parameter(name="design", default="pairs", summary="", choices=("pairs", "panel"))
EVEN = Parameter(name="even", default=2, summary="", check=check_even)
FLAG = Parameter(name="flag", default=True, summary="")
SHARE = Parameter(name="share", default=0.5, summary="")
NAMES = Parameter(name="names", default=("a",), summary="")
CORPUS, SAMPLE, REPETITIONS, SEED = standard_parameters(("quick", "whole"), sample=7)


@pytest.mark.parametrize(
    ("parameter", "given", "taken"),
    [
        (DESIGN, "panel", "panel"),
        (EVEN, 4, 4),
        (FLAG, False, False),
        (SHARE, 1, 1.0),
        (NAMES, ["a", "b"], ("a", "b")),
        (CORPUS, "whole", "whole"),
        (SAMPLE, None, None),
        (SAMPLE, "all", None),
        (SAMPLE, "none", None),
        (SAMPLE, 3, 3),
        (REPETITIONS, 1_000_000, 1_000_000),
        (SEED, 2**63 - 1, 2**63 - 1),
    ],
)
def test_a_value_is_taken_in_the_type_of_the_parameter(parameter: Parameter, given: Any, taken: Any) -> None:
    found = parameter.validate(given, "jobs")
    assert (type(found), found) == (type(taken), taken)


@pytest.mark.parametrize(
    ("parameter", "given", "message"),
    [
        (DESIGN, "crossed", "'design' parameter of jobs must be one of 'pairs', 'panel'. Got 'crossed' instead."),
        (EVEN, 3, "'even' parameter of jobs must be an even number. Got 3 instead."),
        (EVEN, True, "'even' parameter of jobs must be a whole number. Got True instead."),
        (FLAG, 1, "'flag' parameter of jobs must be true or false. Got 1 instead."),
        (SHARE, True, "'share' parameter of jobs must be a number. Got True instead."),
        (SHARE, "0.5", "'share' parameter of jobs must be a number. Got '0.5' instead."),
        (
            CORPUS,
            "other",
            "'corpus' parameter of jobs must be one of 'quick', 'whole'. Got 'other' instead.",
        ),
        (SAMPLE, "some", "'sample' parameter of jobs must be a whole number or all. Got 'some' instead."),
        (NAMES, "he", "'names' parameter of jobs must be a list. Got 'he' instead."),
        (REPETITIONS, 0, "'repeat' parameter of jobs must be between 1 and 1,000,000. Got 0 instead."),
        (SEED, -1, "'seed' parameter of jobs must be 0 or more. Got -1 instead."),
        (SEED, 2**63, "'seed' parameter of jobs must be a number of at most 64 bits."),
    ],
)
def test_what_is_not_allowed_is_said_with_what_was_given(parameter: Parameter, given: Any, message: str) -> None:
    with pytest.raises(BadParameter) as caught:
        parameter.validate(given, "jobs")
    assert message in str(caught.value)


def test_a_template_must_have_its_slots() -> None:
    parameter = template_parameter("About {job}.", "job")
    assert parameter.validate("A {job}.", "jobs") == "A {job}."
    with pytest.raises(BadParameter, match="lacks the slot"):
        parameter.validate("About a nurse.", "jobs")


def test_a_probe_without_corpora_has_no_parameter_for_them() -> None:
    names = [parameter.name for parameter in standard_parameters((), sample=None)]
    assert names == ["sample", "repeat", "seed"]
