"""The settings of run files that no model filled."""

from __future__ import annotations

from equipoise.models import Sampling
from equipoise.runs.file.settings import RunSettings


def make_settings(suite: str = "standard") -> RunSettings:
    """Settings that name a model nobody asked."""
    return RunSettings(
        model="fake/model",
        model_settings={},
        suite=suite,
        base_url=None,
        key_variable=None,
        allow_insecure=False,
        sampling=Sampling(max_tokens=1024),
    )
