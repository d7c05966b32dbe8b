"""The faults of docs/faults.md as a user meets them: the real command, real HTTP, and state, message, exit code.

Which fault becomes which state is in tests/models/test_faults.py; when what is asked again in tests/runs.
"""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from calling import Command, Outcome
from equipoise.runs.run import Run
from equipoise.schema import Status
from serving.asking import KEY, always, find_key
from serving.faults import Fault
from serving.faulty import Behaviour, FaultyServer, sealed

PROMPTS = 12


def run_command(server: FaultyServer, *options: str) -> list[str]:
    """The words of `equipoise run` for a small run against this server."""
    where = [
        "--base-url",
        server.url,
        "--probe",
        "jobs_lum",
        "--sample",
        str(PROMPTS),
        "--out",
        "run.equipoise",
    ]
    return ["run", "openai/test", *where, "--deadline", "20", *options]


def for_one_prompt(fault: Fault, times: int = 99) -> Behaviour:
    """One prompt of the sample meets the fault so many times; all else is answered."""
    return lambda prompt, nth: fault if nth <= times and "babysitter" in prompt else sealed(prompt)


WITHOUT_ANSWER = [
    pytest.param(Fault.SERVER_500, Status.HTTP_ERROR, 2, marks=pytest.mark.fault("E4")),
    pytest.param(Fault.INVALID_JSON, Status.MALFORMED, 3, marks=pytest.mark.fault("E9")),
    pytest.param(Fault.NULL_CONTENT, Status.EMPTY, 1, marks=pytest.mark.fault("E11")),
    pytest.param(Fault.FILTERED_400, Status.FILTERED, 1, marks=pytest.mark.fault("E14")),
    pytest.param(Fault.GZIP_BOMB, Status.TOO_LARGE, 1, marks=pytest.mark.fault("E15")),
    pytest.param(Fault.CONTEXT_LENGTH, Status.CONTEXT_LENGTH, 1, marks=pytest.mark.fault("E18")),
]
"""One fault for each state without an answer, and how often a prompt that meets it is sent.

`--tries` is 2; a malformed response has its own limit, three requests.
"""


def check_one_failure(done: Outcome, state: Status) -> None:
    """Check that one prompt ended in this state, and that this is more than may be missing."""
    run = Run.open("run.equipoise")
    assert run.counts[state] == 1
    assert run.counts[Status.OK] == PROMPTS - 1
    assert sum(run.counts.values()) == PROMPTS
    assert done.code == 3
    assert f"1 {state}" in done.err
    failed = run.attempts().filter(status=state)
    assert failed["answer"].to_list() == [None]
    assert failed["detail"].to_list() != [None]


@pytest.mark.parametrize(("fault", "state", "requests"), WITHOUT_ANSWER)
def test_an_attempt_without_an_answer_has_a_state_and_a_reason(
    keyed: Command,
    fault: Fault,
    state: Status,
    requests: int,
) -> None:
    with FaultyServer(for_one_prompt(fault)) as server:
        done = keyed(*run_command(server, "--tries", "2"))
    check_one_failure(done, state)
    assert [count for prompt, count in server.requests.items() if "babysitter" in prompt] == [requests]


@pytest.mark.fault("E7")
def test_a_prompt_that_gets_no_reply_times_out_at_its_deadline(keyed: Command) -> None:
    with FaultyServer(for_one_prompt(Fault.SILENT)) as server:
        done = keyed(*run_command(server, "--deadline", "1.5"))
    check_one_failure(done, Status.TIMEOUT)


PASSING = [
    pytest.param(Fault.RATE_LIMIT_SECONDS, marks=pytest.mark.fault("E1")),
    pytest.param(Fault.RATE_LIMIT, marks=pytest.mark.fault("E2")),
    pytest.param(Fault.RESET, marks=pytest.mark.fault("E8")),
    pytest.param(Fault.INVALID_JSON, marks=pytest.mark.fault("E9")),
]


@pytest.mark.parametrize("fault", PASSING)
def test_a_fault_that_passes_is_asked_again_and_leaves_no_gap(keyed: Command, fault: Fault) -> None:
    with FaultyServer(for_one_prompt(fault, times=1), wait=0.05) as server:
        done = keyed(*run_command(server))
    assert done.code == 0, done.err
    assert Run.open("run.equipoise").counts[Status.OK] == PROMPTS
    assert server.total >= PROMPTS + 1


@pytest.mark.fault("E1")
def test_a_wait_that_is_too_long_ends_the_run(keyed: Command) -> None:
    with FaultyServer(always(Fault.RATE_LIMIT_SECONDS), wait=1200) as server:
        done = keyed(*run_command(server))
    assert done.code == 4
    assert "20 min" in done.err
    assert "equipoise resume run.equipoise" in done.err


