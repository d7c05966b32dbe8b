"""`equipoise verify`: runs and reports that were changed are refused, and digests can be signed."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from importlib.metadata import version
from pathlib import Path

import pytest

from calling import Command, output
from equipoise.report.html.write import seal_page
from equipoise.runs.run import Run
from runs.fakes import execute, forge
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
    run_line, report_line, who = outcome.out.splitlines()
    assert "not proved" not in run_line
    assert who.startswith("Nobody can verify from a file who gave its answers")
    assert f"every number in it follows from {path}" in report_line
    assert "not proved" not in report_line


def test_the_digest_of_a_run_is_the_same_wherever_it_stands(
    path: Path,
    report: Path,
    command: Command,
) -> None:
    digest = Run.open(path).provenance.digest
    assert f"run sha256:{digest}" in output(command("verify", path, report, "--digest"))
    found = json.loads(output(command("verify", report, path, "--json")))["files"]
    assert [entry["kind"] for entry in found] == ["report", "run"]
    assert found[1]["digest"] == digest
    assert [entry["problems"] for entry in found] == [[], []]
    assert f"SHA-256 {digest}" in report.read_text()


def test_the_report_says_who_answered_and_what_failed(report: Path) -> None:
    page = report.read_text()
    assert "model-0, fingerprint fp_1: 2 attempts" in page
    assert "no answer within 60 s" in page
    assert "28 tokens of prompts" in page


CHANGES = [
    ("5 of 5 planned", "6 of 6 planned"),
    ("model-0,", "model-9,"),
    ("</html>", "</html> "),
]


@pytest.mark.parametrize(("before", "after"), CHANGES, ids=["count", "model", "space"])
def test_a_changed_report_is_refused(
    path: Path,
    report: Path,
    command: Command,
    before: str,
    after: str,
) -> None:
    page = report.read_text()
    assert before in page
    report.write_text(page.replace(before, after))
    outcome = command("verify", path, report)
    assert outcome.code == 6
    assert "report.html was changed after it was written" in outcome.err


def test_what_is_no_report_is_refused(path: Path, command: Command) -> None:
    page = path.with_name("page.html")
    page.write_text("<p>A page.")
    outcome = command("verify", path, page)
    assert outcome.code == 6
    assert "holds no digest" in outcome.err


def test_a_file_that_is_not_there_is_refused(path: Path, command: Command) -> None:
    assert command("verify", path, path.with_name("nothing.html")).code == 2


def test_several_runs_and_reports_in_any_order(path: Path, report: Path, command: Command) -> None:
    other = path.with_name("renamed.equipoise")
    both = path.with_name("both.html")
    shutil.copy(path, other)
    assert command("report", path, other, "-o", both, "--reading", "specified").code == 0
    moved = other.rename(path.with_name("moved.equipoise"))
    lines = output(command("verify", both, path, report, moved)).splitlines()
    assert [line.split()[0] for line in lines] == ["report", "run", "report", "run", "Nobody"]
    assert "every number in it follows" in lines[0]
    assert "every number in it follows" in lines[2]


def test_a_changed_run_is_refused(path: Path, report: Path, command: Command) -> None:
    execute("update attempts set answer = 'x' where place = 1")(path)
    outcome = command("verify", path, report)
    assert outcome.code == 6
    assert "was changed after it was written: attempt number 1" in outcome.err


def test_json_says_what_was_changed_and_proves_nothing(
    path: Path,
    report: Path,
    command: Command,
) -> None:
    execute("update attempts set answer = 'x' where place = 1")(path)
    as_json = command("verify", path, report, "--json")
    assert as_json.code == 6
    found = json.loads(as_json.out)["files"][0]
    assert (found["digest"], found["proved"], found["not_proved"]) == ("", [], [])
    assert "attempt number 1" in found["problems"][0]


@pytest.mark.fault("S30")
@pytest.mark.parametrize("full", [False, True], ids=["short", "full"])
def test_changed_numbers_with_a_new_seal_are_refused_beside_the_run(
    full: bool,
    path: Path,
    command: Command,
) -> None:
    report = path.with_name("report.html")
    options = ["--full"] if full else []
    assert command("report", path, "-o", report, *options).code == 0
    page = report.read_text()
    mean = re.search(r'<data class="value" value="([^"]*)">([^<]*)</data>', page)
    assert mean is not None
    forged = page.replace(mean[0], mean[0].replace(mean[2], "0.499"))
    assert forged != page
    report.write_text(seal_page(re.sub(r'(?<=equipoise-sha256" content=")[0-9a-f]{64}', "", forged)))
    alone = command("verify", report)
    assert alone.code == 6
    assert "not proved: that its numbers follow from" in alone.out
    assert "not given here, or changed since" in alone.err
    outcome = command("verify", path, report)
    assert outcome.code == 6
    assert "does not show what its runs give" in outcome.err
    assert "0.499" in outcome.err


@pytest.mark.fault("S30")
def test_changed_numbers_are_no_success_if_another_version_wrote_the_report(
    path: Path, report: Path, command: Command
) -> None:
    """It cannot be written again, so that nothing says whether its numbers follow from the run."""
    page = report.read_text()
    forged = page.replace(f"&#34;{version('equipoise')}&#34;", "&#34;99.0&#34;")
    assert forged != page
    report.write_text(seal_page(re.sub(r'(?<=equipoise-sha256" content=")[0-9a-f]{64}', "", forged)))
    outcome = command("verify", path, report)
    assert outcome.code == 6
    assert "its numbers: it was written by equipoise 99.0" in outcome.err


def test_a_forged_run_does_not_fit_its_report(path: Path, report: Path, command: Command) -> None:
    forge("update settings set value = json_set(value, '$.model', 'openai/better') where key = 'spec'")(path)
    assert command("verify", path).code == 0
    outcome = command("verify", path, report, "--digest")
    assert outcome.code == 6
    assert "was made of another run" in outcome.err
    assert outcome.out == ""


@pytest.mark.skipif(SSH_KEYGEN is None, reason="needs ssh-keygen")
def test_digests_are_signed_with_the_users_own_key(
    path: Path,
    report: Path,
    command: Command,
) -> None:
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
    check = (
        "-Y",
        "verify",
        "-f",
        folder / "signers",
        "-I",
        "auditor@example.org",
        "-n",
        "equipoise",
    )
    signature = ("-s", folder / "digests.txt.sig")
    assert ssh(*check, *signature, given=command("verify", path, report, "--digest").out) == 0
    forge("update attempts set answer = 'She wrote.' where place = 2")(path)
    assert ssh(*check, *signature, given=command("verify", path, "--digest").out) != 0
