"""A run file from somebody else does not decide where a key is sent."""

from __future__ import annotations

import json
import shlex
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from calling import exit_code
from equipoise.errors import InputError
from equipoise.runs.file.store import RunFile
from equipoise.runs.reaching import APPROVED, Source, reach_model
from equipoise.runs.session import resume
from equipoise.runs.spec import Access, RunSpec, make_record
from equipoise.runs.start import start
from equipoise.runs.suites import plan_probes
from equipoise.settings import Settings
from serving.asking import KEY, find_key
from serving.faulty import FaultyServer

SECRET = "cloud-secret-0123456789abcdef"
FOREIGN_HOST = "http://192.0.2.1/v1"
pytestmark = pytest.mark.fault("S16")


@pytest.fixture(autouse=True)
def keys(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", SECRET)


@pytest.fixture
def attacker() -> Iterator[FaultyServer]:
    """A server that must not receive a key."""
    with FaultyServer() as server:
        yield server
        received = str([request.headers for request in server.received])
        assert "uthorization" not in received
        assert not find_key(received)
        assert SECRET not in received


def send_file(path: Path, monkeypatch: pytest.MonkeyPatch, **options: Any) -> Path:
    """A run file as somebody else writes it, on another machine."""
    access = Access(allow_insecure=options.pop("allow_insecure", False))
    spec = RunSpec(**{"model": "openai/test", "suite": "quick", **options})
    with monkeypatch.context() as there:
        there.setenv(spec.key_variable or "OPENAI_API_KEY", "a-key-of-theirs")
        reached = reach_model(spec, None, access, Source(name="They", again=[]))
    settings = make_record(reached.public_spec, model_settings=reached.settings)
    RunFile.create(path, record=settings, plans=plan_probes("jobs_lum", "quick", {"sample": 3})).close()
    return path


THERE, AWS = {"base_url": "THERE"}, {"key_variable": "AWS_SECRET_ACCESS_KEY"}
"""The address of the attacker, and another secret of the user."""


@pytest.mark.parametrize(
    ("planted", "given", "variable"),
    [
        pytest.param(THERE, {}, "OPENAI_API_KEY", id="the provider's key"),
        pytest.param(THERE | AWS, {}, "AWS_SECRET_ACCESS_KEY", id="a variable that it names"),
        pytest.param(
            THERE | {"model": "custom/m", "key_variable": "OPENAI_API_KEY"}, {}, "OPENAI_API_KEY", id="another provider"
        ),
        pytest.param(THERE, {"key_variable": "OPENAI_API_KEY"}, "OPENAI_API_KEY", id="only the variable is typed"),
        pytest.param(THERE, {"allow_insecure": True}, "OPENAI_API_KEY", id="half a yes"),
        pytest.param(THERE | AWS, THERE, "AWS_SECRET_ACCESS_KEY", id="only the address is typed"),
    ],
)
def test_a_planted_address_gets_no_key(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    attacker: FaultyServer,
    planted: dict[str, Any],
    given: dict[str, Any],
    variable: str,
) -> None:
    there = {"base_url": attacker.url}
    path = send_file(tmp_path / "run.equipoise", monkeypatch, **planted | there)
    with pytest.raises(InputError) as caught:
        resume(path, **given | (there if "base_url" in given else {}))
    command = shlex.join(["equipoise", "resume", str(path), "--base-url", attacker.url, "--key-variable", variable])
    assert str(caught.value).endswith(f"If you trust it: {command}")
    assert caught.value.exit_code == 2
    assert not attacker.received


def test_a_file_decides_neither_which_variable_is_sent_nor_that_it_goes_unencrypted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    resume(send_file(tmp_path / "own.equipoise", monkeypatch)).close()
    path = send_file(tmp_path / "aws.equipoise", monkeypatch, key_variable="AWS_SECRET_ACCESS_KEY")
    with pytest.raises(InputError, match=r"AWS_SECRET_ACCESS_KEY sent to https://api\.openai\.com/v1\."):
        resume(path)
    path = send_file(tmp_path / "run.equipoise", monkeypatch, base_url=FOREIGN_HOST, allow_insecure=True)
    given: dict[str, Any] = {"base_url": FOREIGN_HOST, "key_variable": "OPENAI_API_KEY"}
    for typed, words in (({}, "cannot decide that"), (given, "unencrypted")):
        with pytest.raises(InputError, match=words):
            resume(path, **typed)
    resume(path, **given, allow_insecure=True).close()


def test_the_printed_command_says_yes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    with FaultyServer() as server:
        path = send_file(tmp_path / "run with space.equipoise", monkeypatch, base_url=server.url)
        assert exit_code(monkeypatch, "resume", str(path)) == 2
        assert not server.received
        _, command = capfd.readouterr().err.split("trust it: equipoise ")
        assert exit_code(monkeypatch, *shlex.split(command)) == 0
        assert {request.headers["Authorization"] for request in server.received} == {f"Bearer {KEY}"}


def test_what_was_started_here_is_resumed_without_questions_and_nothing_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, attacker: FaultyServer
) -> None:
    with FaultyServer() as server:
        options: dict[str, Any] = {"probes": "jobs_lum", "suite": "quick", "sample": 3, "base_url": server.url}
        start("openai/test", out=tmp_path / "run.equipoise", **options).close()
        resume(send_file(tmp_path / "same.equipoise", monkeypatch, base_url=server.url)).close()
        resume(tmp_path / "run.equipoise").ask()
        assert {request.headers["Authorization"] for request in server.received} == {f"Bearer {KEY}"}
        approved = Settings.load().config / APPROVED
        assert json.loads(approved.read_text()) == [{"address": server.url, "key_variable": "OPENAI_API_KEY"}]
        assert stat.S_IMODE(approved.stat().st_mode) == 0o600
        for name, planted in (("there", {"base_url": attacker.url}), ("aws", {"base_url": server.url, **AWS})):
            with pytest.raises(InputError, match="cannot decide that"):
                resume(send_file(tmp_path / f"{name}.equipoise", monkeypatch, **planted))


@pytest.mark.parametrize("content", ["{", "[{}]", "\udcff"])
def test_a_damaged_list_approves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, attacker: FaultyServer, content: str
) -> None:
    config = Settings.load().config
    config.mkdir(parents=True)
    (config / APPROVED).write_bytes(content.encode("utf-8", "surrogateescape"))
    path = send_file(tmp_path / "run.equipoise", monkeypatch, base_url=attacker.url)
    with pytest.raises(InputError, match="cannot decide that"):
        resume(path)


@pytest.mark.fault("S24")
def test_a_received_run_without_a_key_does_not_decide_where_its_prompts_are_posted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, attacker: FaultyServer
) -> None:
    path = send_file(tmp_path / "run.equipoise", monkeypatch, model="vllm/test", base_url=attacker.url)
    with pytest.raises(InputError, match="wants the prompts sent to"):
        resume(path)
    assert not attacker.received
    resume(path, base_url=attacker.url).ask()
    assert attacker.received


def test_a_folder_that_cannot_be_written_does_not_stop_a_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("EQUIPOISE_CONFIG", str(tmp_path / "file" / "config"))
    options: dict[str, Any] = {"base_url": "http://127.0.0.1:9/v1", "probes": "jobs_lum", "suite": "quick"}
    start("openai/test", out=tmp_path / "run.db", **options).close()
    with pytest.raises(InputError, match="cannot decide that"):
        resume(tmp_path / "run.db")
