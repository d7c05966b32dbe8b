"""All marks of several models as a map for a paper: one row per model, one column per marked metric."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import polars as pl

from equipoise.measuring.audit import Audit
from equipoise.report.charts.drawing import NORMAL, SMALL, Drawing, fit_text, rectangle, row_label, text, text_width
from equipoise.report.text import describe_mark, format_centre, typeset_number

CELL_WIDTH, CELL_HEIGHT, GAP = 64, 34, 2
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
    models = [f"{model} (imported)" if audit.imported else model for model, audit in zip(models, audits, strict=True)]
    height = CELL_HEIGHT * len(models)
    left = round(min(MOST_LEFT, 20 + max(text_width(model, 1.08 * NORMAL) for model in (*models, "even-handed"))))
    room = (HEAD - 14) / math.sin(math.radians(LEAN))
    shapes = [row_label(height + 14, "even-handed", left, size=SMALL, colour="soft", italic=True)]
    for place, ((probe, metric), centre) in enumerate(columns.items()):
        x = CELL_WIDTH * (place + 0.5)
        shapes += [
            text(x - 14, -8, fit_text(metric, room), angle=-LEAN),
            text(x + 8, -8, fit_text(probe, room, SMALL), size=SMALL, colour="soft", angle=-LEAN),
            text(x, height + 14, format_centre(centre), size=SMALL, colour="soft", anchor="middle", italic=True),
            *(shape for row, audit in enumerate(audits) for shape in _draw_cell(audit, probe, metric, place, row)),
        ]
    shapes += [row_label(CELL_HEIGHT * (row + 0.5), model, left, bold=True) for row, model in enumerate(models)]
    return Drawing(
        label=_describe(audits, models, columns),
        width=left + CELL_WIDTH * len(columns) + OVERHANG,
        height=HEAD + height + 26,
        margins=(left, OVERHANG, HEAD, 26),
        shapes=shapes,
    )


def _draw_cell(audit: Audit, probe: str, metric: str, column: int, row: int) -> list[str]:
    """A cell of the map: the mark and the value on the colour of the mark."""
    x, y = CELL_WIDTH * column, CELL_HEIGHT * row
    result = audit.get(probe)
    mark = result.marks[metric] if result else None
    fill, ink = "panel", "soft"
    if mark is not None and not mark.undecided:
        fill, ink = f"band-{mark.letter.lower()}", f"text-{mark.letter.lower()}"
    middle, shown = x + CELL_WIDTH / 2, str(mark or "–") if result else "not asked"
    value = typeset_number(result.metrics[metric].value) if result else ""
    return [
        rectangle(x, y, CELL_WIDTH - GAP, CELL_HEIGHT - GAP, fill, "line"),
        text(middle, y + 11, shown, colour=ink, anchor="middle", bold=True),
        text(middle, y + 24, value, size=SMALL, colour=ink, anchor="middle"),
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
