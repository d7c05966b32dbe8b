"""The library as a user meets it: what is public, plans, scores, and results as values."""

from __future__ import annotations

import html
import json
import math
import os
import re
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import FrozenInstanceError, replace
from pathlib import Path
from typing import Any

import pandas as pd
import polars as pl
import pytest

import equipoise
from answering import JOBS_LUM, answer, answer_all, plain_metrics
from equipoise import MetricKey, Result
from equipoise.errors import EquipoiseError, InputError, UnknownName
from equipoise.measuring.result import Audit
from equipoise.settings import environment

DOCS = Path(__file__).parents[1] / "docs"


@pytest.fixture(scope="module")
def prompts() -> pl.DataFrame:
    return equipoise.plan("jobs_lum").prompts()


@pytest.fixture(scope="module")
def result() -> Result:
    return equipoise.score("jobs_lum", answer_all())


# Importing


@pytest.mark.parametrize(
    ("imported", "without"),
    [
        ("equipoise", {"polars", "numpy", "typer", "rich", "aiohttp"}),
        ("equipoise.cli", {"polars", "numpy", "aiohttp", "jinja2", "vl_convert"}),
        (
            "equipoise.runs.run, equipoise.runs.start, equipoise.runs.session, equipoise.measuring.gate",
            {"typer", "rich", "aiohttp", "jinja2", "vl_convert"},
        ),
    ],
)
def test_importing_loads_only_what_is_needed(imported: str, without: set[str]) -> None:
    code = f"import sys, {imported}; print({without} & {{*sys.modules}})"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"


def test_every_public_name_is_there() -> None:
    for name in equipoise.__all__:
        assert getattr(equipoise, name) is not None
        assert name in dir(equipoise)
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        equipoise.nothing  # noqa: B018


def test_the_docs_say_what_is_public() -> None:
    page = (DOCS / "api.md").read_text(encoding="utf-8")
    assert re.findall(r"^\| `equipoise\.(\w+)` \|", page, flags=re.MULTILINE) == equipoise.__all__
    for name in ("`equipoise.authoring`", "`equipoise.testing`", "Everything else is internal"):
        assert name in page
    assert "is internal" in str(equipoise.__doc__)
    for name in filter(str.islower, equipoise.__all__):
        assert re.search(rf"\b{name}\b", str(equipoise.__doc__)), name


def test_public_names_can_be_imported_together() -> None:
    names: dict[str, object] = {}
    exec("from equipoise import *", names)
    assert set(equipoise.__all__) <= names.keys()


# plan


def test_a_plan_says_what_it_is() -> None:
    plan = equipoise.plan("gest_creative", corpus="mottos", sample=20, repeat=3)
    assert (plan.items, plan.repetitions, plan.corpus) == (20, 3, "mottos")
    assert plan.corpus_sha256 is not None
    assert len(plan.corpus_sha256) == 64
    attempts = plan.attempts()
    assert attempts.height == 60
    assert sorted(attempts["repetition"].unique()) == [1, 2, 3]


def test_a_plan_is_a_value() -> None:
    plan = equipoise.plan("jobs_lum", sample=2)
    with pytest.raises(FrozenInstanceError):
        plan.items = 5  # type: ignore[misc]


def test_a_wrong_name_of_a_probe_is_refused_with_the_nearest() -> None:
    with pytest.raises(UnknownName, match="Did you mean 'jobs_lum'"):
        equipoise.plan("job_lum")


def test_a_wrong_name_of_a_parameter_is_refused_with_the_nearest() -> None:
    with pytest.raises(UnknownName, match="Did you mean 'sample'"):
        equipoise.plan("jobs_lum", sampel=5)


def test_a_parameter_of_another_probe_is_refused() -> None:
    with pytest.raises(EquipoiseError, match="corpus"):
        equipoise.score("jobs_lum", [], corpus="gest")


# score: answers in many shapes


def shapes(rows: list[dict[str, str]]) -> dict[str, Any]:
    """The same answers, by id and by prompt, in everything that holds them."""
    by_id = [{"id": row["id"], "answer": row["answer"]} for row in rows]
    by_prompt = [{"prompt": row["prompt"], "answer": row["answer"]} for row in rows]
    return {
        "polars": pl.DataFrame(rows),
        "polars by id": pl.DataFrame(by_id),
        "polars by prompt": pl.DataFrame(by_prompt),
        "pandas": pd.DataFrame(by_id),
        "pandas by prompt, with another index": pd.DataFrame(by_prompt, index=range(5, 5 + len(rows))),
        "a list of mappings": by_id,
        "a generator": (row for row in by_prompt),
        "a mapping by id": {row["id"]: row["answer"] for row in rows},
        "a mapping by prompt": {row["prompt"]: row["answer"] for row in rows},
        "a mapping to lists": {row["id"]: [row["answer"]] for row in rows},
    }


