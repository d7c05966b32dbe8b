"""`equipoise extend`: more of a run that is there, and `run --out` that offers it."""

from __future__ import annotations

from calling import Command
from equipoise.runs.run import Run

RUN = ["run", "simulated/random", "--probe", "jobs_lum", "--out", "run.equipoise", "--quiet"]


def test_run_offers_the_command_that_asks_more(command: Command) -> None:
    assert command(*RUN, "--sample", "24").code == 0
    refused = command(*RUN, "--sample", "60")
    assert refused.code == 6
    _, _, typed = refused.err.rstrip().rpartition("keep its answers: equipoise ")
    assert typed == "extend run.equipoise --sample 60"
    extended = command(*typed.split(), "--json")
    assert extended.code == 0, extended.err
    run = Run.open("run.equipoise")
    assert (run.complete, run["jobs_lum"].items, run.settings.spec.parameters["jobs_lum.sample"]) == (True, 60, 60)
    nothing = command("extend", "run.equipoise")
    assert (nothing.code, "Say in one way how much more to ask" in nothing.err) == (2, True)
