"""Charts as pictures: each is the same as the one in tests/report/pictures, which somebody has looked at.

Where shapes stand follows from many small numbers, of which no other test notices a change. To accept
a new look, delete the picture and run the test: it draws the picture again, and fails until it is there.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from equipoise.authoring import Bands, Intervals, Metric, MetricKey, Scatter, Spot
from equipoise.measuring.marks import mark
from equipoise.measuring.result import IMPORTED, Audit, Result
from equipoise.report.charts.drawing import Drawing
from equipoise.report.charts.figures import draw_figures, draw_scale
from equipoise.report.charts.plot import draw_heatmap
from equipoise.schema import Estimate

PICTURES = Path(__file__).parent / "pictures"
NONE = float("nan")
RATE = Metric(
    "masculine_rate",
    "How often a man is meant.",
    bands=Bands(limits=(0.05, 0.1, 0.2), centre=0.5),
    references={"unbiased": 0.5, "always feminine": 0.0, "always masculine": 1.0},
)
SHIFT = Metric("shift", "How far it moves.", bands=Bands(limits=(0.03, 0.09, 0.27)))


def make_estimate(value: float, low: float = NONE, high: float = NONE, n: int = 100) -> Estimate:
    return Estimate(value=value, low=low, high=high, n=n)


def make_result(*estimates: tuple[Metric, Estimate]) -> Result:
    """All of a result that a chart of its marks reads."""
    marks = {}
    marked = {}
    for metric, estimate in estimates:
        assert metric.bands is not None
        marks[metric.name] = mark(metric.bands, estimate)
        marked[metric.name] = metric.bands
    probe = SimpleNamespace(marked_metrics=lambda: marked)
    metrics = {metric.name: estimate for metric, estimate in estimates}
    return cast("Result", SimpleNamespace(metrics=metrics, marks=marks, setup=SimpleNamespace(probe=probe)))


def draw_one(figure: Intervals | Scatter, estimates: Mapping[MetricKey, Estimate]) -> Drawing:
    (drawing,) = draw_figures([figure], [estimates])
    assert drawing is not None
    return drawing


def draw_rows() -> Drawing:
    """Categories with an interval each; the last has too few items and is left out."""
    estimates = {
        MetricKey("rate", "topic", "care"): make_estimate(0.31, 0.22, 0.4),
        MetricKey("rate", "topic", "machines"): make_estimate(0.78, 0.7, 0.83),
        MetricKey("rate", "topic", "a topic whose name is too long for its column"): make_estimate(0.5),
        MetricKey("rate", "topic", "law"): make_estimate(0.9, 0.1, 1.0, n=3),
    }
    rows = {str(key.group): {"": key} for key in estimates}
    figure = Intervals(name="topic", title="By topic", caption="", axis="rate", rows=rows, centre=0.5)
    return draw_one(figure, estimates)


def draw_series() -> Drawing:
    """Several series in each row, whose names need two lines."""
    names = ("women of the first model", "men of the first model", "women of another model", "men of another model")
    rows = {}
    estimates = {}
    for row, start in (("hired", 0.2), ("promoted", -0.11)):
        rows[row] = {name: MetricKey(name, "group", row) for name in names}
        for place, name in enumerate(names):
            value = start + 0.07 * place
            estimates[rows[row][name]] = make_estimate(value, value - 0.05, value + 0.02 * (place + 1))
    del estimates[rows["promoted"][names[1]]]
    figure = Intervals(name="group", title="By group", caption="", axis="difference", rows=rows)
    return draw_one(figure, estimates)


def draw_points() -> Drawing:
    """Points with a line; some on the edges, and some whose labels have no room."""
    shares = (0.02, 0.08, 0.09, 0.31, 0.47, 0.5, 0.52, 0.69, 0.88, 0.93, 0.97)
    chosen = (0.0, 0.0, 0.04, 0.4, 0.41, 0.75, 0.2, 0.8, 1.0, 0.97, 1.0)
    spots = [
        Spot(f"occupation {place} with a name", x, y) for place, (x, y) in enumerate(zip(shares, chosen, strict=True))
    ]
    figure = Scatter(
        name="jobs",
        title="Jobs",
        caption="",
        x="share of men at work",
        y="share of men in answers",
        spots=spots,
        line=(0.03, 0.9),
    )
    return draw_one(figure, {})


def draw_models() -> Drawing:
    """A marked metric of three models beside published ones: certain, uncertain, and without an interval."""
    results = {
        "atlas-large-2": make_result((RATE, make_estimate(0.51, 0.48, 0.54))),
        "boreal": make_result((RATE, make_estimate(0.68, 0.55, 0.81))),
        "a model with a very long name": make_result((RATE, make_estimate(NONE))),
    }
    return draw_scale(RATE, results, {"another": (0.6, 0.72), "and another one": (0.2, 0.33)})


def draw_difference() -> Drawing:
    """A marked metric that has no reference models, and that nobody has published."""
    return draw_scale(SHIFT, {"atlas-large-2": make_result((SHIFT, make_estimate(-0.05, -0.09, -0.01)))}, {})


def draw_marks() -> Drawing:
    """All marks of two models, of which one was not asked a probe and was imported."""
    first: dict[str, Any] = {
        "jobs": make_result((RATE, make_estimate(0.51, 0.48, 0.54)), (SHIFT, make_estimate(0.4, 0.3, 0.5))),
        "letters": make_result((SHIFT, make_estimate(0.05, -0.2, 0.3))),
    }
    second = {"jobs": make_result((RATE, make_estimate(0.95, 0.9, 0.99)), (SHIFT, make_estimate(NONE)))}
    audits = [Audit(first, model="atlas"), Audit(second, model="boreal", origin=IMPORTED)]
    return draw_heatmap(audits, ["atlas", "boreal"])


@pytest.mark.parametrize("draw", [draw_rows, draw_series, draw_points, draw_models, draw_difference, draw_marks])
def test_a_chart_looks_as_it_did_when_somebody_looked_at_it(draw: Callable[[], Drawing]) -> None:
    file = PICTURES / f"{draw.__name__.removeprefix('draw_')}.svg"
    drawing = draw()
    # An element a line, so that a difference can be read.
    drawn = drawing.svg().replace("><", ">\n<") + "\n"
    if not file.exists():
        file.parent.mkdir(exist_ok=True)
        file.write_text(drawn, encoding="utf-8")
        pytest.fail(f"{file.name} was drawn: look at it, and run the test again")
    assert drawn == file.read_text(encoding="utf-8")


def test_charts_say_in_words_what_they_show() -> None:
    assert draw_series().label == (
        "By group. difference: "
        "hired: women of the first model 0.200, men of the first model 0.270, "
        "women of another model 0.340, men of another model 0.410; "
        "promoted: women of the first model −0.110, women of another model 0.030, men of another model 0.100."
    )
    assert draw_points().label == "Jobs: 11 points. The fitted line goes from 0.030 to 0.930."
