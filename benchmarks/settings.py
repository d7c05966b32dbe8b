"""The settings of run files that no model filled."""

from __future__ import annotations

from equipoise.runs.spec import RunRecord, RunSpec, make_record


def make_settings(suite: str = "standard") -> RunRecord:
    """Settings that name a model nobody asked."""
    return make_record(RunSpec(model="fake/model", suite=suite, max_tokens=1024), model_settings={})
