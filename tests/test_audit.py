"""Models that are asked from Python: audits, their run files, and probes as values."""

from __future__ import annotations

import asyncio
import gc
from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from polars.testing import assert_frame_equal

import equipoise
from answering import (
    JOBS_LUM,
    JOBS_OPPOSITE,
    NOT_INSTALLED,
    Recorder,
    answer,
    answer_all,
    plain_metrics,
)
from equipoise import Audit, Probe, Result, Run
from equipoise.detect import PRONOUN_GENDER
from equipoise.errors import BudgetReached, InputError, IntegrityError, UnknownName
from equipoise.measuring import measure
from equipoise.schema import Status


@pytest.fixture(scope="module")
def result() -> Result:
    return equipoise.score("jobs_lum", answer_all())


# audit


def test_a_function_is_audited(result: Result) -> None:
    audit = equipoise.audit(answer, probes=["jobs_lum"])
    assert list(audit) == ["jobs_lum"]
    assert plain_metrics(audit["jobs_lum"]) == plain_metrics(result)


class Batches:
    """A model that answers many prompts at a time."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    def generate(self, prompts: list[str]) -> list[str]:
        self.asked += prompts
        return [answer(prompt) for prompt in prompts]


def test_an_object_with_generate_is_audited(result: Result) -> None:
    model = Batches()
    audit = equipoise.audit(model, probes=["jobs_lum"], repeat=2)
    assert len(model.asked) == 2 * 339
    assert audit["jobs_lum"].coverage["all"]["ok"] == 2 * 339
    rate = audit["jobs_lum"].metrics["masculine_rate"].value
    assert rate == result.metrics["masculine_rate"].value


def test_one_probe_can_be_named_by_itself() -> None:
    assert list(equipoise.audit(answer, probes="jobs_lum", sample=3)) == ["jobs_lum"]


def test_parameters_go_to_the_probes_that_have_them() -> None:
    audit = equipoise.audit(answer, probes=["jobs_lum", "gest_creative"], sample=32, corpus="mottos")
    assert [one.parameters["sample"] for one in audit.values()] == [32, 32]
    assert audit["gest_creative"].setup.corpus == "mottos"


REFUSED: list[tuple[Any, dict[str, Any], str]] = [
    (answer, {"probes": "jobs_lum", "sampel_k": 5}, "'sampel_k'"),
    (5, {"probes": ["jobs_lum"]}, "function"),
    (answer, {"probes": []}, "At least one probe"),
]


@pytest.mark.parametrize(("model", "given", "message"), REFUSED)
def test_what_cannot_be_audited_is_refused(model: Any, given: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        equipoise.audit(model, **given)


def test_a_model_that_answers_nothing_has_no_result() -> None:
    def fail(prompt: str) -> str:
        raise RuntimeError("out of order")

    with pytest.raises(InputError, match=r"answered nothing.*RuntimeError: out of order"):
        equipoise.audit(fail, probes=["jobs_lum"], sample=5)


def test_requests_are_made_so_many_at_a_time() -> None:
    running, most = 0, 0

    async def count(prompt: str) -> str:
        nonlocal running, most
        running += 1
        most = max(most, running)
        await asyncio.sleep(0.001)
        running -= 1
        return answer(prompt)

    equipoise.audit(count, probes=["jobs_lum"], sample=60, concurrency=5)
    assert most == 5


def test_an_audit_in_a_running_event_loop() -> None:
    async def audit_in_both_ways() -> list[Audit]:
        with pytest.raises(UnknownName, match="'sampel_k'"):
            equipoise.audit(answer, probes=["jobs_lum"], sampel_k=5)
        in_thread = await asyncio.to_thread(equipoise.audit, answer, probes=["jobs_lum"], sample=30)
        return [in_thread, equipoise.audit(answer, probes=["jobs_lum"], sample=30)]

    expected = equipoise.audit(answer, probes="jobs_lum", sample=30).to_dict()
    assert [audit.to_dict() for audit in asyncio.run(audit_in_both_ways())] == [expected] * 2


# The run file of an audit


def test_an_audit_knows_where_it_comes_from(tmp_path: Path) -> None:
    path = tmp_path / "run.equipoise"
    audit = equipoise.audit(answer, probes=["jobs_lum"], sample=30, out=path)
    assert audit.path == path
    assert audit.model == "answering.answer"
    assert audit.counts.planned == audit.counts.ended == audit.counts[Status.OK] == 30
    assert sum(audit.counts.values()) == 30
    run = Run.open(path)
    assert run.complete
    assert run.results().to_dict() == audit.to_dict()


def test_an_audit_with_a_file_goes_on_where_it_stopped(tmp_path: Path, result: Result) -> None:
    path = tmp_path / "run.equipoise"
    model = Recorder()
    with pytest.raises(BudgetReached):
        equipoise.audit(model, probes=["jobs_lum"], out=path, concurrency=1, max_requests=50)
    assert len(model.asked) == 50
    audit = equipoise.audit(model, probes=["jobs_lum"], out=path)
    assert len(model.asked) == len(set(model.asked)) == 339
    assert plain_metrics(audit["jobs_lum"]) == plain_metrics(result)


def test_an_audit_with_other_settings_does_not_go_on_with_a_file(tmp_path: Path) -> None:
    path = tmp_path / "run.equipoise"
    equipoise.audit(answer, probes=["jobs_lum"], out=path, sample=9)
    with pytest.raises(IntegrityError, match=r"seed: was 0, is 1"):
        equipoise.audit(answer, probes=["jobs_lum"], out=path, sample=9, seed=1)


def test_the_file_of_a_function_lasts_as_long_as_its_audit() -> None:
    audit = equipoise.audit(answer, probes=["jobs_lum"], sample=30)
    assert audit.path is not None
    folder = audit.path.parent
    assert Run.open(audit.path).transcripts("jobs_lum").height == 30
    del audit
    gc.collect()
    assert not folder.exists()


@pytest.mark.parametrize("keep", ["the audit", "one result"])
def test_large_results_of_a_function_can_be_looked_at_as_long_as_one_is_kept(
    keep: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    expected = equipoise.score("jobs_lum", answer_all()).evaluated
    monkeypatch.setattr(measure, "MAX_ATTEMPTS_IN_MEMORY", 10)
    sizes: dict[str, Any] = {"hiring_an.sample": 8}
    audit = equipoise.audit(answer, probes=["jobs_lum", "hiring_an"], **sizes)
    assert audit.path is not None
    folder = audit.path.parent
    kept: object = audit if keep == "the audit" else audit["jobs_lum"]
    result = audit["jobs_lum"]
    assert not isinstance(result.attempts, pl.DataFrame)
    del audit
    gc.collect()
    assert folder.exists()
    assert_frame_equal(result.evaluated, expected, check_column_order=False)
    del result
    gc.collect()
    assert folder.exists()
    del kept
    gc.collect()
    assert not folder.exists()


def test_a_failed_audit_leaves_no_folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    with pytest.raises(InputError, match="answered nothing"):
        equipoise.audit(lambda prompt: "", probes=["jobs_lum"], sample=5)
    gc.collect()
    assert list(tmp_path.glob("equipoise-*")) == []


def test_answers_of_an_audit_that_was_cut_off_are_kept_and_resumed(
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    going_on = r"To go on: equipoise\.resume\('.*', model=the_function\)"
    with pytest.raises(BudgetReached, match=going_on) as error:
        equipoise.audit(answer, probes=["jobs_lum"], max_requests=5, sample=8)
    (kept,) = tmp_path.glob("equipoise-*/run.equipoise")
    assert str(kept) in str(error.value)
    with pytest.raises(InputError, match="asked a Python function"):
        equipoise.resume(kept)
    assert equipoise.resume(kept, model=answer).ask().complete


# Probes as values


@pytest.mark.parametrize("probe", [JOBS_OPPOSITE, NOT_INSTALLED], ids=["another detector", "not installed"])
def test_a_probe_is_the_value_that_is_given(probe: Probe, result: Result, tmp_path: Path) -> None:
    scored = equipoise.score(probe, answer_all(probe))
    audit = equipoise.audit(answer, probes=[probe], out=tmp_path / "run.equipoise")
    rate = result.metrics["masculine_rate"].value
    assert scored.metrics["masculine_rate"].value == pytest.approx(1 - rate)
    assert rate != pytest.approx(0.5)
    assert audit[probe.name].to_dict() == scored.to_dict() | {"matching": None}
    assert audit[probe.name].setup.probe == scored.setup.probe == probe
    run = Run.open(tmp_path / "run.equipoise", probes=[probe])
    assert run.result(probe.name).to_dict() == scored.to_dict() | {"matching": None}
    labels = run.transcripts(probe.name).select("answer", "label").unique().sort("answer").rows()
    assert labels == [("He.", "female"), ("She.", "male")]
    (batch,) = run.transcript_batches(probe.name)
    assert batch.select("answer", "label").unique().sort("answer").rows() == labels


def test_a_run_needs_its_probe(tmp_path: Path) -> None:
    path = tmp_path / "run.equipoise"
    audit = equipoise.audit(answer, probes=[NOT_INSTALLED], out=path, sample=9)
    with pytest.raises(IntegrityError, match="'my_jobs', which is not installed"):
        Run.open(path).results()
    with pytest.raises(IntegrityError, match="version 7; version 8 is installed"):
        Run.open(path, probes=[replace(NOT_INSTALLED, version=8)]).results()
    assert equipoise.compare(audit, audit)["my_jobs"].items == 9
    assert equipoise.gate(audit, fail_on="C").checks


def test_two_probes_of_one_name_are_not_compared(result: Result) -> None:
    other = equipoise.score(JOBS_OPPOSITE, answer_all())
    with pytest.raises(InputError, match=r"detector is .* in A and .* in B"):
        equipoise.compare(result, other)


@pytest.mark.parametrize("column", ["item", "prompt", "masculinity"])
def test_a_detector_that_reads_the_prompt_gives_an_audit_and_a_score_alike(column: str) -> None:
    is_even = pl.col(column).hash() % 2 == 0
    detector = replace(
        PRONOUN_GENDER,
        read=lambda text: pl.when(is_even).then(pl.lit("male")).otherwise(pl.lit("female")),
        uses=(column,),
    )
    probe = replace(JOBS_LUM, detector=detector)
    scored = equipoise.score(probe, answer_all())
    audit = equipoise.audit(answer, probes=[probe])
    assert audit["jobs_lum"].to_dict() == scored.to_dict() | {"matching": None}
    assert 0.1 < scored.metrics["masculine_rate"].value < 0.9