@pytest.mark.fault("D15")
def test_failures_are_asked_again_only_if_they_are_named(keyed: Command) -> None:
    with FaultyServer(for_one_prompt(Fault.CONTEXT_LENGTH)) as server:
        assert keyed(*run_command(server)).code == 3
        assert keyed("resume", "run.equipoise").code == 3
        assert keyed("resume", "run.equipoise", "--retry", "timeout,http_error").code == 3
        assert server.total == PROMPTS
        server.behaviour = sealed
        assert keyed("resume", "run.equipoise", "--retry", "context_length").code == 0
        assert server.total == PROMPTS + 1
    assert Run.open("run.equipoise").counts[Status.OK] == PROMPTS
    with closing(sqlite3.connect("run.equipoise")) as connection:
        assert connection.execute("select status from earlier_failures").fetchall() == [("context_length",)]


@pytest.mark.fault("D15")
def test_only_failures_can_be_asked_again(keyed: Command) -> None:
    with FaultyServer(for_one_prompt(Fault.CONTEXT_LENGTH)) as server:
        assert keyed(*run_command(server)).code == 3
        asked = server.total
        for states in ("ok", "truncated", "pending", "http_error,oops"):
            outcome = keyed("resume", "run.equipoise", f"--retry={states}")
            assert outcome.code == 2, states
            assert "No failure that can be asked again is called" in outcome.err
        assert server.total == asked


@pytest.mark.fault("D15")
def test_an_empty_list_of_failures_asks_nothing_again(keyed: Command) -> None:
    with FaultyServer(for_one_prompt(Fault.CONTEXT_LENGTH)) as server:
        keyed(*run_command(server))
        asked = server.total
        resumed = keyed("resume", "run.equipoise", "--retry=")
        assert server.total == asked
    assert resumed.code == 3
    assert Run.open("run.equipoise").counts[Status.CONTEXT_LENGTH] == 1


REFUSALS = [
    pytest.param(Fault.QUOTA_402, "quota, not rate limit", marks=pytest.mark.fault("E3")),
    pytest.param(Fault.QUOTA_429, "quota, not rate limit", marks=pytest.mark.fault("E3")),
    pytest.param(Fault.UNAUTHORIZED_401, "OPENAI_API_KEY", marks=pytest.mark.fault("E16")),
    pytest.param(Fault.FORBIDDEN_403, "OPENAI_API_KEY", marks=pytest.mark.fault("E16")),
    pytest.param(Fault.REDIRECT, "redirect", marks=pytest.mark.fault("E21")),
]


@pytest.mark.parametrize(("fault", "word"), REFUSALS)
def test_a_refusal_costs_one_request(keyed: Command, fault: Fault, word: str) -> None:
    with FaultyServer(always(fault)) as server:
        done = keyed(*run_command(server))
    assert (done.code, server.total, word in done.err) == (4, 1, True), done.err
    assert "equipoise resume run.equipoise" in done.err
    assert Run.open("run.equipoise").counts[Status.PENDING] == PROMPTS


@pytest.mark.fault("E19")
def test_the_same_4xx_again_and_again_ends_the_run(keyed: Command) -> None:
    with FaultyServer(always(Fault.TEAPOT_418)) as server:
        done = keyed(*run_command(server, "--sample", "300"))
    assert done.code == 4
    assert "418" in done.err
    assert server.total < 60


@pytest.mark.fault("E22")
def test_an_address_where_nothing_listens_ends_the_run(keyed: Command) -> None:
    with FaultyServer() as server:
        pass  # from here on, nothing listens there
    done = keyed(*run_command(server))
    assert done.code == 4
    assert "cannot connect" in done.err
    assert "equipoise resume run.equipoise" in done.err


@pytest.mark.fault("E12")
def test_truncated_answers_are_measured(keyed: Command) -> None:
    with FaultyServer(always(Fault.LENGTH)) as server:
        done = keyed(*run_command(server))
    assert done.code == 0
    assert Run.open("run.equipoise").counts[Status.TRUNCATED] == PROMPTS
    assert f"{PROMPTS} truncated" in done.out


ODD = [
    pytest.param(Fault.ODD_FINISH, "finish_reason", marks=pytest.mark.fault("E13")),
    pytest.param(Fault.OTHER_MODEL, "served_model", marks=pytest.mark.fault("E20")),
]


@pytest.mark.parametrize(("fault", "column"), ODD)
def test_what_is_odd_about_answers_is_recorded_and_said_once(
    keyed: Command,
    fault: Fault,
    column: str,
) -> None:
    with FaultyServer(always(fault)) as server:
        done = keyed(*run_command(server))
    assert done.code == 0
    [value] = Run.open("run.equipoise").attempts()[column].unique()
    assert value not in ("stop", "test")
    assert done.err.count(str(value)) == 1
    assert str(value) in keyed("show", "run.equipoise").out


BUDGETS = [
    ("--max-requests", "5"),
    ("--max-tokens-total", "200"),
    ("--max-cost", "0.0002", "--price", "1,1"),
]


@pytest.mark.fault("E23")
@pytest.mark.parametrize("budget", BUDGETS, ids=lambda budget: budget[0])
def test_a_budget_stops_the_run_and_resuming_completes_it(
    keyed: Command,
    budget: tuple[str, ...],
) -> None:
    with FaultyServer() as server:
        done = keyed(*run_command(server, "--concurrency", "1", *budget))
        asked = server.total
        again = keyed("resume", "run.equipoise")
    assert done.code == 4
    assert "equipoise resume run.equipoise" in done.err
    assert 0 < asked < PROMPTS
    assert again.code == 0
    assert server.total == PROMPTS
    assert set(server.requests.values()) == {1}


