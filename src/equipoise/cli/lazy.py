"""Modules that are imported when a command first uses them: the help must appear at once."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rich import console, markdown, progress, table

    from equipoise import assets, models, probes
    from equipoise.answers import files as answer_files
    from equipoise.answers import matching, shards
    from equipoise.answers import prompts as answer_prompts
    from equipoise.answers import reading as answer_reading
    from equipoise.answers import score as scoring
    from equipoise.engines import ray as ray_engine
    from equipoise.measuring import gate as gating
    from equipoise.measuring import plan as planning
    from equipoise.models import redact
    from equipoise.report import exports
    from equipoise.report import text as texts
    from equipoise.report.html import seal
    from equipoise.report.html import write as html
    from equipoise.report.terminal import comparisons, gates, marks, tables
    from equipoise.report.transcripts import choose as choosing
    from equipoise.report.transcripts import write as transcripts
    from equipoise.runs import batches, connection, estimate, finished, imports, looks, prices, run, suites
    from equipoise.runs import resume as resuming
    from equipoise.runs import start as starting
    from equipoise.runs import verify as verification
    from equipoise.runs.ask import events, policy
else:

    class LazyModule:
        """Stands for a module until one of its attributes is used."""

        def __init__(self, name: str) -> None:
            self._name = name

        def __getattr__(self, attribute: str) -> Any:
            return getattr(importlib.import_module(self._name), attribute)

    console = LazyModule("rich.console")
    markdown = LazyModule("rich.markdown")
    progress = LazyModule("rich.progress")
    table = LazyModule("rich.table")
    assets = LazyModule("equipoise.assets")
    models = LazyModule("equipoise.models")
    probes = LazyModule("equipoise.probes")
    answer_files = LazyModule("equipoise.answers.files")
    matching = LazyModule("equipoise.answers.matching")
    answer_prompts = LazyModule("equipoise.answers.prompts")
    answer_reading = LazyModule("equipoise.answers.reading")
    scoring = LazyModule("equipoise.answers.score")
    shards = LazyModule("equipoise.answers.shards")
    ray_engine = LazyModule("equipoise.engines.ray")
    gating = LazyModule("equipoise.measuring.gate")
    planning = LazyModule("equipoise.measuring.plan")
    redact = LazyModule("equipoise.models.redact")
    exports = LazyModule("equipoise.report.exports")
    texts = LazyModule("equipoise.report.text")
    html = LazyModule("equipoise.report.html.write")
    seal = LazyModule("equipoise.report.html.seal")
    comparisons = LazyModule("equipoise.report.terminal.comparisons")
    gates = LazyModule("equipoise.report.terminal.gates")
    marks = LazyModule("equipoise.report.terminal.marks")
    tables = LazyModule("equipoise.report.terminal.tables")
    choosing = LazyModule("equipoise.report.transcripts.choose")
    transcripts = LazyModule("equipoise.report.transcripts.write")
    batches = LazyModule("equipoise.runs.batches")
    connection = LazyModule("equipoise.runs.connection")
    estimate = LazyModule("equipoise.runs.estimate")
    finished = LazyModule("equipoise.runs.finished")
    imports = LazyModule("equipoise.runs.imports")
    looks = LazyModule("equipoise.runs.looks")
    prices = LazyModule("equipoise.runs.prices")
    run = LazyModule("equipoise.runs.run")
    starting = LazyModule("equipoise.runs.start")
    resuming = LazyModule("equipoise.runs.resume")
    suites = LazyModule("equipoise.runs.suites")
    events = LazyModule("equipoise.runs.ask.events")
    policy = LazyModule("equipoise.runs.ask.policy")
    verification = LazyModule("equipoise.runs.verify")

__all__ = [
    "answer_files",
    "answer_prompts",
    "answer_reading",
    "assets",
    "batches",
    "choosing",
    "comparisons",
    "connection",
    "console",
    "estimate",
    "events",
    "exports",
    "finished",
    "gates",
    "gating",
    "html",
    "imports",
    "looks",
    "markdown",
    "marks",
    "matching",
    "models",
    "planning",
    "policy",
    "prices",
    "probes",
    "progress",
    "ray_engine",
    "redact",
    "resuming",
    "run",
    "scoring",
    "seal",
    "shards",
    "starting",
    "suites",
    "table",
    "tables",
    "texts",
    "transcripts",
    "verification",
]
