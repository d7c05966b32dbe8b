"""Charts drawn in a process of their own are the same as those drawn here, and no failure of it loses one."""

from __future__ import annotations

import subprocess

import pytest

from equipoise.probes import get_probe
from equipoise.report.charts import parallel
from equipoise.report.charts.canvas import WIDE, Drawing
from equipoise.report.charts.parallel import DrawingProcess
from equipoise.report.charts.scales import MarkedEstimate, draw_scale
from equipoise.schema import Estimate


@pytest.fixture(scope="module")
def charts() -> list[Drawing]:
    metric = next(metric for metric in get_probe("jobs_lum").metrics if metric.bands)
    estimate = Estimate(value=0.6, low=0.5, high=0.7, n=100)
    models = ["plain", "<script>alert(1)</script>", "日本語 \u2028"]
    return [draw_scale(metric, [MarkedEstimate(model=name, estimate=estimate, mark=None)], {}, WIDE) for name in models]


def test_charts_are_the_same_in_another_process(charts: list[Drawing]) -> None:
    with DrawingProcess() as drawing:
        drawing.start(charts[:2])
        assert [drawing.inline(chart) for chart in charts] == [chart.inline() for chart in charts]
        process = drawing._process
        assert process is not None
        assert process.poll() is None
    assert process.poll() is not None, "it ends with the page"


@pytest.mark.parametrize("program", ["raise SystemExit(3)", "print('no JSON', flush=True); input()"])
def test_where_the_other_process_fails_charts_are_drawn_here(
    program: str, charts: list[Drawing], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(parallel, "PROGRAM", program)
    with DrawingProcess() as drawing:
        drawing.start(charts)
        assert [drawing.inline(chart) for chart in charts] == [chart.inline() for chart in charts]


def test_where_no_process_can_be_started_charts_are_drawn_here(
    charts: list[Drawing], monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_given: object, **_more: object) -> None:
        raise OSError("no more processes")

    monkeypatch.setattr(subprocess, "Popen", refuse)
    with DrawingProcess() as drawing:
        drawing.start(charts)
        assert drawing.inline(charts[0]) == charts[0].inline()
