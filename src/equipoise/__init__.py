"""How gender-biased is a language model? Probes, metrics with honest intervals, marks A to D.

plan(probe)             the prompts
score(probe, answers)   answers from anywhere -> metrics and marks
audit(model, probes=…)  ask a model and score its answers
compare(first, second)  paired differences of two results
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from equipoise.auditing import audit
    from equipoise.errors import EquipoiseError
    from equipoise.models import Sampling
    from equipoise.plans import Plan
    from equipoise.probe import Bands, Card, Corpus, Metric, Parameter, Probe
    from equipoise.results import Audit, Result
    from equipoise.run import Run
    from equipoise.runs import Policy
    from equipoise.scoring import compare, plan, score

__version__ = "0.1.0"

_HOME = {
    "audit": "auditing", "compare": "scoring", "plan": "scoring", "score": "scoring",
    "EquipoiseError": "errors",
    "Plan": "plans",
    "Bands": "probe", "Card": "probe", "Corpus": "probe", "Metric": "probe", "Parameter": "probe", "Probe": "probe",
    "Audit": "results", "Result": "results",
    "Run": "run",
    "Sampling": "models",
    "Policy": "runs",
}  # fmt: skip

__all__ = [
    "Audit",
    "Bands",
    "Card",
    "Corpus",
    "EquipoiseError",
    "Metric",
    "Parameter",
    "Plan",
    "Policy",
    "Probe",
    "Result",
    "Run",
    "Sampling",
    "audit",
    "compare",
    "plan",
    "score",
]


def __getattr__(name: str) -> Any:
    """Import what is asked for, so that `import equipoise` costs nothing."""
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f"equipoise.{_HOME[name]}"), name)


def __dir__() -> list[str]:
    return sorted([*__all__, "__version__"])
