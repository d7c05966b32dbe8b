"""The specification of a run: loaded from data that anyone may have written, stored as JSON, printed as a command."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Any

import msgspec
import pytest
from msgspec import structs

import equipoise
from equipoise.cli.config import File, ModelTable
from equipoise.errors import BadParameter, IntegrityError
from equipoise.measuring.gate import Rules
from equipoise.runs.file.reader import RunReader
from equipoise.runs.file.store import RunFile
from equipoise.runs.imports import import_answers
from equipoise.runs.reaching import settle_spec
from equipoise.runs.run import Run
from equipoise.runs.spec import RunRecord, RunSpec, load, make_record, make_spec, to_plain
from equipoise.runs.start import start
from equipoise.schema import ANSWER, ID
from runs.fakes import plan

COMPLETE = make_record(
    make_spec(
        model="custom/fake",
        base_url="http://127.0.0.1/v1",
        key_variable="FAKE_KEY",
        headers=("X-Team",),
        probes=["jobs_lum", "hiring_an"],
        suite="quick",
        parameters={"sample": None, "repeat": 2, "hiring_an.design": "matched", "jobs_lum.cycle": [1, 2]},
        until_certain=True,
        temperature=0.7,
        max_tokens=96,
        system="Answer briefly.",
        extra={"top_k": 5},
        judge="openai/judge",
        rpm=10,
    ),
    model_settings={"model": "fake"},
    notes=["A parameter was dropped."],
)
MISSING = object()


def test_settings_come_back_from_json() -> None:
    stored = to_plain(COMPLETE)
    assert load(stored, RunRecord, IntegrityError) == COMPLETE
    assert stored["spec"]["temperature"] == 0.7
    assert "top_p" not in stored["spec"], "what is left to the endpoint is not stored"


def test_a_specification_is_printed_as_the_command_that_starts_it() -> None:
    assert shlex.join(COMPLETE.spec.command()) == (
        "equipoise run custom/fake --base-url http://127.0.0.1/v1 --key-variable FAKE_KEY --probe jobs_lum "
        "--probe hiring_an --suite quick --until-certain --temperature 0.7 --max-tokens 96 --system 'Answer briefly.' "
        "--extra '{\"top_k\":5}' --judge openai/judge --rpm 10.0 --sample all --repeat 2 "
        "--set hiring_an.design=matched --set 'jobs_lum.cycle=[1,2]' --header 'X-Team=…'"
    )


@pytest.mark.parametrize(
    ("model_settings", "imported"),
    [
        ({"imported": True}, True),
        ({"imported": True, "model": "fake"}, False),
        ({"model": "fake"}, False),
        ({}, False),
    ],
)
def test_imported_answers_are_known_by_their_settings(
    model_settings: dict[str, Any],
    imported: bool,
) -> None:
    assert structs.replace(COMPLETE, model_settings=model_settings).imported is imported


@pytest.mark.fault("S7")
@pytest.mark.parametrize(
    ("key", "value", "words"),
    [
        *(
            (name, MISSING, f"missing required field `{name}`")
            for name in (
                "spec",
                "created",
                "model_settings",
            )
        ),
        ("looks", [], "'looks' must be `object`"),
        ("looks", {"jobs_lum": 5}, "'looks[...]' must be `array`"),
        ("looks", {"jobs_lum": [0, 2]}, "'looks[...][0]' must be `int` >= 1"),
        ("looks", {"jobs_lum": [True, 2]}, "'looks[...][0]' must be `int`"),
        ("model_settings", ["a"], "'model_settings' must be `object`"),
        ("judge_settings", 1, "'judge_settings' must be `object | null`"),
        ("notes", ["a", 1], "'notes[1]'"),
        ("color", "red", "No setting is called 'color'"),
        ("spec", "x" * 100, f"'spec' must be `object`. Got '{'x' * 60}' instead"),
        ("spec.model", 1, "'spec.model'"),
        ("spec.base_url", 1.5, "'spec.base_url'"),
        ("spec.temperature", True, "'spec.temperature'"),
        ("spec.temperature", -1, "'spec.temperature'"),
        ("spec.top_p", [], "'spec.top_p'"),
        ("spec.max_tokens", 1.5, "'spec.max_tokens'"),
        ("spec.extra", None, "'spec.extra'"),
        ("spec.temperature", "hot\x1b\u202e", "spec.temperature"),
        ("spec.model_seed", False, "spec.model_seed"),
        ("spec.logprobs", 1, "logprobs"),
    ],
)
def test_wrong_settings_are_refused(key: str, value: object, words: str) -> None:
    stored: dict[str, Any] = to_plain(COMPLETE)
    outer, _, inner = key.partition(".")
    place, name = (stored[outer], inner) if inner else (stored, outer)
    if value is MISSING:
        del place[name]
    else:
        place[name] = value
    with pytest.raises(IntegrityError) as caught:
        load(stored, RunRecord, IntegrityError)
    assert words in str(caught.value)
    assert "\x1b" not in str(caught.value)


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"temperature": -1}, "'temperature' must be `float` >= 0.0."),
        ({"top_p": 0.0}, "'top_p' must be `float` > 0.0."),
        ({"max_tokens": True}, "'max_tokens' must be `int | null`."),
        (
            {"extra": {"n": 2**70}},
            "'extra' must be what JSON holds, not nested too deep. Integer exceeds 64-bit range.",
        ),
        ({"max_tokens": 2**70}, "'max_tokens'"),
        ({"rpm": 0.0}, "'rpm' must be `float` > 0.0"),
        ({"rpm": -1.0}, "'rpm' must be `float` > 0.0"),
        ({"rpm": float("nan")}, "must be `float` > 0.0"),
        ({"rpm": float("inf")}, "must be `float` <= 1000000000.0"),
        ({"concurrency": 0}, "'concurrency' must be `int` >= 1. Got '0' instead."),
        ({"tries": 0}, "'tries' must be `int` >= 1"),
        ({"deadline": -1.0}, "'deadline' must be `float` > 0.0. Got '-1.0' instead."),
        ({"max_requests": -1}, "'max_requests' must be `int` >= 0. Got '-1' instead."),
        ({"deadline": float("inf")}, "must be `float` <= 1000000000.0"),
        ({"tempirature": 1}, "No setting is called 'tempirature'. Did you mean 'temperature'?"),
        ({"reading": "wild"}, "'reading' must be 'careful' or 'specified'. Got 'wild' instead."),
        ({"extra": {"model": 1}}, "must not hold 'model'"),
        ({"judge_base_url": "http://127.0.0.1/v1"}, "Name it, too: --judge MODEL"),
    ],
)
def test_a_wrong_field_is_named_with_what_it_may_be(given: dict[str, Any], words: str) -> None:
    with pytest.raises(BadParameter) as caught:
        make_spec(**given)
    assert words in str(caught.value)


def test_the_largest_number_that_a_run_file_holds_is_kept(tmp_path: Path) -> None:
    largest = 2**63 - 1
    spec = make_spec(model="fake", model_seed=largest, max_tokens=largest)
    with RunFile.create(tmp_path / "run.db", record=make_record(spec, model_settings={}), plans=[plan()]):
        pass
    with RunReader.open(tmp_path / "run.db") as file:
        assert (file.spec.model_seed, file.spec.max_tokens) == (largest, largest)
    for name in ("model_seed", "max_tokens"):
        with pytest.raises(BadParameter, match=name):
            make_spec(model="fake", **{name: largest + 1})


def test_the_run_file_says_which_probes_were_chosen(tmp_path: Path) -> None:
    started = tmp_path / "started.equipoise"
    imported = tmp_path / "imported.equipoise"
    start("simulated/unbiased", probes="jobs_lum", out=started, sample=2).close()
    rows = [{ID: key, ANSWER: "She."} for key in equipoise.plan("jobs_lum", sample=2).prompts()[ID]]
    import_answers(rows, imported, probes="jobs_lum", sample=2)
    for path in (started, imported):
        assert Run.open(path).record.spec.probes == ("jobs_lum",)


@pytest.mark.parametrize(
    ("model", "is_program", "is_local"),
    [
        pytest.param("command:./answer --fast", True, True, id="a command"),
        pytest.param("my_models.small:answer", True, True, id="a Python function"),
        pytest.param("gguf:small.gguf", False, True, id="weights"),
        pytest.param("simulated/unbiased", False, True, id="a simulated model"),
        pytest.param("openai/gpt-4o-mini", False, False, id="a provider"),
        pytest.param("custom/command:", False, False, id="an endpoint"),
    ],
)
def test_the_name_of_a_model_says_whether_it_is_a_program_and_runs_here(
    model: str, is_program: bool, is_local: bool
) -> None:
    spec = make_spec(model=model)
    assert (spec.program, spec.local) == (is_program, is_local)


def test_a_run_of_a_whole_suite_names_no_probes() -> None:
    spec, _, chosen = settle_spec("simulated/unbiased", None, None, None, {"suite": "quick"})
    assert len(chosen) > 1
    assert spec.probes == ()


@pytest.mark.parametrize("kind", [RunSpec, RunRecord, File, ModelTable, Rules])
def test_every_table_has_a_json_schema(kind: type) -> None:
    schema = msgspec.json.schema(kind)
    assert schema["$defs"][kind.__name__]["properties"]


def test_no_secret_has_a_place_in_a_specification(tmp_path: Path) -> None:
    assert not {"key", "key_command", "allow_insecure", "allow_secret_url"} & set(RunSpec.__struct_fields__)
