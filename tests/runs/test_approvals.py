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
from equipoise.errors import InputError, IntegrityError
from equipoise.runs.file.store import RunFile
from equipoise.runs.reaching import APPROVED, Source, reach_model
from equipoise.runs.session import resume
from equipoise.runs.spec import Access, RunSpec, make_record
from equipoise.runs.start import start
from equipoise.runs.suites import plan_probes
from equipoise.settings import Settings
from runs.fakes import execute
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
        pytest.param(
            THERE,
            {"allow_insecure": True},
            "OPENAI_API_KEY",
            id="only that it may be unencrypted is typed",
        ),
        pytest.param(
            THERE | {"allow_insecure": True},
            {},
            "OPENAI_API_KEY",
            id="unencrypted where it was written",
        ),
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


def test_the_providers_own_address_does_not_get_a_variable_that_the_file_names(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = send_file(tmp_path / "aws.equipoise", monkeypatch, **AWS)
    with pytest.raises(InputError, match=r"AWS_SECRET_ACCESS_KEY sent to https://api\.openai\.com/v1\."):
        resume(path)


def test_the_providers_own_address_gets_the_providers_key_without_questions(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    resume(send_file(tmp_path / "own.equipoise", monkeypatch)).close()


def test_plain_http_to_a_foreign_host_is_never_taken_from_a_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = send_file(tmp_path / "run.equipoise", monkeypatch, base_url=FOREIGN_HOST, allow_insecure=True)
    given: dict[str, Any] = {"base_url": FOREIGN_HOST, "key_variable": "OPENAI_API_KEY"}
    with pytest.raises(InputError, match="cannot decide that"):
        resume(path)
    with pytest.raises(InputError, match="unencrypted"):
        resume(path, **given)
    resume(path, **given, allow_insecure=True).close()


def test_an_edited_file_gets_no_key_to_its_address(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, attacker: FaultyServer
) -> None:
    path = send_file(tmp_path / "run.equipoise", monkeypatch)
    resume(path).close()
    execute(
        f"update settings set value = json_set(value, '$.base_url', '{attacker.url}') where key = 'spec'",
    )(path)
    with pytest.raises(IntegrityError, match="changed after it was written: settings"):
        resume(path)
    assert not attacker.received


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


SMALL: dict[str, Any] = {"probes": "jobs_lum", "suite": "quick", "sample": 3}


def test_a_run_that_was_started_here_is_resumed_without_questions(tmp_path: Path) -> None:
    with FaultyServer() as server:
        start("openai/test", out=tmp_path / "run.equipoise", base_url=server.url, **SMALL).close()
        resume(tmp_path / "run.equipoise").ask()
        assert {request.headers["Authorization"] for request in server.received} == {f"Bearer {KEY}"}


def test_a_variable_that_was_typed_here_is_approved_and_its_secret_is_not_stored(
    tmp_path: Path,
) -> None:
    with FaultyServer() as server:
        options: dict[str, Any] = {"base_url": server.url, **AWS, **SMALL}
        start("openai/test", out=tmp_path / "run.equipoise", **options).close()
        resume(tmp_path / "run.equipoise").ask()
        assert {request.headers["Authorization"] for request in server.received} == {f"Bearer {SECRET}"}
    approved = Settings.load().config / APPROVED
    stored = json.loads(approved.read_text())
    assert stored == [{"address": server.url, "key_variable": "AWS_SECRET_ACCESS_KEY"}]
    assert SECRET not in approved.read_text()


def test_what_is_approved_is_readable_by_the_user_only(tmp_path: Path) -> None:
    start(
        "openai/test",
        out=tmp_path / "run.equipoise",
        base_url="http://127.0.0.1:9/v1",
        **SMALL,
    ).close()
    approved = Settings.load().config / APPROVED
    assert json.loads(approved.read_text()) == [
        {"address": "http://127.0.0.1:9/v1", "key_variable": "OPENAI_API_KEY"},
    ]
    assert stat.S_IMODE(approved.stat().st_mode) == 0o600


def test_another_run_to_an_approved_address_is_resumed_and_another_address_or_variable_is_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, attacker: FaultyServer
) -> None:
    own = "http://127.0.0.1:9/v1"
    start("openai/test", out=tmp_path / "run.equipoise", base_url=own, **SMALL).close()
    resume(send_file(tmp_path / "same.equipoise", monkeypatch, base_url=own)).close()
    with pytest.raises(InputError, match="cannot decide that"):
        resume(send_file(tmp_path / "address.equipoise", monkeypatch, base_url=attacker.url))
    with pytest.raises(InputError, match="cannot decide that"):
        resume(send_file(tmp_path / "variable.equipoise", monkeypatch, base_url=own, **AWS))


@pytest.mark.parametrize("content", ["", "{", "[1]", '{"address": 1}', "[{}]", "\udcff"])
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


@pytest.mark.fault("S24")
def test_a_run_without_a_key_that_was_started_here_is_resumed_without_questions(
    tmp_path: Path,
) -> None:
    with FaultyServer() as server:
        start("vllm/test", out=tmp_path / "run.equipoise", base_url=server.url, **SMALL).close()
        assert resume(tmp_path / "run.equipoise").ask().complete


def test_a_folder_that_cannot_be_written_does_not_stop_a_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("EQUIPOISE_CONFIG", str(tmp_path / "file" / "config"))
    options: dict[str, Any] = {"base_url": "http://127.0.0.1:9/v1", "probes": "jobs_lum", "suite": "quick"}
    start("openai/test", out=tmp_path / "run.db", **options).close()
    with pytest.raises(InputError, match="cannot decide that"):
        resume(tmp_path / "run.db")


def test_a_configuration_may_name_an_address_to_which_no_key_is_sent(tmp_path: Path) -> None:
    with FaultyServer() as server:
        spec = RunSpec(model="vllm/test", base_url=server.url, suite="quick", parameters={"sample": 3})
        not_typed = Access(typed=frozenset())
        start(spec, probes="jobs_lum", out=tmp_path / "run.db", access=not_typed, source="models.toml").ask()
        assert server.total == 3
