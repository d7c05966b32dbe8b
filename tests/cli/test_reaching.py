"""Endpoints that need more than a name: headers, keys from commands, and addresses or names that are wrong."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from calling import Command
from equipoise.runs.run import Run
from serving.asking import always
from serving.faults import Fault
from serving.faulty import FaultyServer

SECRET = "canary-0123456789-abcdef"


def words(server: FaultyServer, *more: str) -> list[str]:
    where = ["--base-url", server.url, "--probe", "jobs_lum", "--sample", "6", "--out", "run.equipoise"]
    return ["run", "vllm/test", *where, *more]


def test_values_of_headers_are_given_again_and_never_stored(command: Command) -> None:
    header = ("--header", f"X-Organisation={SECRET}")
    with FaultyServer(lambda prompt, nth: f"She. {SECRET}") as server:
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


def test_a_header_without_a_name_is_refused_and_not_shown(command: Command) -> None:
    outcome = command("run", "vllm/test", "--header", f"={SECRET}")
    assert outcome.code == 2
    assert "--header needs NAME=VALUE" in outcome.err
    assert "canary" not in outcome.err


def test_the_key_of_a_command_is_sent_and_not_stored(command: Command, tmp_path: Path) -> None:
    script = tmp_path / "key.py"
    script.write_text(f"print({SECRET!r})")
    option = ("--key-command", f"{sys.executable} {script}")
    with FaultyServer(lambda prompt, nth: f"She. {SECRET}") as server:
        stopped = command(*words(server, *option, "--max-requests", "2"))
        assert stopped.code == 4
        assert command("resume", "run.equipoise", *option).code == 0
        assert {request.headers["Authorization"] for request in server.received} == {f"Bearer {SECRET}"}
    content = Path("run.equipoise").read_bytes()
    assert b"canary" not in content
    assert str(script).encode() not in content


@pytest.mark.fault("E17")
def test_a_wrong_name_leaves_no_file_and_no_advice_to_resume(command: Command) -> None:
    with FaultyServer(always(Fault.UNKNOWN_MODEL_404)) as server:
        outcome = command(*words(server))
        assert (outcome.code, server.total) == (4, 1)
        assert f"{server.url} does not serve vllm/test" in outcome.err
        assert "resume" not in outcome.err
        assert outcome.err.endswith("\nNo run file was kept.\n")
        assert not list(Path().glob("run.equipoise*"))


def test_a_missing_version_in_the_address_is_suggested(command: Command) -> None:
    with FaultyServer(always(Fault.HTML_404)) as server:
        bare = server.url.removesuffix("/v1")
        outcome = command(*[bare if word == server.url else word for word in words(server)])
        assert outcome.code == 4
        assert f"does the base URL lack /v1? --base-url {bare}/v1" in outcome.err
        assert "resume" not in outcome.err
        assert "lack /v1" not in command(*words(server)).err
