"""The settings of a run: stored in the same layout as ever, and refused if anything in them is wrong."""

from __future__ import annotations

from dataclasses import fields, replace
from pathlib import Path
from types import MappingProxyType
from typing import Any

import orjson
import pytest

from equipoise.errors import IntegrityError
from equipoise.models import Sampling
from equipoise.runs.file import settings
from equipoise.runs.file.settings import RunSettings
from runs.fakes import SETTINGS

PATH = Path("run.equipoise")
COMPLETE = replace(
    SETTINGS,
    base_url="http://127.0.0.1/v1",
    key_variable="FAKE_KEY",
    sampling=Sampling(temperature=0.7, max_tokens=96, system="Answer briefly.", extra={"top_k": 5}),
    created="2026-11-16T03:23:49+00:00",
    equipoise="0.1.0",
    notes=("A parameter was dropped.",),
)
MISSING = object()


def test_settings_come_back_from_json() -> None:
    stored = orjson.loads(orjson.dumps(COMPLETE.to_json()))
    assert RunSettings.parse(stored, PATH) == COMPLETE
    assert stored == {
        "model": "fake",
        "model_settings": {"model": "fake"},
        "suite": "quick",
        "base_url": "http://127.0.0.1/v1",
        "key_variable": "FAKE_KEY",
        "allow_insecure": False,
        "sampling": {
            "temperature": 0.7,
            "top_p": None,
            "max_tokens": 96,
            "seed": None,
            "system": "Answer briefly.",
            "extra": {"top_k": 5},
        },
        "created": "2026-11-16T03:23:49+00:00",
        "equipoise": "0.1.0",
        "notes": ["A parameter was dropped."],
    }


def test_any_mapping_can_be_stored() -> None:
    frozen = MappingProxyType({"top_k": 5})
    odd = replace(COMPLETE, model_settings=frozen, sampling=Sampling(extra=frozen))
    assert orjson.loads(orjson.dumps(odd.to_json()))["sampling"]["extra"] == {"top_k": 5}


@pytest.mark.parametrize(
    ("model_settings", "imported"), [({"imported": True}, True), ({"imported": 1}, True), ({"model": "fake"}, False)]
)
def test_imported_answers_are_known_by_their_settings(model_settings: dict[str, Any], imported: bool) -> None:
    assert replace(SETTINGS, model_settings=model_settings).imported is imported


def test_every_field_is_checked() -> None:
    assert set(settings._FIELDS) == {field.name for field in fields(RunSettings)}
    assert set(settings._SAMPLING_FIELDS) == {field.name for field in fields(Sampling)}


@pytest.mark.fault("S7")
@pytest.mark.parametrize(
    ("key", "value", "words"),
    [
        *(
            (field.name, MISSING, f"the setting {field.name!r} is missing")
            for field in fields(RunSettings)
            if field.name not in ("looks", "judge")  # only some runs have them
        ),
        ("looks", [], "'looks' must be a mapping"),
        ("looks", {"jobs_lum": 5}, "the looks of jobs_lum must be up to 5 growing sizes"),
        ("looks", {"jobs_lum": []}, "the looks of jobs_lum must be up to 5 growing sizes"),
        ("looks", {"jobs_lum": [20, 20]}, "the looks of jobs_lum must be up to 5 growing sizes"),
        ("looks", {"jobs_lum": [1, 2, 3, 4, 5, 6]}, "the looks of jobs_lum must be up to 5 growing sizes"),
        ("looks", {"jobs_lum": [True, 2]}, "the looks of jobs_lum must be up to 5 growing sizes"),
        ("judge", 1, "'judge' must be a mapping or null, but is 1"),
        ("judge", {"model": "m"}, "the setting 'model_settings' is missing"),
        ("model", 1, "'model' must be a text, but is 1"),
        ("model_settings", ["a"], "'model_settings' must be a mapping"),
        ("suite", None, "'suite' must be a text, but is null"),
        ("base_url", 1.5, "'base_url' must be a text or null"),
        ("key_variable", {}, "'key_variable' must be a text or null"),
        ("allow_insecure", 1, "'allow_insecure' must be true or false"),
        ("sampling", "x" * 100, f"'sampling' must be a mapping, but is \"{'x' * 59}…"),
        ("notes", ["a", 1], "'notes' must be a list of texts"),
        ("color", "red", "the setting 'color' is unknown"),
        (
            "sampling.temperature",
            "hot\x1b\u202e",
            r"""'sampling.temperature' must be a number or null, but is "hot\u001b""",
        ),
        ("sampling.temperature", True, "'sampling.temperature' must be a number or null, but is true"),
        ("sampling.top_p", [], "'sampling.top_p' must be a number or null"),
        ("sampling.max_tokens", 1.5, "'sampling.max_tokens' must be a whole number or null"),
        ("sampling.seed", False, "'sampling.seed' must be a whole number or null"),
        ("sampling.system", 1, "'sampling.system' must be a text or null"),
        ("sampling.extra", None, "'sampling.extra' must be a mapping"),
        ("sampling.seed", MISSING, "the setting 'sampling.seed' is missing"),
        ("sampling.temperature", -1, "'temperature' must be 0 or more"),
        ("sampling.logprobs", 1, "the setting 'sampling.logprobs' is unknown"),
    ],
)
def test_wrong_settings_are_refused(key: str, value: object, words: str) -> None:
    stored: dict[str, Any] = orjson.loads(orjson.dumps(COMPLETE.to_json()))
    outer, _, inner = key.partition(".")
    place, name = (stored[outer], inner) if inner else (stored, outer)
    if value is MISSING:
        del place[name]
    else:
        place[name] = value
    with pytest.raises(IntegrityError) as caught:
        RunSettings.parse(stored, PATH)
    assert caught.value.exit_code == 6
    assert str(caught.value).startswith(f"{PATH} is damaged: ")
    assert words in str(caught.value)