@pytest.mark.parametrize("shape", shapes([{"id": "", "prompt": "", "answer": ""}]))
def test_answers_come_in_many_shapes(shape: str, prompts: pl.DataFrame, result: Result) -> None:
    rows = []
    for key, text in prompts["id", "prompt"].iter_rows():
        rows.append({"id": key, "prompt": text, "answer": answer(text)})
    scored = equipoise.score("jobs_lum", shapes(rows[::-1])[shape])
    assert plain_metrics(scored) == plain_metrics(result)
    assert scored.matching.matched == 339


def test_several_answers_to_a_prompt(prompts: pl.DataFrame) -> None:
    answers = {prompts["id"][0]: ["He.", "He.", "She.", "…"]}
    scored = equipoise.score("jobs_lum", answers, repeat=4)
    assert scored.metrics["masculine_rate"].value == pytest.approx(2 / 3)
    assert scored.metrics["undetected_rate_attempts"].value == 0.25


def test_gaps_in_a_table_are_empty_answers(prompts: pl.DataFrame) -> None:
    answers = ["He.", None, float("nan"), *["She."] * 336]
    table = pd.DataFrame({"id": prompts["id"].to_list(), "answer": answers})
    table["repetition"] = [1.0] * 338 + [float("nan")]
    counts = equipoise.score("jobs_lum", table).coverage["all"]
    assert (counts["ok"], counts["empty"], counts["pending"]) == (337, 2, 0)


@pytest.mark.parametrize(
    "answers",
    [
        ["He.", "She."],
        "He.",
        b"He.",
        None,
        5,
        pl.Series(["He."]),
        pd.Series(["He."]),
        [("id", "He.")],
        [None],
    ],
    ids=lambda answers: type(answers).__name__,
)
def test_bare_answers_are_refused(answers: Any) -> None:
    with pytest.raises(InputError, match=r"rows with 'id' or 'prompt' and 'answer', .* cannot be placed"):
        equipoise.score("jobs_lum", answers)


@pytest.mark.parametrize(
    ("answers", "words"),
    [
        ([{"id": "a"}], "row 1: Object missing required field `answer`"),
        ([{"answer": "x"}], "None of the 1 answers belongs to a planned prompt. Each needs the id"),
        ([{"id": "a", "answer": 5}], "row 1: Expected `str | null`, got `int` - at `$.answer`"),
        ({"a": 5}, "at 'a': Expected `str | null`, got `int`"),
        ({5: "a"}, "at 5: Expected `str | null`"),
        (
            pl.DataFrame({"id": ["a"], "text": ["x"]}),
            "missing required field `answer`. There are: {'id': 'a', 'text'",
        ),
    ],
)
def test_answers_that_lack_something(answers: Any, words: str) -> None:
    with pytest.raises(InputError) as error:
        equipoise.score("jobs_lum", answers)
    assert words in str(error.value)


# Results


def test_a_result_is_a_value(result: Result) -> None:
    assert (result.probe, result.setup.probe.version, result.setup.corpus) == ("jobs_lum", 2, None)
    rate = result.metrics["masculine_rate"]
    assert rate.low < rate.value < rate.high
    assert rate.n == 339
    mark = result.marks["masculine_rate"]
    assert mark is not None
    assert mark.best <= mark.letter <= mark.worst
    with pytest.raises(FrozenInstanceError):
        result.probe = "other"  # type: ignore[misc]
    assert json.loads(json.dumps(result.to_dict()))["metrics"]["masculine_rate"]["value"] == rate.value


def test_a_result_as_a_table(result: Result) -> None:
    table = result.to_frame()
    assert table.columns == [
        *(
            "model",
            "probe",
            "metric",
            "name",
            "about",
            "slice",
            "group",
            "value",
            "low",
            "high",
            "n",
        ),
        *(
            "mark",
            "best",
            "worst",
            "reading",
            "detector",
            "judge",
            "level",
            "bound_low",
            "bound_high",
            "whole_items",
        ),
    ]
    assert table["metric"].to_list() == list(result.metrics)
    assert table["model"].null_count() == table.height, "a result alone does not know the model"
    assert table["slice"].null_count() == table["group"].null_count() == table.height
    marked = table.filter(pl.col("best").is_not_null())["metric"].to_list()
    assert marked == ["masculine_rate", "stereotype_rate"]


