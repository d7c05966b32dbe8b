"""Models that are asked from Python: audits, sessions step by step, and what is done with their results."""

from __future__ import annotations

import asyncio
import gc
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from polars.testing import assert_frame_equal

import equipoise
from answering import JOBS_LUM, JOBS_OPPOSITE, NOT_INSTALLED, Recorder, answer, answer_all, plain_metrics
from equipoise import Audit, Probe, Result, Run
from equipoise.detect import PRONOUN_GENDER
from equipoise.errors import BudgetReached, InputError, IntegrityError, UnknownName
from equipoise.measuring import measure
from equipoise.measuring.gate import Outcome
from simulating import simulated


@pytest.fixture(scope="module")
def result() -> Result:
    return equipoise.score("jobs_lum", answer_all())


# audit


def test_a_function_is_audited(result: Result) -> None:
    audit = equipoise.audit(answer, probes=["jobs_lum"])
    assert list(audit) == ["jobs_lum"]
    assert plain_metrics(audit["jobs_lum"]) == plain_metrics(result)


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


def test_large_results_of_a_function_can_be_looked_at_as_long_as_one_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    expected = equipoise.score("jobs_lum", answer_all()).evaluated
    monkeypatch.setattr(measure, "MAX_ATTEMPTS_IN_MEMORY", 10)
    sizes: dict[str, Any] = {"hiring_an.sample": 8}
    audit = equipoise.audit(answer, probes=["jobs_lum", "hiring_an"], **sizes)
    assert audit.path is not None
    folder = audit.path.parent
    result = audit["jobs_lum"]
    assert not isinstance(result.attempts, pl.DataFrame)
    del audit
    gc.collect()
    assert folder.exists()
    assert_frame_equal(result.evaluated, expected, check_column_order=False)
    del result
    gc.collect()
    assert not folder.exists()


def test_a_failed_audit_leaves_no_folder_unless_it_holds_answers(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    with pytest.raises(InputError, match="answered nothing"):
        equipoise.audit(lambda prompt: "", probes=["jobs_lum"], sample=5)
    gc.collect()
    assert list(tmp_path.glob("equipoise-*")) == []
    with pytest.raises(BudgetReached, match=r"To go on: equipoise\.resume\('.*', model=the_function\)") as error:
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


def test_a_detector_that_reads_the_prompt_gives_an_audit_and_a_score_alike() -> None:
    detector = replace(
        PRONOUN_GENDER,
        read=lambda text: pl.when(pl.col("prompt").hash() % 2 == 0).then(pl.lit("male")).otherwise(pl.lit("female")),
        uses=("prompt",),
    )
    probe = replace(JOBS_LUM, detector=detector)
    scored, audit = equipoise.score(probe, answer_all()), equipoise.audit(answer, probes=[probe])
    assert audit["jobs_lum"].to_dict() == scored.to_dict() | {"matching": None}
    assert 0.1 < scored.metrics["masculine_rate"].value < 0.9


# Sessions, step by step


def test_a_session_is_started_stopped_and_resumed(tmp_path: Path, result: Result) -> None:
    path, model = tmp_path / "run.equipoise", Recorder()
    session = equipoise.start(model, probes=["jobs_lum"], out=path, concurrency=1, max_requests=100)
    assert (session.path, session.model_name) == (path, "answering.Recorder")
    events: list[object] = []
    with pytest.raises(BudgetReached):
        session.ask(events.append)
    assert events
    assert Run.open(path).counts.ended == len(model.asked) == 100
    run = equipoise.resume(path, model=model).ask()
    assert run.complete
    assert len(model.asked) == 339
    assert plain_metrics(run.result("jobs_lum")) == plain_metrics(result)


def test_answers_are_imported(tmp_path: Path) -> None:
    probe = NOT_INSTALLED
    path, answers = tmp_path / "run.equipoise", answer_all(probe)
    some = dict(list(answers.items())[:100])
    run, new, matching = equipoise.import_answers(some, path, model="openai/o9", probes=[probe])
    assert (run.model, run.counts.ended, run.counts.planned, new, matching.matched) == ("openai/o9", 100, 339, 100, 100)
    run, new, matching = equipoise.import_answers(answers | {"?": "He."}, path, probes=[probe])
    assert (run.complete, new, matching.unknown) == (True, 239, 1)
    expected = equipoise.score(probe, answers)
    assert plain_metrics(run.results()[expected.probe]) == plain_metrics(expected)


# Runs side by side, and the gate


@pytest.fixture(scope="module")
def paths(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    folder = tmp_path_factory.mktemp("runs")
    probes = ("jobs_lum", "hiring_an")
    stances = (dict.fromkeys(probes, "unbiased"), {"jobs_lum": "pro-masculine", "hiring_an": "stereotyping"})
    for number, stance in enumerate(stances):
        simulated(folder / f"{number}.equipoise", stance, seed=number)
    return folder / "0.equipoise", folder / "1.equipoise"


RUN_LIKE: dict[str, Callable[[Path], Any]] = {
    "paths": lambda path: path,
    "texts": str,
    "runs": Run.open,
    "audits": lambda path: Run.open(path).results(),
}


def test_runs_are_compared_whatever_they_are_given_as(paths: tuple[Path, Path]) -> None:
    expected = equipoise.compare(*paths)
    assert set(expected.probes) == {"jobs_lum", "hiring_an"}
    for convert in RUN_LIKE.values():
        assert equipoise.compare(convert(paths[0]), convert(paths[1])).to_dict() == expected.to_dict()


def test_the_gate_takes_rules_or_their_fields_and_whatever_holds_results(paths: tuple[Path, Path]) -> None:
    fair, unfair = paths
    for source in (*(convert(unfair) for convert in RUN_LIKE.values()), Run.open(unfair).result("jobs_lum")):
        assert equipoise.gate(source, fail_on="D").outcome is Outcome.FAILED
    assert equipoise.gate(fair, equipoise.Rules(max={"jobs_lum.masculine_rate": 0.4})).passed
    assert equipoise.gate(fair, no_regression=True, baseline=unfair).outcome is not Outcome.FAILED
    regression = equipoise.gate(unfair, no_regression=True, baseline=fair)
    assert "jobs_lum.masculine_rate" in [check.what for check in regression.with_outcome(Outcome.FAILED)]
    with pytest.raises(InputError, match="not both"):
        equipoise.gate(fair, equipoise.Rules(fail_on="C"), fail_on="D")
