"""What is forged as a whole has another digest; prompts and corpora are held against the probe."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from equipoise.errors import IntegrityError
from equipoise.measuring.plan import plan
from equipoise.models.protocol import Reply
from equipoise.probes import get_probe
from equipoise.runs.file.store import RunFile
from equipoise.runs.finished import verify_run
from equipoise.runs.run import Run
from equipoise.schema import PROMPT, Status
from runs.fakes import create, execute, finish, forge


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A run of five prompts: four answers of two served models, and a failure."""
    path = tmp_path / "run.equipoise"
    with create(path, plan("jobs_lum", sample=5)) as file:
        *answered, failing = file.pending()
        for number, pending in enumerate(answered):
            served = f"model-{number % 2}"
            reply = Reply(
                status=Status.OK, answer="He wrote.", served_model=served, fingerprint="fp_1", prompt_tokens=7
            )
            file.store([finish(pending, reply)])
        file.store([finish(failing, Reply(status=Status.TIMEOUT, detail="no answer within 60 s"))])
    return path


def test_a_run_fits_and_keeps_its_digest_until_its_content_changes(path: Path) -> None:
    found = verify_run(path)
    assert not found.problems
    assert not found.unchecked
    assert found.fitting == [
        "settings, 5 prompts and 5 ended attempts are those that were stored",
        f"the prompts of jobs_lum are those of version {get_probe('jobs_lum').version}",
    ]
    with RunFile.open(path):
        pass
    assert verify_run(path).digest == found.digest
    with RunFile.open(path) as file:
        file.ask_again([Status.TIMEOUT])
        file.store([finish(next(file.pending()))])
    assert verify_run(path).digest != found.digest


@pytest.mark.fault("D14")
@pytest.mark.parametrize(
    ("statement", "named"),
    [
        pytest.param(
            "update attempts set answer = 'She wrote.' where place = 2",
            "attempt number 2",
            id="an answer",
        ),
        pytest.param(
            "update attempts set served_model = 'other' where place = 3",
            "attempt number 3",
            id="a served model",
        ),
        pytest.param(
            "delete from attempts where place = 2",
            "attempt number 2",
            id="a missing attempt",
        ),
        pytest.param(
            "delete from attempts where place = 5",
            "what came after attempt number 4",
            id="the last attempt is missing",
        ),
        pytest.param(
            "update settings set value = json_set(value, '$.model', 'openai/another') where key = 'spec'",
            "settings",
            id="the model",
        ),
        pytest.param(
            "update settings set value = json_set(value, '$.temperature', 0.5) where key = 'spec'",
            "settings",
            id="the temperature",
        ),
        pytest.param(
            "update prompts set prompt = prompt || '!' where position = 1",
            "prompts jobs_lum",
            id="a prompt",
        ),
        pytest.param(
            "update probes set plan = json_set(plan, '$.corpus_sha256', 'abc')",
            "probes",
            id="the corpus",
        ),
    ],
)
def test_what_is_changed_is_named(path: Path, statement: str, named: str) -> None:
    execute(statement)(path)
    with pytest.raises(IntegrityError, match=f"changed after it was written: {named}"):
        verify_run(path)


def test_a_forged_run_has_another_digest(path: Path) -> None:
    before = verify_run(path)
    forge("update attempts set answer = 'She wrote.' where place = 2")(path)
    after = verify_run(path)
    assert not after.problems
    assert after.digest != before.digest


@pytest.mark.parametrize(
    ("statement", "words"),
    [
        ("update prompts set prompt = prompt || ' Be fair.' where position = 3", "are not those that version"),
        (
            "update probes set plan = json_set(plan, '$.corpus', 'jobs', '$.corpus_sha256', 'abc')",
            "had the SHA-256 abc",
        ),
        ("update probes set plan = json_set(plan, '$.population', 5)", "339 items to draw from, and by the file 5"),
    ],
)
def test_forged_prompts_and_corpora_are_not_those_of_the_probe(path: Path, statement: str, words: str) -> None:
    forge(statement)(path)
    (problem,) = verify_run(path).problems
    assert "jobs_lum" in problem
    assert words in problem


def test_probes_that_are_not_installed_are_not_checked(tmp_path: Path) -> None:
    probe = replace(get_probe("jobs_lum"), name="mine")
    create(tmp_path / "run.equipoise", plan(probe, sample=3)).close()
    found = verify_run(tmp_path / "run.equipoise")
    assert found.unchecked == [f"the prompts of mine: version {probe.version} of this probe is not installed"]
    given = verify_run(tmp_path / "run.equipoise", probes=[probe])
    assert not given.unchecked
    assert not given.problems


def test_prompts_are_not_those_of_a_probe_that_words_them_otherwise(tmp_path: Path) -> None:
    probe = replace(get_probe("jobs_lum"), name="mine")
    create(tmp_path / "run.equipoise", plan(probe, sample=3)).close()

    def ask_otherwise(items: Any, parameters: Any) -> pl.DataFrame:
        return probe.prompts(items, parameters).with_columns(
            pl.concat_str(pl.col(PROMPT), pl.lit("?")),
        )

    (problem,) = verify_run(
        tmp_path / "run.equipoise",
        probes=[replace(probe, prompts=ask_otherwise)],
    ).problems
    assert "mine" in problem
    assert "are not those that version" in problem


@pytest.mark.fault("D16")
def test_answers_are_not_read_by_another_version_of_a_probe(path: Path) -> None:
    newer = replace(get_probe("jobs_lum"), version=get_probe("jobs_lum").version + 1)
    with pytest.raises(IntegrityError, match="would read them by other rules"):
        Run.open(path, probes=[newer]).result("jobs_lum")


def test_provenance_says_who_answered_when_and_what_failed(path: Path) -> None:
    found = Run.open(path).provenance
    assert found.served == [("model-0", "fp_1", 2), ("model-1", "fp_1", 2), (None, None, 1)]
    assert found.failures == [("timeout", "no answer within 60 s", 1)]
    assert "" < (found.first or "") <= (found.last or "")
    assert (found.earlier_failures, found.usage) == (0, (28, 0))