def test_a_table_is_one_of_pandas_with_one_call(result: Result) -> None:
    pandas = result.to_frame().to_pandas()
    assert isinstance(pandas, pd.DataFrame)
    assert pandas["value"].to_list() == result.to_frame()["value"].to_list()


def test_slices_have_columns_of_their_own() -> None:
    hiring = equipoise.score("hiring_an", answer_all("hiring_an", sample=64), sample=64)
    overall = [key.metric for key in hiring.estimates if key.slice is None]
    assert hiring.metrics["race_white_diff_acceptance_rate"] is hiring.slices["race"]["white"]["diff_acceptance_rate"]
    assert set(hiring.slices) == {"race", "qualification"}
    assert (
        hiring.slices["race"]["white"]["diff_acceptance_rate"]
        is (hiring.estimates[MetricKey("diff_acceptance_rate", "race", "white")])
    )
    table = hiring.to_frame()
    assert table.filter(pl.col("slice").is_null())["metric"].to_list() == overall
    assert table.filter(slice="race", group="white")["metric"].to_list() == overall
    assert table.filter(pl.col("slice").is_not_null())["mark"].null_count() == table.height - len(overall)
    assert list(hiring.metrics) == list(hiring.to_dict()["metrics"]) == table["name"].to_list()
    high = hiring.slices["qualification"]["high"]
    assert hiring.metrics["qualification_high_diff_regression"] is high["diff_regression"]


def test_what_is_not_computable_is_null_in_every_form() -> None:
    with pytest.raises(InputError, match="None of the 1 answers belongs to a planned prompt"):
        equipoise.score("jobs_lum", {"x": "y"})
    nothing = equipoise.score("jobs_lum", [])
    assert nothing.to_frame()["value"].null_count() == len(nothing.metrics)
    assert all(value is None for metric in plain_metrics(nothing).values() for value in list(metric.values())[:3])
    assert "not computable" in repr(nothing)
    assert "not computable" in nothing._repr_html_()


def test_a_result_reads_well(result: Result) -> None:
    shown = repr(result)
    assert shown.startswith("jobs_lum v2: 339 of 339 attempts measured\n")
    assert "masculine_rate" in shown
    assert f"{result.metrics['masculine_rate'].value:+.3f} [" in shown


def test_a_notebook_shows_what_a_terminal_shows(result: Result) -> None:
    shown = result._repr_html_()
    assert shown == f"<pre>{html.escape(repr(result))}</pre>"


def test_html_is_escaped(result: Result) -> None:
    evil = "<script>alert('x')</script>&"
    rate, mark = result.metrics["masculine_rate"], result.marks["masculine_rate"]
    setup = replace(result.setup, probe=replace(JOBS_LUM, name=evil), corpus=evil)
    hostile = replace(result, setup=setup, estimates={MetricKey(evil): rate}, marks={evil: mark})
    shown = hostile._repr_html_()
    assert "<script" not in shown
    assert shown.count("&lt;script&gt;") == 3


def test_an_audit_is_a_mapping_of_results(result: Result) -> None:
    nothing = equipoise.score("hiring_an", [], sample=20)
    audit = Audit({"jobs_lum": result, "hiring_an": nothing}, model="a/model")
    assert isinstance(audit, Mapping)
    assert (list(audit), len(audit), audit["jobs_lum"]) == (["jobs_lum", "hiring_an"], 2, result)
    assert audit["hiring_an"].marks == {"diff_acceptance_rate": None, "diff_regression": None}
    assert audit.to_frame().height == len(result.estimates) + len(nothing.estimates)
    assert set(audit.to_frame()["model"]) == {"a/model"}
    assert Audit({}).to_frame().schema == audit.to_frame().schema
    assert set(audit.to_dict()) == {"jobs_lum", "hiring_an"}
    assert repr(result) in repr(audit)
    assert html.escape(repr(result)) in audit._repr_html_()


def test_numbers_are_the_same_in_another_process(result: Result) -> None:
    code = """
import equipoise, json
from answering import answer_all
print(json.dumps(equipoise.score("jobs_lum", answer_all()).to_dict()["metrics"]))
"""
    words = [sys.executable, "-c", code]
    paths = os.pathsep.join([str(Path(__file__).parent), *sys.path])
    known = {**environment(), "PYTHONPATH": paths}
    done = subprocess.run(words, env=known, capture_output=True, text=True, check=True)
    assert json.loads(done.stdout) == plain_metrics(result)
    assert not any(math.isnan(one.value) for one in result.metrics.values())
