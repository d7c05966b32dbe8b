"""Endpoints that need more than a name: headers, keys from commands, and addresses or names that are wrong."""

from __future__ import annotations

import itertools
import sys
from pathlib import Path
from typing import Any

import pytest

import equipoise
from calling import Command
from equipoise.runs.run import Run
from serving.asking import always
from serving.faults import Fault
from serving.faulty import FaultyServer, sealed

SECRET = "canary-0123456789-abcdef"


def words(server: FaultyServer, *more: str) -> list[str]:
    where = [
        "--base-url",
        server.url,
        "--probe",
        "jobs_lum",
        "--sample",
        "6",
        "--out",
        "run.equipoise",
    ]
    return ["run", "vllm/test", *where, *more]


def test_values_of_headers_are_given_again_and_never_stored(command: Command) -> None:
    header = ("--header", f"X-Organisation={SECRET}")
    with FaultyServer(lambda prompt, nth: "She is a nurse.") as server:
        stopped = command(*words(server, *header, "--max-requests", "2"))
        assert stopped.code == 4
        without = command("resume", "run.equipoise")
        assert without.code == 2
        assert "started with the headers X-Organisation" in without.err
        assert "equipoise resume run.equipoise --header X-Organisation=…" in without.err
        assert command("resume", "run.equipoise", "--header", "X-Other=1").code == 2
        assert command(*words(server)).code == 6
        resumed = command("resume", "run.equipoise", *header)
        assert resumed.code == 0
        assert all(request.headers["X-Organisation"] == SECRET for request in server.received)
        shown = command("show", "run.equipoise", "--json")
    for text in (stopped.err, without.err, resumed.out, resumed.err, shown.out):
        assert "canary" not in text
    assert b"canary" not in Path("run.equipoise").read_bytes()
    assert Run.open("run.equipoise").record.spec.headers == ("X-Organisation",)


@pytest.mark.parametrize("typed", [SECRET, f"={SECRET}"], ids=["no sign", "no name"])
def test_a_header_without_a_name_is_refused_and_not_shown(typed: str, command: Command) -> None:
    outcome = command("run", "vllm/test", "--header", typed)
    assert outcome.code == 2
    assert "--header needs NAME=VALUE" in outcome.err
    assert "canary" not in outcome.err


