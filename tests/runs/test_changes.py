"""A run is resumed with the settings it was started with, or not at all."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from equipoise.errors import IntegrityError
from equipoise.models import Sampling
from equipoise.runs.file.changes import changes, refuse_changes
from equipoise.runs.file.store import RunFile
from runs.fakes import SETTINGS, create, plan


@pytest.mark.fault("U6")
def test_the_same_settings_are_accepted(tmp_path: Path) -> None:
    with create(tmp_path / "run.db", plan("alpha"), plan("beta")) as run:
        refuse_changes(run, SETTINGS)
        refuse_changes(run, replace(SETTINGS, created="later", notes=("a",)), [plan("beta"), plan("alpha")])


@pytest.mark.fault("U6")
def test_other_settings_are_refused_field_by_field(tmp_path: Path) -> None:
    started = replace(SETTINGS, model_settings={"temperature": 0.5, "seed": 1, "stop": ("a",)})
    changed = replace(
        SETTINGS,
        suite="standard",
        model_settings={"temperature": 1.0, "stop": ["a"], "top_p": None},
        sampling=Sampling(temperature=1.0, max_tokens=64),
    )
    with RunFile.create(tmp_path / "run.db", settings=started, plans=[plan("alpha"), plan("beta")]) as run:
        refuse_changes(run, started)
        assert changes(run, changed) == [
            "model_settings.seed: was 1, is not given",
            "model_settings.temperature: was 0.5, is 1.0",
            "model_settings.top_p: was not given, is null",
            "sampling.temperature: was null, is 1.0",
            'suite: was "quick", is "standard"',
        ]
        changed_plan = replace(plan("alpha", repetitions=2), corpus="other")
        assert changes(run, started, [changed_plan]) == [
            'alpha.corpus: was null, is "other"',
            "alpha.parameters.repeat: was 1, is 2",
            "beta: was given, is not given",
        ]
        with pytest.raises(
            IntegrityError, match=r"other settings(?s:.*)suite: was \"quick\", is \"standard\""
        ) as caught:
            refuse_changes(run, changed)
        assert caught.value.exit_code == 6
        assert "equipoise resume" in str(caught.value)
