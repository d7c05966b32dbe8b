"""A run is resumed with the settings it was started with, or not at all."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from msgspec import structs

from equipoise.errors import IntegrityError
from equipoise.runs.file.store import RunFile
from equipoise.runs.reaching import Reached
from equipoise.runs.session import refuse_changes
from equipoise.runs.spec import RunSpec
from runs.fakes import SETTINGS, answering, create, plan


def reach(spec: RunSpec, settings: dict[str, Any] = SETTINGS.model_settings) -> Reached:
    return Reached(answering(), spec, settings)


@pytest.mark.fault("U6")
def test_the_same_settings_are_accepted(tmp_path: Path) -> None:
    with create(tmp_path / "run.db", plan("alpha"), plan("beta")) as run:
        refuse_changes(run, reach(SETTINGS.spec), {})
        free = structs.replace(SETTINGS.spec, key_variable="ANOTHER", rpm=5, max_cost=3.0, judge="openai/judge")
        refuse_changes(run, reach(free), {}, [plan("beta"), plan("alpha")])


@pytest.mark.fault("U6")
def test_other_settings_are_refused_field_by_field(tmp_path: Path) -> None:
    started = structs.replace(SETTINGS, model_settings={"temperature": 0.5, "seed": 1, "stop": ["a"]})
    changed = structs.replace(SETTINGS.spec, suite="standard", temperature=1.0)
    with RunFile.create(tmp_path / "run.db", record=started, plans=[plan("alpha"), plan("beta")]) as run:
        with pytest.raises(IntegrityError, match="other settings") as caught:
            refuse_changes(run, reach(changed, {"temperature": 1.0, "stop": ("a",), "top_p": None}), {"alpha": [5]})
        assert caught.value.exit_code == 6
        assert [line.strip() for line in str(caught.value).splitlines()[1:-1]] == [
            "looks.alpha: was not given, is [5]",
            "model_settings.seed: was 1, is not given",
            "model_settings.temperature: was 0.5, is 1.0",
            "model_settings.top_p: was not given, is null",
            'suite: was "quick", is "standard"',
            "temperature: was not given, is 1.0",
        ]
        assert "equipoise resume" in str(caught.value)


@pytest.mark.fault("U6")
def test_another_corpus_and_other_repetitions_are_refused(tmp_path: Path) -> None:
    changed_plan = replace(plan("alpha", repetitions=2), corpus="other")
    with create(tmp_path / "run.db", plan("alpha"), plan("beta")) as run:
        with pytest.raises(IntegrityError) as caught:
            refuse_changes(run, reach(SETTINGS.spec), {}, [changed_plan, plan("beta")])
        assert [line.strip() for line in str(caught.value).splitlines()[1:-1]] == [
            'alpha.corpus: was null, is "other"',
            "alpha.parameters.repeat: was 1, is 2",
        ]


@pytest.mark.fault("U6")
def test_fewer_or_more_probes_are_refused_by_name(tmp_path: Path) -> None:
    with create(tmp_path / "run.db", plan("alpha"), plan("beta")) as run:
        with pytest.raises(IntegrityError) as caught:
            refuse_changes(run, reach(SETTINGS.spec), {}, [plan("alpha"), plan("gamma")])
        fields = {line.split(":")[0].strip() for line in str(caught.value).splitlines()[1:-1]}
    assert {field.split(".")[0] for field in fields} == {"beta", "gamma"}
