"""What stands above the marks: said once of all runs that it concerns, and never left out when much has failed."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from equipoise.measuring.audit import Audit
from equipoise.report.html.notes import describe_failed, gather_notes
from equipoise.report.html.page import render
from equipoise.report.html.runs import ReportedRun, name_models
from equipoise.report.html.write import write_report
from report.fakes import make_run
from simulating import simulated

SMALL = {"jobs_lum": {"sample": 12}}
NOTES = {
    "simulated": "The answers are simulated: they are those of a reference model (x) that equipoise makes up.",
    "imported": "Imported: 12 attempts from a.csv (SHA-256 0).",
}


def make(model: str, origin: str = "asked", notes: tuple[str, ...] = ()) -> ReportedRun:
    run = make_run(model, 0.0, SMALL)
    notes = (*([NOTES[origin]] if origin in NOTES else []), *notes)
    results = Audit(dict(run.results), model=model, simulated=origin == "simulated", imported=origin == "imported")
    return replace(run, results=results, notes=notes)


def test_many_models_share_their_notes() -> None:
    runs = [
        make("simulated/a", "simulated"),
        make("simulated/b", "simulated", ("A simulated model ignores top_p.",)),
        make("openai/c", "imported"),
        make("openai/d", "imported"),
        make("openai/e", notes=("Served as e-2.",)),
        make("openai/f", notes=("Served as e-2.",)),
    ]
    notes = dict(gather_notes(runs, name_models(runs)))
    assert [*notes] == ["Simulated", "Imported", "Note on simulated/b", "Note on openai/e and openai/f"]
    assert notes["Simulated"].startswith("simulated/a and simulated/b. No language model was asked")
    assert notes["Imported"].startswith("openai/c and openai/d. ")
    assert dict(gather_notes(runs[2:3], ["openai/c"])) == {"Note": NOTES["imported"]}
    page = render(runs, full=True)
    assert page.count('<p class="banner"') == len(notes)
    assert page.count("SHA-256 0") == 2, "under Method, for each"
    assert 'class="matrix"' in page
    assert "<bdi>openai/</bdi><wbr><bdi>c</bdi>" in page


@pytest.mark.parametrize(("failed", "said"), [(3, ""), (11, "11 of 60 attempts (18%) have no answer: 11 ")])
def test_many_failures_are_said_at_the_top(tmp_path: Path, failed: int, said: str) -> None:
    sizes = {"jobs_lum": {"sample": 60}}
    run = simulated(tmp_path / "run.equipoise", {"jobs_lum": "random"}, failed=failed, parameters=sizes)
    found = describe_failed(run.results())
    assert found.startswith(said)
    assert bool(found) == bool(said)
    write_report(run, tmp_path / "report.html")
    top = (tmp_path / "report.html").read_text(encoding="utf-8").partition("<nav")[0]
    assert (found in top and "Many attempts failed" in top) if said else "Many attempts" not in top
