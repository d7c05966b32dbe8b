"""`equipoise extend`: more of a run that is there, and `run --out`, which offers it."""

from __future__ import annotations

import shlex

import pytest

from calling import Command, output
from equipoise.runs.run import Run

RUN = ["run", "simulated/random", "--probe", "jobs_lum", "--out", "run.equipoise", "--quiet"]


def test_run_offers_the_command_that_asks_more(command: Command) -> None:
    assert command(*RUN, "--sample", "24").code == 0
    refused = command(*RUN, "--sample", "60")
    assert refused.code == 6
    _, _, typed = refused.err.rstrip().rpartition("keep its answers: equipoise ")
    assert typed == "extend run.equipoise --sample 60"
    output(command(*shlex.split(typed), "--json"))
    run = Run.open("run.equipoise")
    assert run.complete
    assert run["jobs_lum"].items == 60
    assert run.record.spec.parameters["jobs_lum.sample"] == 60


def test_an_extended_run_keeps_its_answers(command: Command) -> None:
    assert command(*RUN, "--sample", "24").code == 0
    before = dict(Run.open("run.equipoise").attempts().select("id", "answer").iter_rows())
    output(command("extend", "run.equipoise", "--sample", "30", "--json"))
    after = dict(Run.open("run.equipoise").attempts().select("id", "answer").iter_rows())
    assert len(after) == 30
    assert before.items() <= after.items()


REFUSED = [
    ([], "Say in one way how much more to ask"),
    (["--sample", "24"], "holds as much already, or there is no more. Nothing was changed."),
    (["--suite", "none"], "No suite is called 'none'"),
]


@pytest.mark.parametrize(("options", "message"), REFUSED, ids=["nothing", "as much", "no suite"])
def test_what_is_no_extension_is_refused(
    options: list[str],
    message: str,
    command: Command,
) -> None:
    assert command(*RUN, "--sample", "24").code == 0
    outcome = command("extend", "run.equipoise", *options)
    assert outcome.code == 2
    assert message in outcome.err
    assert Run.open("run.equipoise")["jobs_lum"].items == 24
