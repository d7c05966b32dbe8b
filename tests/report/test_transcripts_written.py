"""Which answers stand on a page of transcripts, and what is said of them; needs no browser."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from html import unescape
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import equipoise
from equipoise.errors import BadParameter, EquipoiseError, InputError, UnknownName
from equipoise.models.protocol import Reply
from equipoise.report.transcripts import MOST_ANSWERS, choose, encode_json_for_page, write_transcripts
from equipoise.runs.file.values import Attempt
from equipoise.runs.run import Run
from equipoise.schema import Status
from report.answered import make_file
from runs.fakes import create


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    return Run.open(make_file(tmp_path_factory.mktemp("transcripts") / "run.equipoise"))


@pytest.fixture(scope="module")
def page(run: Run) -> str:
    out = run.path.with_name("t.html")
    assert write_transcripts(run, out) == (136, 136)
    return out.read_text(encoding="utf-8")


def read_data(html: str) -> list[dict[str, Any]]:
    """What the script of a page gets, one value for each probe."""
    data: list[dict[str, Any]] = json.loads(unescape(re.findall(r'id="data">(.*?)</script>', html)[0]))
    return data


# The page


@pytest.mark.fault("S1")
def test_the_policy_lets_only_the_one_script_run(page: str) -> None:
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', page)
    assert policy is not None
    rules = dict(rule.split(" ", 1) for rule in unescape(policy[1]).split("; "))
    assert rules["default-src"] == "'none'"
    assert rules["require-trusted-types-for"] == "'script'"
    assert re.fullmatch(r"'sha256-[\w+/=]+'", rules["script-src"])
    assert page.count("<script") == page.count("</script") == 2


@pytest.mark.fault("S1")
def test_data_cannot_end_their_script() -> None:
    encoded = encode_json_for_page(["</script><!--<script>&lt;\u2028"])
    assert json.loads(encoded) == ["</script><!--<script>&lt;\u2028"]
    assert not set("<>&\u2028") & set(encoded)


def test_every_answer_and_every_failure_stands_on_the_page(run: Run, page: str) -> None:
    probes = {probe["name"]: probe["answers"] for probe in read_data(page)}
    assert {name: len(answers) for name, answers in probes.items()} == {
        "hiring_an": 16,
        "jobs_lum": 120,
    }
    failed = run.transcripts("jobs_lum").filter(status="http_error")
    details = [answer["detail"] for answer in probes["jobs_lum"] if answer["label"] == "no answer"]
    assert details == ["503 <b>overloaded</b>"] * failed.height


def test_prompts_stand_on_the_page_in_the_order_of_their_answers(page: str) -> None:
    for probe in read_data(page):
        order = list(dict.fromkeys(answer["prompt"] for answer in probe["answers"]))
        assert order == list(range(len(probe["prompts"])))


def test_a_page_has_as_many_answers_as_the_documentation_promises() -> None:
    documentation = Path(__file__).parents[2] / "docs" / "run-file.md"
    assert f"for up to {MOST_ANSWERS:,} answers" in documentation.read_text(encoding="utf-8")


def test_the_reason_of_a_failure_is_cut_after_300_characters(tmp_path: Path) -> None:
    path = tmp_path / "run.equipoise"
    with create(path, equipoise.plan("jobs_lum", sample=1)) as file:
        (pending,) = file.pending()
        reply = Reply(status=Status.HTTP_ERROR, detail="<" + 400 * "x")
        file.store([Attempt(probe="jobs_lum", prompt_id=pending.prompt_id, repetition=1, reply=reply)])
    write_transcripts(path, tmp_path / "t.html")
    (probe,) = read_data((tmp_path / "t.html").read_text(encoding="utf-8"))
    (answer,) = probe["answers"]
    assert answer["detail"] == "<" + 299 * "x"


# What is chosen


def count(run: Run, *probes: str, search: str = "", most: int = 9, **where: str) -> int:
    """How many answers fit."""
    return sum(each.fitting for each in choose(run, probes, where, search, most))


def test_without_a_condition_all_answers_fit(run: Run) -> None:
    assert count(run) == 136


def test_a_probe_narrows_what_is_shown(run: Run) -> None:
    assert count(run, "jobs_lum") == 120


def test_a_label_narrows_what_is_shown(run: Run) -> None:
    men = run.transcripts("jobs_lum").filter(label="male").height
    assert count(run, "jobs_lum", label="male") == men


def test_answers_that_were_not_read_can_be_asked_for(run: Run) -> None:
    table = run.transcripts("jobs_lum")
    undetected = table.filter(pl.col("label").is_null(), pl.col("status") != "http_error").height
    assert undetected
    assert count(run, "jobs_lum", label="undetected") == undetected


def test_attempts_without_an_answer_can_be_asked_for(run: Run) -> None:
    failed = run.transcripts("jobs_lum").filter(status="http_error").height
    assert failed
    assert count(run, "jobs_lum", label="no answer") == failed


def test_two_conditions_hold_at_once(run: Run) -> None:
    both = run.transcripts("jobs_lum").filter(status="truncated", repetition=2).height
    assert both
    assert count(run, status="truncated", repetition="2") == both


def test_values_of_the_prompts_narrow_what_is_shown(run: Run) -> None:
    occupation = run.transcripts("jobs_lum")["occupation"][0]
    assert count(run, "jobs_lum", occupation=occupation) == 2
    assert count(run, gender="female") == 8


def test_a_search_finds_text_in_any_case(run: Run) -> None:
    assert count(run, search="NUMBER 17 and") == 1


@pytest.mark.parametrize(
    ("conditions", "error", "message"),
    [
        ({"probes": ["jobs_lun"]}, UnknownName, "Did you mean 'jobs_lum'"),
        ({"where": {"gendr": "x"}}, UnknownName, "Did you mean 'gender'"),
        ({"where": {"label": "men"}}, InputError, "Leave out a condition"),
        ({"where": {"status": "good"}}, InputError, "Leave out a condition"),
        ({"search": "no such text"}, InputError, "Leave out a condition"),
        ({"most": 0}, BadParameter, "At least one answer"),
    ],
    ids=["probe", "column", "label", "status", "search", "none"],
)
def test_what_nothing_fits_is_refused(
    run: Run, conditions: Mapping[str, Any], error: type[EquipoiseError], message: str
) -> None:
    with pytest.raises(error, match=message):
        choose(run, **conditions)


def test_too_many_answers_are_left_out_in_fair_shares(run: Run, tmp_path: Path) -> None:
    assert write_transcripts(run, tmp_path / "t.html", most=40) == (40, 136)
    chosen = choose(run, most=40)
    sizes = {each.setup.probe.name: (each.table.height, each.fitting) for each in chosen}
    assert sizes == {"hiring_an": (16, 16), "jobs_lum": (24, 120)}
    page = (tmp_path / "t.html").read_text(encoding="utf-8")
    assert "96 of 136 answers are left out" in page
    assert "--probe, --where, --search" in page


# What is said of them


def test_answers_in_which_words_are_counted_are_described(tmp_path: Path) -> None:
    def write(_prompt: str) -> str:
        return "Dear Committee,\n\nShe is kind and ambitious."

    out = tmp_path / "run.equipoise"
    audit = equipoise.audit(write, probes=["business_vocabulary"], out=out, sample=4)
    write_transcripts(audit, tmp_path / "t.html", where={"label": "counted"})
    (letters,) = read_data((tmp_path / "t.html").read_text(encoding="utf-8"))
    detector = audit["business_vocabulary"].setup.probe.detector
    rows = Run.open(out).transcripts("business_vocabulary").iter_rows(named=True)
    assert [answer["read"] for answer in letters["answers"]] == [detector.describe(row) for row in rows]


def test_stereotypes_have_their_names(one: Run, tmp_path: Path) -> None:
    write_transcripts(one, tmp_path / "t.html", probes=["gest_creative"])
    (shown,) = read_data((tmp_path / "t.html").read_text(encoding="utf-8"))
    names = one.setup("gest_creative").probe.value_names["stereotype"].values()
    values = {prompt["facts"]["stereotype"] for prompt in shown["prompts"]}
    assert values
    assert values <= {*names}


def test_two_probes_of_one_run_are_described_each_by_its_own(one: Run, tmp_path: Path) -> None:
    assert write_transcripts(one, tmp_path / "t.html", probes=["gest_creative", "business_vocabulary"])[0] == 144
    page = (tmp_path / "t.html").read_text(encoding="utf-8")
    gest, letters = json.loads(unescape(re.findall(r'id="data">(.*?)</script>', page)[0]))
    names = one.setup("gest_creative").probe.value_names["stereotype"].values()
    assert {prompt["facts"]["stereotype"] for prompt in gest["prompts"]} <= {*names}
    detector = one.setup("business_vocabulary").probe.detector
    rows = one.transcripts("business_vocabulary").iter_rows(named=True)
    assert {answer["read"] for answer in letters["answers"]} == {detector.describe(row) for row in rows}
    assert {answer["label"] for answer in letters["answers"]} == {"counted"}
