"""`equipoise verify`: runs and reports that were changed are refused, and digests can be signed."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path

import pytest

from calling import Command
from equipoise.runs.run import Run
from runs.test_opening import execute
from runs.test_verify import forge
from runs.test_verify import path as path  # noqa: PLC0414 - a fixture

SSH_KEYGEN = shutil.which("ssh-keygen")


@pytest.fixture
def report(path: Path, command: Command) -> Path:
    report = path.with_name("report.html")
    assert command("report", path, "-o", report).code == 0
    return report


def test_a_run_and_its_report_fit(path: Path, report: Path, command: Command) -> None:
    outcome = command("verify", path, report)
    assert outcome.code == 0
    assert "5 prompts and 5 ended attempts are those that were stored" in outcome.out
    assert "report.html is unchanged and shows this run" in outcome.out
    digest = Run.open(path).provenance.digest
    assert f"run sha256:{digest}" in outcome.out
    found = json.loads(command("verify", path, report, "--json").out)
    assert found["digests"]["run"] == digest
    assert found["problems"] == []
    page = report.read_text()
    assert f"SHA-256 {digest}" in page
    for fact in ("model-0, fingerprint fp_1: 2 attempts", "no answer within 60 s", "28 tokens of prompts"):
        assert fact in page


@pytest.mark.parametrize(
    "change", [("5 of 5 planned", "6 of 6 planned"), ("model-0,", "model-9,"), ("</html>", "</html> ")]
)
def test_a_changed_report_is_refused(path: Path, report: Path, command: Command, change: tuple[str, str]) -> None:
    page = report.read_text()
    assert change[0] in page
    report.write_text(page.replace(*change))
    outcome = command("verify", path, report)
    assert outcome.code == 6
    assert "report.html was changed after it was written" in outcome.err


def test_a_changed_run_is_refused(path: Path, report: Path, command: Command) -> None:
    execute("update attempts set answer = 'x' where place = 1")(path)
    outcome = command("verify", path, report)
    assert outcome.code == 6
    assert "the attempt of jobs_lum at the prompt" in outcome.err
    as_json = command("verify", path, report, "--json")
    assert as_json.code == 6
    found = json.loads(as_json.out)
    assert (found["digests"], found["fitting"], found["unchecked"]) == ({}, [], [])
    assert "the attempt of jobs_lum at the prompt" in found["problems"][0]


def test_a_forged_run_does_not_fit_its_report(path: Path, report: Path, command: Command) -> None:
    forge(path, "update settings set value = '\"openai/better\"' where key = 'model'")
    assert command("verify", path).code == 0
    outcome = command("verify", path, report, "--digest")
    assert outcome.code == 6
    assert "does not show" in outcome.err
    assert outcome.out == ""


def test_what_is_no_report_is_refused(path: Path, command: Command) -> None:
    path.with_name("page.html").write_text("<p>A page.")
    outcome = command("verify", path, path.with_name("page.html"))
    assert outcome.code == 6
    assert "holds no digest" in outcome.err
    assert command("verify", path, path.with_name("nothing.html")).code == 2


@pytest.mark.skipif(SSH_KEYGEN is None, reason="needs ssh-keygen")
def test_digests_are_signed_with_the_users_own_key(path: Path, report: Path, command: Command) -> None:
    """The commands of docs/provenance.md."""
    folder = path.parent
    key, digests = folder / "key", folder / "digests.txt"

    def ssh(*words: object, given: str = "") -> int:
        return subprocess.run(
            [str(SSH_KEYGEN), *map(str, words)], input=given, text=True, capture_output=True
        ).returncode

    assert ssh("-q", "-t", "ed25519", "-N", "", "-f", key) == 0
    digests.write_text(command("verify", path, report, "--digest").out)
    assert ssh("-Y", "sign", "-f", key, "-n", "equipoise", digests) == 0
    (folder / "signers").write_text(f"auditor@example.org {key.with_suffix('.pub').read_text()}")
    check = ("-Y", "verify", "-f", folder / "signers", "-I", "auditor@example.org", "-n", "equipoise")
    signature = ("-s", folder / "digests.txt.sig")
    assert ssh(*check, *signature, given=command("verify", path, report, "--digest").out) == 0
    forge(path, "update attempts set answer = 'She wrote.' where place = 2")
    assert ssh(*check, *signature, given=command("verify", path, "--digest").out) != 0