@pytest.mark.fault("E23")
def test_a_budget_of_requests_is_kept_exactly(keyed: Command) -> None:
    with FaultyServer() as server:
        done = keyed(*run_command(server, "--concurrency", "1", "--max-requests", "5"))
    assert (done.code, server.total) == (4, 5)


@pytest.mark.fault("U6")
def test_other_settings_are_refused_field_by_field(keyed: Command) -> None:
    with FaultyServer() as server:
        keyed(*run_command(server, "--concurrency", "1", "--max-requests", "5"))
        other = keyed(*run_command(server, "--temperature", "0.3", "--seed", "5"))
        assert (other.code, server.total) == (6, 5)
    assert "temperature: was not given, is 0.3" in other.err
    assert "seed: was 0, is 5" in other.err


@pytest.mark.fault("U6")
def test_the_same_command_goes_on_with_the_run_also_under_another_budget(keyed: Command) -> None:
    with FaultyServer() as server:
        keyed(*run_command(server, "--concurrency", "1", "--max-requests", "5"))
        assert keyed(*run_command(server, "--max-requests", "3")).code == 4
        assert keyed(*run_command(server)).code == 0
        assert server.total == PROMPTS
        assert set(server.requests.values()) == {1}


@pytest.mark.fault("U8")
def test_resuming_a_finished_run_asks_nothing_and_needs_no_key(
    keyed: Command,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with FaultyServer() as server:
        assert keyed(*run_command(server)).code == 0
        monkeypatch.delenv("OPENAI_API_KEY")
        assert keyed("resume", "run.equipoise").code == 0, "nothing is left to ask"
        assert server.total == PROMPTS


@pytest.mark.fault("U4")
def test_the_variable_of_a_missing_key_is_named(
    keyed: Command,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delenv("OPENAI_API_KEY")
    done = keyed("run", "openai/gpt-4o-mini", "--probe", "jobs_lum")
    assert done.code == 2
    assert "OPENAI_API_KEY" in done.err
    assert list(Path().glob("*.equipoise*")) == []


RUN = ["run", "openai/x", "--probe", "jobs_lum"]
WRONG_INPUT = [
    (["run", "opnai/gpt-4o"], 2, "openai"),
    (["run", "openai/x", "--probe", "jobs_lam"], 2, "jobs_lum"),
    (["run", "openai/x", "--suite", "quik"], 2, "quick"),
    ([*RUN, "--set", "template=Hi {jb}"], 2, "{job}"),
    ([*RUN, "--sample", "-1"], 2, "339"),
    ([*RUN, "--sample", "0"], 2, "339"),
    ([*RUN, "--sample", "340"], 2, "339"),
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
def test_wrong_input_is_refused_before_anything_is_sent(
    keyed: Command,
    words: list[str],
    code: int,
    hint: str,
) -> None:
    Path("not-a-run.equipoise").write_text("SQLite format 3, or so it says")
    done = keyed(*words)
    assert (done.code, hint in done.err) == (code, True), done.err
    assert done.err.startswith("error: ")
    assert done.out == ""


ECHOES = [Fault.ECHO_401, Fault.ECHO_500, Fault.ECHO_MALFORMED, Fault.ECHO_ANSWER]


@pytest.mark.fault("S4", "S13")
@pytest.mark.parametrize("fault", ECHOES, ids=lambda fault: fault.name)
def test_a_key_that_the_endpoint_repeats_reaches_no_file_and_no_message(
    keyed: Command,
    fault: Fault,
    tmp_path: Path,
) -> None:
    with FaultyServer(for_one_prompt(fault)) as server:
        done = keyed(*run_command(server, "--tries", "1"))
        shown = keyed("show", "run.equipoise", "--json")
        assert server.received[0].headers["Authorization"] == f"Bearer {KEY}"
        assert any("babysitter" in prompt for prompt in server.requests)
    texts = [done.out, done.err, shown.out, shown.err]
    texts += [path.read_bytes().decode("latin-1") for path in tmp_path.rglob("*") if path.is_file()]
    assert [text for text in texts if find_key(text)] == []


@pytest.mark.fault("S5")
@pytest.mark.parametrize(
    ("behaviour", "code"),
    [(sealed, 0), (for_one_prompt(Fault.ECHO_500), 3)],
    ids=["answers", "echoes"],
)
def test_a_password_in_the_address_is_not_kept(
    keyed: Command,
    behaviour: Behaviour,
    code: int,
    tmp_path: Path,
) -> None:
    secret = "hunter2-canary-value"
    with FaultyServer(behaviour) as server:
        url = server.url.replace("http://", f"http://user:{secret}@")
        done = keyed(*run_command(server, "--base-url", url, "--tries", "1"))
    assert done.code == code, done.err
    files = list(tmp_path.rglob("*.equipoise*"))
    assert files
    texts = [done.out, done.err, *(path.read_bytes().decode("latin-1") for path in files)]
    assert [text for text in texts if secret in text] == []
