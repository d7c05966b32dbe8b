"""Writing the page of transcripts."""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path

import orjson
from markupsafe import Markup

from equipoise.measuring.audit import ORIGINS, name_origin
from equipoise.report.charts.drawing import colour_styles
from equipoise.report.files import check_target, writing
from equipoise.report.html.page import content_policy, make_environment
from equipoise.report.transcripts.choose import Choice, Chosen, choose
from equipoise.report.transcripts.contents import build_contents
from equipoise.runs.finished import RunSource, open_run
from equipoise.runs.run import Run

NARROW = "--probe, --label, --status, --repetition, --where, --search"
"""The options that narrow what is shown."""


def write_transcripts(run: RunSource, out: str | Path, choice: Choice | None = None) -> list[Chosen]:
    """Write the answers of a run as one HTML file that works offline, to be searched and filtered."""
    path = Path(out)
    check_target(path)
    opened = open_run(run)
    chosen = choose(opened, choice or Choice())
    page = render_transcripts(opened, chosen)
    with writing(path) as file:
        file.write(page.encode())
    return chosen


def render_transcripts(run: Run, chosen: list[Chosen]) -> str:
    """The page."""
    folder = files("equipoise.report.html")
    style, script = (
        Markup(text)  # noqa: S704 - ours
        for text in (
            colour_styles() + "".join((folder / name).read_text("utf-8") for name in ("style.css", "transcripts.css")),
            (folder / "transcripts.js").read_text("utf-8"),
        )
    )
    return (
        make_environment()
        .get_template("transcripts.html.j2")
        .render(
            run=run,
            origin=ORIGINS[name_origin(simulated=run.settings.simulated, imported=run.settings.imported)],
            shown=sum(each.table.height for each in chosen),
            fitting=sum(each.fitting for each in chosen),
            probes=[each.probe for each in chosen],
            narrow=NARROW,
            style=style,
            script=script,
            data=encode_json_for_page(build_contents(chosen)),
            policy=content_policy(style, script),
        )
    )


def encode_json_for_page(value: object) -> Markup:
    """JSON that can stand in a script element: nothing in it begins a tag, a comment or an entity."""
    text = orjson.dumps(value, option=orjson.OPT_NON_STR_KEYS).decode()
    for character in "<>&\u2028\u2029":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return Markup(text)  # noqa: S704 - no character is left that means anything in HTML
