"""A run as a mapping of its probes, and as it shows itself in a notebook."""

from __future__ import annotations

import pytest

from equipoise.errors import UnknownName
from equipoise.runs.run import Run


def test_a_run_is_a_mapping_of_its_probes(three: list[Run]) -> None:
    run = three[0]
    assert list(run) == list(run.planned)
    assert "jobs_lum" in run
    assert "other" not in run
    assert run["jobs_lum"] is run.result("jobs_lum")


def test_a_probe_that_a_run_does_not_have_is_named(three: list[Run]) -> None:
    with pytest.raises(UnknownName, match="Did you mean 'jobs_lum'"):
        three[0]["jobs_lam"]


def test_a_run_is_a_table_of_its_metrics(three: list[Run]) -> None:
    run = three[0]
    table = run.to_frame()
    assert set(table["model"]) == {run.model}
    assert table.equals(run.results().to_frame())
    assert set(table["probe"]) == set(run)


def test_a_run_shows_each_of_its_results_in_a_notebook(three: list[Run]) -> None:
    run = three[0]
    shown = run._repr_html_()
    for name in run:
        text = run[name]._repr_html_().removeprefix("<pre>").removesuffix("</pre>")
        assert text in shown
