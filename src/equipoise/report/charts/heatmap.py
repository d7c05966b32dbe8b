"""All marks of several models as a map for a paper: one row per model, one column per marked metric."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import polars as pl

from equipoise.measuring.audit import Audit
from equipoise.measuring.marks import Mark
from equipoise.report.charts.canvas import Drawing, row_labels
from equipoise.report.charts.palette import LIGHT
from equipoise.report.charts.shapes import NORMAL, SMALL, Layer, col, layer, text
from equipoise.report.charts.widths import fit_text, text_width
from equipoise.report.text import describe_mark, format_centre, typeset_number

CELL_WIDTH, CELL_HEIGHT = 64, 34
GAP = 2
MOST_LEFT = 330
"""The names of models are as wide as they must be, and no wider than this."""
HEAD = 132
"""The height of the names of the metrics, which lean to the right."""
LEAN = 38
"""By how many degrees they lean."""
OVERHANG = 108
"""How far the last of them reaches beyond the map."""
Column = tuple[str, str]
"""A probe and one of its marked metrics."""


def list_columns(audits: Sequence[Audit]) -> dict[Column, float]:
    """The marked metrics that any of the audits has, each with its even-handed value."""
    return {
        (probe, metric): bands.centre
        for audit in audits
        for probe, result in audit.items()
        for metric, bands in result.setup.probe.marked_metrics().items()
    }


def tabulate_marks(audits: Sequence[Audit], models: Sequence[str]) -> pl.DataFrame:
    """One row per model: whether its answers were asked for, imported or simulated, and of each marked metric the
    value, the mark (none where it is not decided) and the range."""
    rows = []
    for audit, model in zip(audits, models, strict=True):
        row: dict[str, Any] = {"model": model, "answers": audit.origin_name}
        for probe, metric in list_columns(audits):
            result = audit.get(probe)
            mark = result.marks[metric] if result else None
            value = result.metrics[metric].value if result else math.nan
            name = f"{probe}.{metric}"
            row |= {
                name: None if math.isnan(value) else value,
                f"{name} mark": mark.to_dict()["mark"] if mark else None,
                f"{name} could be": f"{mark.best}–{mark.worst}" if mark else None,
            }
        rows.append(row)
    return pl.DataFrame(rows, infer_schema_length=None)


def draw_heatmap(audits: Sequence[Audit], models: Sequence[str]) -> Drawing:
    """Draw the map. Cells have the colour of their mark, its letter and the value; grey ones are not decided."""
    columns = list_columns(audits)
    cells = [_make_cell(audit, column, x, y) for y, audit in enumerate(audits) for x, column in enumerate(columns)]
    models = [f"{model} (imported)" if audit.imported else model for model, audit in zip(models, audits, strict=True)]
    names = [{"y": CELL_HEIGHT * (y + 0.5), "name": model} for y, model in enumerate(models)]
    width, height = CELL_WIDTH * len(columns), CELL_HEIGHT * len(models)
    left = round(min(MOST_LEFT, 20 + max(text_width(model, 1.08 * NORMAL) for model in (*models, "even-handed"))))
    return Drawing(
        label=_describe(audits, models, columns),
        width=left + width + OVERHANG,
        height=HEAD + height + 26,
        margins=(left, OVERHANG, HEAD, 26),
        layers=[
            *_draw_cells(cells),
            *_draw_heads(columns),
            row_labels(names, left, fontWeight="bold"),
            text(
                [
                    {"x": CELL_WIDTH * (x + 0.5), "name": format_centre(centre)}
                    for x, centre in enumerate(columns.values())
                ],
                col("name"),
                x=col("x"),
                y=height + 14,
                align="center",
                fontSize=SMALL,
                fontStyle="italic",
                fill="soft",
            ),
            row_labels([{"y": height + 14, "name": "even-handed"}], left, SMALL, fontStyle="italic", fill="soft"),
        ],
    )


def _make_cell(audit: Audit, column: Column, x: int, y: int) -> dict[str, Any]:
    probe, metric = column
    result = audit.get(probe)
    mark = result.marks[metric] if result else None
    letter = mark.letter if mark else ""
    decided = mark is not None and not mark.undecided
    shade = letter.lower() if decided else ""
    return {
        "x": CELL_WIDTH * x,
        "y": CELL_HEIGHT * y,
        "fill": LIGHT[f"band-{shade}"] if decided else LIGHT["panel"],
        "ink": LIGHT[f"text-{shade}"] if decided else LIGHT["soft"],
        "mark": _show_mark(mark) if result else "not asked",
        "value": typeset_number(result.metrics[metric].value) if result else "",
    }


def _show_mark(mark: Mark | None) -> str:
    return str(mark) if mark else "–"


def _draw_cells(cells: Sequence[Mapping[str, Any]]) -> list[Layer]:
    middle = col("x", CELL_WIDTH / 2)
    return [
        layer(
            "rect",
            cells,
            x=col("x"),
            y=col("y"),
            width=CELL_WIDTH - GAP,
            height=CELL_HEIGHT - GAP,
            fill=col("fill"),
            stroke="line",
            strokeWidth=0.5,
        ),
        text(
            cells,
            col("mark"),
            x=middle,
            y=col("y", 11),
            align="center",
            fontWeight="bold",
            fill=col("ink"),
        ),
        text(cells, col("value"), x=middle, y=col("y", 24), align="center", fontSize=SMALL, fill=col("ink")),
    ]


def _draw_heads(columns: Mapping[Column, float]) -> list[Layer]:
    """The names of the metrics above the map, the probe below its metric."""
    room = (HEAD - 14) / math.sin(math.radians(LEAN))
    rows = [
        {
            "x": CELL_WIDTH * (x + 0.5),
            "metric": fit_text(metric, room),
            "probe": fit_text(probe, room, SMALL),
        }
        for x, (probe, metric) in enumerate(columns)
    ]
    return [
        text(rows, col("metric"), x=col("x", -14), y=-8, angle=-LEAN),
        text(rows, col("probe"), x=col("x", 8), y=-8, angle=-LEAN, fontSize=SMALL, fill="soft"),
    ]


def _describe(audits: Sequence[Audit], models: Sequence[str], columns: Mapping[Column, float]) -> str:
    """What the map shows, for readers who cannot see it."""
    sentences = ["Marks of all models."]
    for audit, model in zip(audits, models, strict=True):
        marks = [
            f"{probe} {metric} {describe_mark(audit[probe].marks[metric])}"
            for probe, metric in columns
            if probe in audit
        ]
        sentences.append(f"{model}: {', '.join(marks) or 'nothing asked'}.")
    return " ".join(sentences)
