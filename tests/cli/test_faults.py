"""The faults of docs/faults.md as a user meets them: the real command, real HTTP, and state, message, exit code.

Which fault becomes which state is in tests/models/test_faults.py; when what is asked again in tests/runs.
"""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from calling import Command
from equipoise.runs.run import Run
from equipoise.schema import Status
from serving.asking import KEY, always, find_key
from serving.faults import Fault
from serving.faulty import Behaviour, FaultyServer, sealed

PROMPTS = 12


def run_command(server: FaultyServer, *options: str) -> list[str]:
    """The words of `equipoise run` for a small run against this server."""
    where = ["--base-url", server.url, "--probe", "jobs_lum", "--sample", str(PROMPTS), "--out", "run.equipoise"]
    return ["run", "openai/test", *where, "--deadline", "20", *options]


def for_one_prompt(fault: Fault, times: int = 99) -> Behaviour:
    """One prompt of the sample meets the fault so many times; all else is answered."""
    return lambda prompt, nth: fault if nth <= times and "babysitter" in prompt else sealed(prompt)


@pytest.mark.fault("E4", "E18")
@pytest.mark.parametrize(
    ("fault", "state", "requests"),
    [(Fault.SERVER_500, Status.HTTP_ERROR, 2), (Fault.CONTEXT_LENGTH, Status.CONTEXT_LENGTH, 1)],
)
def test_an_attempt_without_an_answer_has_a_state_and_a_reason(
    keyed: Command, fault: Fault, state: Status, requests: int
) -> None:
    """One of twelve is more than may be missing."""
    with FaultyServer(for_one_prompt(fault)) as server:
        done = keyed(*run_command(server, "--tries", "2"))
    run = Run.open("run.equipoise")
    assert (run.counts[state], run.counts[Status.OK]) == (1, PROMPTS - 1)
    assert (done.code, f"1 {state}" in done.err) == (3, True)
    failed = run.attempts().filter(status=state)
    assert failed["answer"].to_list() == [None] != failed["detail"].to_list()
    assert [count for prompt, count in server.requests.items() if "babysitter" in prompt] == [requests]


@pytest.mark.fault("D15")
def test_failures_are_asked_again_only_if_they_are_named(keyed: Command) -> None:
    with FaultyServer(for_one_prompt(Fault.CONTEXT_LENGTH)) as server:
        assert keyed(*run_command(server)).code == 3
        assert keyed("resume", "run.equipoise").code == 3
        assert keyed("resume", "run.equipoise", "--retry", "timeout,http_error").code == 3
        for states in ("ok", "truncated", "pending", "http_error,oops"):
            outcome = keyed("resume", "run.equipoise", f"--retry={states}")
            assert (outcome.code, "No failure that can be asked again is called" in outcome.err) == (2, True), states
        assert server.total == PROMPTS
        server.behaviour = sealed
        assert keyed("resume", "run.equipoise", "--retry", "context_length").code == 0
        assert server.total == PROMPTS + 1
    assert Run.open("run.equipoise").counts[Status.OK] == PROMPTS
    with closing(sqlite3.connect("run.equipoise")) as connection:
        assert connection.execute("select status from earlier_failures").fetchall() == [("context_length",)]


@pytest.mark.fault("E3", "E16", "E21")
@pytest.mark.parametrize(
    ("fault", "word"),
    [
        (Fault.QUOTA_429, "quota, not rate limit"),
        (Fault.UNAUTHORIZED_401, "OPENAI_API_KEY"),
        (Fault.REDIRECT, "redirect"),
    ],
)
def test_a_refusal_costs_one_request(keyed: Command, fault: Fault, word: str) -> None:
    with FaultyServer(always(fault)) as server:
        done = keyed(*run_command(server))
    assert (done.code, server.total, word in done.err) == (4, 1, True), done.err
    assert "equipoise resume run.equipoise" in done.err
    assert Run.open("run.equipoise").counts[Status.PENDING] == PROMPTS


