"""How gender-biased is a language model? Probes, metrics with honest intervals, marks A to D.

audit(model, probes=…)     ask a model and score its answers
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
    from equipoise.answers.score import score as score
    from equipoise.answers.shards import score_part as score_part
    from equipoise.authoring import Probe as Probe
    from equipoise.errors import EquipoiseError as EquipoiseError
    from equipoise.measuring.compare import Comparison as Comparison
    from equipoise.measuring.gate import Gate as Gate
    from equipoise.measuring.gate import Rules as Rules
    from equipoise.measuring.partials import Partial as Partial
    from equipoise.measuring.plan import Plan as Plan
    from equipoise.measuring.plan import plan as plan
    from equipoise.measuring.result import Audit as Audit
    from equipoise.measuring.result import Result as Result
    from equipoise.report.charts.drawing import Drawing as Drawing
    from equipoise.report.charts.plot import plot as plot
    from equipoise.report.exports import export as export
    from equipoise.report.html.write import write_report as write_report
    from equipoise.runs.estimate import estimate as estimate
    from equipoise.runs.finished import compare as compare
    from equipoise.runs.finished import compare_all as compare_all
    from equipoise.runs.finished import gate as gate
    from equipoise.runs.imports import import_answers as import_answers
    from equipoise.runs.run import Run as Run
    from equipoise.runs.session import extend as extend
    from equipoise.runs.session import resume as resume
    from equipoise.runs.spec import RunSpec as RunSpec
    from equipoise.runs.start import audit as audit
    from equipoise.runs.start import start as start
    from equipoise.schema import Estimate as Estimate
    from equipoise.schema import MetricKey as MetricKey

__version__ = "0.1.0"

_MODULES = {
    "runs.start": ("audit", "start"),
    "runs.session": ("resume", "extend"),
    "runs.estimate": ("estimate",),
    "runs.imports": ("import_answers",),
    "runs.finished": ("compare", "compare_all", "gate"),
    "runs.run": ("Run",),
    "runs.spec": ("RunSpec",),
    "answers.score": ("score",),
    "answers.shards": ("score_part",),
    "report.html.write": ("write_report",),
    "report.charts.plot": ("plot",),
    "report.charts.drawing": ("Drawing",),
    "report.exports": ("export",),
    "measuring.plan": ("plan", "Plan"),
    "measuring.result": ("Audit", "Result"),
    "measuring.compare": ("Comparison",),
    "measuring.gate": ("Gate", "Rules"),
    "measuring.partials": ("Partial",),
    "authoring": ("Probe",),
    "schema": ("Estimate", "MetricKey"),
    "errors": ("EquipoiseError",),
}
_HOME = {name: module for module, names in _MODULES.items() for name in names}
__all__ = list(_HOME)


def __getattr__(name: str) -> Any:
    """Import what is asked for at first use, so that `import equipoise` costs nothing."""
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f"equipoise.{_HOME[name]}"), name)


def __dir__() -> list[str]:
    return sorted([*__all__, "__version__"])