def test_headers_are_not_sent_where_only_a_run_file_says_so(
    command: Command,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    header = ("--header", f"X-Organisation={SECRET}")
    with FaultyServer() as server:
        assert command(*words(server, *header, "--max-requests", "2")).code == 4
        monkeypatch.setenv("EQUIPOISE_CONFIG", str(tmp_path / "another machine"))
        asked = server.total
        foreign = command("resume", "run.equipoise", *header)
        assert (foreign.code, server.total) == (2, asked)
        assert "wants the headers sent to" in foreign.err
        assert "canary" not in foreign.err
        trusted = command("resume", "run.equipoise", *header, "--base-url", server.url)
        assert trusted.code == 0


def test_the_library_resumes_with_headers_and_a_key_command(command: Command) -> None:
    with FaultyServer() as server:
        header = f"X-A={SECRET}"
        assert command(*words(server, "--header", header, "--max-requests", "2")).code == 4
        key_command = f"{sys.executable} -c 'print(\"k\" * 20)'"
        access: dict[str, Any] = {"headers": {"X-A": SECRET}, "key_command": key_command}
        assert equipoise.resume("run.equipoise", **access).ask().complete
        sent = server.received[-1].headers
    assert sent["Authorization"] == "Bearer " + "k" * 20
    assert sent["X-A"] == SECRET


def test_the_key_of_a_command_is_sent_and_not_stored(command: Command, tmp_path: Path) -> None:
    script = tmp_path / "key.py"
    script.write_text(f"print({SECRET!r})")
    option = ("--key-command", f"{sys.executable} {script}")
    with FaultyServer(lambda prompt, nth: f"She. {SECRET}") as server:
        stopped = command(*words(server, *option, "--max-requests", "2"))
        assert stopped.code == 4
        resumed = command("resume", "run.equipoise", *option)
        assert resumed.code == 3
        assert "6 key_in_answer" in resumed.err
        assert {request.headers["Authorization"] for request in server.received} == {f"Bearer {SECRET}"}
    content = Path("run.equipoise").read_bytes()
    assert b"canary" not in content
    assert str(script).encode() not in content


def test_a_key_command_that_fails_stops_the_run_before_anything_is_sent(command: Command) -> None:
    failing = f"{sys.executable} -c 'raise SystemExit(1)'"
    with FaultyServer() as server:
        outcome = command(*words(server, "--key-command", failing))
        assert (outcome.code, server.total) == (4, 0)
    assert "must print the key and nothing else" in outcome.err


@pytest.mark.fault("E17")
def test_a_wrong_name_leaves_no_file_and_no_advice_to_resume(command: Command) -> None:
    with FaultyServer(always(Fault.UNKNOWN_MODEL_404)) as server:
        outcome = command(*words(server))
        assert (outcome.code, server.total) == (4, 1)
        assert f"{server.url} does not serve vllm/test" in outcome.err
        assert "resume" not in outcome.err
        assert outcome.err.endswith("\nNo run file was kept.\n")
        assert not list(Path().glob("run.equipoise*"))
        server.behaviour = sealed
        right = [word.replace("vllm/test", "vllm/right") for word in words(server)]
        assert command(*right).code == 0, "no file stands in the way of the right name"


@pytest.mark.fault("E17")
def test_a_model_that_is_gone_later_leaves_its_answers(command: Command) -> None:
    def serve_three(prompt: str, nth: int) -> Fault | str:
        return sealed(prompt) if server.total < 4 else Fault.UNKNOWN_MODEL_404

    with FaultyServer(serve_three) as server:
        outcome = command(*words(server, "--concurrency", "1"))
        assert outcome.code == 4
        assert "run.equipoise holds 3 of 6 attempts. Once that has changed: " in outcome.err
        assert outcome.err.rstrip().endswith("equipoise resume run.equipoise")
        server.behaviour = sealed
        assert command("resume", "run.equipoise").code == 0
    assert Run.open("run.equipoise").complete


@pytest.mark.parametrize("fault", [Fault.HTML_404, Fault.UNEXPECTED_ENDPOINT])
def test_a_missing_version_in_the_address_is_suggested(fault: Fault, command: Command) -> None:
    with FaultyServer(always(fault)) as server:
        bare = server.url.removesuffix("/v1")
        outcome = command(*[bare if word == server.url else word for word in words(server)])
        assert outcome.code == 4
        assert f"does the base URL lack /v1? --base-url {bare}/v1" in outcome.err
        assert "resume" not in outcome.err


@pytest.mark.parametrize("fault", [Fault.HTML_404, Fault.UNEXPECTED_ENDPOINT])
def test_a_version_that_is_there_is_not_suggested(fault: Fault, command: Command) -> None:
    with FaultyServer(always(fault)) as server:
        complete = command(*words(server))
    assert complete.code == 4
    assert "lack /v1" not in complete.err


def test_requests_a_minute_must_be_more_than_none(command: Command) -> None:
    with FaultyServer() as server:
        outcome = command(*words(server, "--rpm", "0"))
        assert (outcome.code, server.total) == (2, 0)
    assert "'rpm' must be `float` > 0.0" in outcome.err


def test_the_pace_may_change_when_a_run_goes_on(command: Command) -> None:
    with FaultyServer() as server:
        assert command(*words(server, "--rpm", "6000", "--max-requests", "2")).code == 4
        assert command(*words(server, "--rpm", "60000", "--concurrency", "2")).code == 0
        assert server.total == 6


@pytest.mark.fault("U6")
def test_a_run_without_headers_stores_no_names_of_any(command: Command) -> None:
    with FaultyServer() as server:
        assert command(*words(server)).code == 0
    assert Run.open("run.equipoise").record.spec.headers == ()


def test_a_run_that_goes_on_allows_as_much_to_be_missing_as_before(command: Command) -> None:
    """Half of its answers are filtered, which was allowed when it was started."""
    numbers = itertools.count()
    with FaultyServer(lambda prompt, nth: Fault.FILTERED_200 if next(numbers) % 2 else sealed(prompt)) as server:
        assert command(*words(server, "--allow-missing", "0.9", "--max-requests", "2")).code == 4
        assert command("resume", "run.equipoise").code == 0
        assert command("resume", "run.equipoise", "--allow-missing", "0.1").code == 3