@pytest.mark.fault("E12", "E13", "E20")
@pytest.mark.parametrize(
    ("fault", "column"),
    [(Fault.LENGTH, None), (Fault.ODD_FINISH, "finish_reason"), (Fault.OTHER_MODEL, "served_model")],
)
def test_answers_that_are_odd_are_measured_and_what_is_odd_is_said_once(
    keyed: Command, fault: Fault, column: str | None
) -> None:
    with FaultyServer(always(fault)) as server:
        done = keyed(*run_command(server))
    assert done.code == 0
    if column is None:
        assert f"{PROMPTS} truncated" in done.out
        return
    [value] = Run.open("run.equipoise").attempts()[column].unique()
    assert done.err.count(str(value)) == 1
    assert str(value) in keyed("show", "run.equipoise").out


@pytest.mark.fault("E23", "U6", "U8")
def test_a_budget_stops_the_run_and_only_the_same_settings_go_on_with_it(
    keyed: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    with FaultyServer() as server:
        done = keyed(*run_command(server, "--concurrency", "1", "--max-requests", "5"))
        assert (done.code, server.total) == (4, 5)
        assert "equipoise resume run.equipoise" in done.err
        other = keyed(*run_command(server, "--temperature", "0.3", "--seed", "5"))
        assert (other.code, server.total) == (6, 5)
        assert "temperature: was not given, is 0.3" in other.err
        assert "seed: was 0, is 5" in other.err
        assert keyed(*run_command(server, "--max-requests", "3")).code == 4
        assert keyed("resume", "run.equipoise").code == 0
        assert set(server.requests.values()) == {1}
        monkeypatch.delenv("OPENAI_API_KEY")
        assert keyed("resume", "run.equipoise").code == 0, "nothing is left to ask, so no key is needed"
        assert server.total == PROMPTS


RUN = ["run", "openai/x", "--probe", "jobs_lum"]
WRONG_INPUT = [
    (["run", "opnai/gpt-4o"], 2, "openai"),
    (["run", "openai/x", "--suite", "quik"], 2, "quick"),
    ([*RUN, "--set", "template=Hi {jb}"], 2, "{job}"),
    ([*RUN, "--sample", "0"], 2, "339"),
    ([*RUN, "--out", "no/such/folder/run.equipoise"], 5, "no/such/folder"),
    ([*RUN, "--base-url", "http://192.0.2.1/v1"], 2, "--allow-insecure"),
    ([*RUN, "--set", "template={job.__class__}"], 2, "plain name"),
    (["show", "not-a-run.equipoise"], 6, "not-a-run.equipoise"),
    (["resume", "nothing.equipoise"], 2, "nothing.equipoise"),
    (["run", "openai/x", "--max-cost", "1"], 2, "--price"),
    (["run", "openai/x", "--extra", "[1]"], 2, "'extra' must be `object`"),
    (["run", "embedded", "--base-url", "http://127.0.0.1:1/v1"], 2, "runs on this machine"),
]


@pytest.mark.fault("U1", "U2", "U3", "U5", "S6", "S7", "S11")
@pytest.mark.parametrize(("words", "code", "hint"), WRONG_INPUT)
def test_wrong_input_is_refused_before_anything_is_sent(keyed: Command, words: list[str], code: int, hint: str) -> None:
    Path("not-a-run.equipoise").write_text("SQLite format 3, or so it says")
    done = keyed(*words)
    assert (done.code, hint in done.err) == (code, True), done.err
    assert done.err.startswith("error: ")
    assert done.out == ""


@pytest.mark.fault("S4", "S5", "S13")
def test_key_and_password_reach_no_file_and_no_message(keyed: Command, tmp_path: Path) -> None:
    secret = "hunter2-canary-value"
    with FaultyServer(for_one_prompt(Fault.ECHO_500)) as server:
        url = server.url.replace("http://", f"http://user:{secret}@")
        done = keyed(*run_command(server, "--tries", "1"))
        sent = server.received[0].headers["Authorization"]
        keyed(*run_command(server, "--base-url", url, "--out", "other.equipoise", "--tries", "1"))
        shown = keyed("show", "run.equipoise", "--json")
    assert sent == f"Bearer {KEY}"
    texts = [done.out, done.err, shown.out, shown.err]
    texts += [path.read_bytes().decode("latin-1") for path in tmp_path.rglob("*") if path.is_file()]
    assert len(list(tmp_path.glob("*.equipoise"))) == 2
    assert [text for text in texts if find_key(text) or secret in text] == []
