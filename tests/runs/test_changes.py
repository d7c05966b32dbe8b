"""A run goes on with the settings it was started with, or not at all."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest

from equipoise.errors import IntegrityError
from equipoise.runs import RunFile, changes, refuse_changes
from runs.fakes import SETTINGS, create, plan


def test_u6_the_same_settings_go_on(tmp_path: Path) -> None:
    with create(tmp_path / "run.db", plan("alpha"), plan("beta")) as run:
        refuse_changes(run, SETTINGS)
        refuse_changes(run, dict(reversed(SETTINGS.items())), [plan("beta"), plan("alpha")])


def test_u6_other_settings_are_refused_field_by_field(tmp_path: Path) -> None:
    was: dict[str, object] = {**SETTINGS, "model_settings": {"temperature": 0.5, "seed": 1, "stop": ("a",)}}
    now: dict[str, object] = {
        **SETTINGS,
        "suite": "standard",
        "model_settings": {"temperature": 1.0, "stop": ["a"], "top_p": None},
    }
    with RunFile.create(tmp_path / "run.db", settings=was, plans=[plan("alpha"), plan("beta")]) as run:
        refuse_changes(run, was)
        assert changes(run, now) == [
            "model_settings.seed: was 1, is not given",
            "model_settings.temperature: was 0.5, is 1.0",
            "model_settings.top_p: was not given, is null",
            'suite: was "quick", is "standard"',
        ]
        changed = dataclasses.replace(plan("alpha", repetitions=2), corpus="other")
        assert changes(run, was, [changed]) == [
            'alpha.corpus: was null, is "other"',
            "alpha.parameters.num_repetitions: was 1, is 2",
            "beta: was given, is not given",
        ]
        with pytest.raises(
            IntegrityError, match=r"other settings(?s:.*)suite: was \"quick\", is \"standard\""
        ) as caught:
            refuse_changes(run, now)
        assert caught.value.exit_code == 6
        assert "equipoise resume" in str(caught.value)
