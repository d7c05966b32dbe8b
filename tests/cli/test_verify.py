"""`equipoise verify`: runs and reports that were changed are refused, and digests can be signed."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from calling import Command
from equipoise.report.html.write import seal_page
from equipoise.runs.run import Run
from runs.fakes import forge
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
    run_line, report_line = outcome.out.splitlines()
    assert "not proved: that the model gave these answers" in run_line
    assert f"every number in it follows from {path}" in report_line
    assert "not proved" not in report_line
    digest = Run.open(path).provenance.digest
    assert f"run sha256:{digest}" in command("verify", path, report, "--digest").out
    found = json.loads(command("verify", report, path, "--json").out)["files"]
    assert [entry["kind"] for entry in found] == ["report", "run"]
    assert found[1]["digest"] == digest
    assert [entry["problems"] for entry in found] == [[], []]
    page = report.read_text()
    assert f"SHA-256 {digest}" in page
    for fact in ("model-0, fingerprint fp_1: 2 attempts", "no answer within 60 s", "28 tokens of prompts"):
        assert fact in page


def test_a_changed_report_and_what_is_none_are_refused(path: Path, report: Path, command: Command) -> None:
    page = report.read_text()
    assert "model-0," in page
    for changed, message in (
        (page.replace("model-0,", "model-9,"), "report.html was changed after it was written"),
        (page.replace("</html>", "</html> "), "report.html was changed after it was written"),
        ("<p>A page.", "holds no digest"),
    ):
        report.write_text(changed)
        outcome = command("verify", path, report)
        assert (outcome.code, message in outcome.err) == (6, True)
    assert command("verify", path, path.with_name("nothing.html")).code == 2


@pytest.mark.fault("S30")
def test_changed_numbers_with_a_new_seal_are_refused_beside_the_run(path: Path, command: Command) -> None:
    report = path.with_name("report.html")
    assert command("report", path, "-o", report, "--full").code == 0
    page = report.read_text()
    mean = re.search(r'<data class="value" value="([^"]*)">([^<]*)</data>', page)
    assert mean is not None
    forged = page.replace(mean[0], mean[0].replace(mean[2], "0.499"))
    assert forged != page
    report.write_text(seal_page(re.sub(r'(?<=equipoise-sha256" content=")[0-9a-f]{64}', "", forged)))
    alone = command("verify", report)
    assert alone.code == 0
    assert "not proved: that it shows" in alone.out
    outcome = command("verify", path, report)
    assert outcome.code == 6
    assert "does not show what its runs give" in outcome.err
    assert "0.499" in outcome.err


def test_a_forged_run_does_not_fit_its_report(path: Path, report: Path, command: Command) -> None:
    forge("update settings set value = json_set(value, '$.model', 'openai/better') where key = 'spec'")(path)
    assert command("verify", path).code == 0
    outcome = command("verify", path, report, "--digest")
    assert outcome.code == 6
    assert "was made of another run" in outcome.err
    assert outcome.out == ""


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
    forge("update attempts set answer = 'She wrote.' where place = 2")(path)
    assert ssh(*check, *signature, given=command("verify", path, "--digest").out) != 0
