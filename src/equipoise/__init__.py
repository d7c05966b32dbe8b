"""How gender-biased is a language model? Probes, metrics with honest intervals, marks A to D.

audit(model, probes=…)     ask a model and score its answers; `audit_async` inside an event loop
plan(probe)                the prompts
score(probe, answers)      answers from anywhere -> metrics and marks
score_part(probe, answers) some of the answers -> a Partial; partials add up to the result of all of them
Run.open(path)             a run file: its answers and results
start, resume, extend, estimate, import_answers    sessions with a model, step by step
compare, compare_all, gate, write_report, plot, export  what to do with runs and results

To write a probe, import from `equipoise.authoring`; to check it, use `equipoise.testing.check_probe`. Everything else
is internal and may change.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from equipoise.answers.parts import score_part
    from equipoise.answers.score import score
    from equipoise.authoring import Probe
    from equipoise.errors import EquipoiseError
    from equipoise.measuring.compare import Comparison
    from equipoise.measuring.gate import Gate, Rules
    from equipoise.measuring.partials import Partial
    from equipoise.measuring.plan import Plan, plan
    from equipoise.measuring.result import Audit, Result
    from equipoise.report.charts.drawing import Drawing
    from equipoise.report.charts.plot import plot
    from equipoise.report.exports import export
    from equipoise.report.html.write import write_report
    from equipoise.runs.estimate import estimate
    from equipoise.runs.finished import compare, compare_all, gate
    from equipoise.runs.imports import import_answers
    from equipoise.runs.run import Run
    from equipoise.runs.session import extend, resume
    from equipoise.runs.spec import RunSpec
    from equipoise.runs.start import audit, audit_async, start
    from equipoise.schema import Estimate, MetricKey

__version__ = "0.1.0"

_MODULES = {
    "answers.parts": ("score_part",),
    "answers.score": ("score",),
    "authoring": ("Probe",),
    "errors": ("EquipoiseError",),
    "measuring.compare": ("Comparison",),
    "measuring.gate": ("Gate", "Rules"),
    "measuring.partials": ("Partial",),
    "measuring.plan": ("Plan", "plan"),
    "measuring.result": ("Audit", "Result"),
    "report.charts.drawing": ("Drawing",),
    "report.charts.plot": ("plot",),
    "report.exports": ("export",),
    "report.html.write": ("write_report",),
    "runs.estimate": ("estimate",),
    "runs.run": ("Run",),
    "runs.spec": ("RunSpec",),
    "runs.finished": ("compare", "compare_all", "gate"),
    "runs.imports": ("import_answers",),
    "runs.session": ("extend", "resume"),
    "runs.start": ("audit", "audit_async", "start"),
    "schema": ("Estimate", "MetricKey"),
}
_HOME = {name: module for module, names in _MODULES.items() for name in names}

__all__ = [  # noqa: RUF022 - what is asked for most comes first
    "audit",
    "audit_async",
    "plan",
    "score",
    "score_part",
    "Run",
    "start",
    "resume",
    "extend",
    "estimate",
    "import_answers",
    "compare",
    "compare_all",
    "gate",
    "write_report",
    "plot",
    "export",
    "Audit",
    "Comparison",
    "Drawing",
    "EquipoiseError",
    "Estimate",
    "Gate",
    "MetricKey",
    "Partial",
    "Plan",
    "Probe",
    "Result",
    "Rules",
    "RunSpec",
]


def __getattr__(name: str) -> Any:
    """Import what is asked for at first use, so that `import equipoise` costs nothing."""
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f"equipoise.{_HOME[name]}"), name)


def __dir__() -> list[str]:
    return sorted([*__all__, "__version__"])
