"""The faults of docs/faults.md as a user meets them: the real command, real HTTP, and state, message, exit code."""

from __future__ import annotations

from pathlib import Path

import pytest

from calling import Command
from equipoise.runs.run import Run
from equipoise.schema import Status
from serving.asking import KEY, always, find_key
from serving.faults import Fault
from serving.faulty import Behaviour, FaultyServer, sealed

PROMPTS = 12


@pytest.fixture
def equipoise(command: Command, monkeypatch: pytest.MonkeyPatch) -> Command:
    """The command of a user who has a key."""
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    return command


def run_command(server: FaultyServer, *options: str) -> list[str]:
    """The words of `equipoise run` for a small run against this server."""
    where = ["--base-url", server.url, "--probe", "jobs_lum", "--sample", str(PROMPTS), "--out", "run.equipoise"]
    return ["run", "openai/test", *where, "--deadline", "20", *options]


def first_time_only(fault: Fault) -> Behaviour:
    """One prompt of the sample meets the fault the first time it is sent; all else is answered."""
    return lambda prompt, nth: fault if nth == 1 and "babysitter" in prompt else sealed(prompt)


def for_one_prompt(fault: Fault) -> Behaviour:
    """One prompt of the sample meets the fault every time; the others are answered."""
    return lambda prompt, nth: fault if "babysitter" in prompt else sealed(prompt)


# One fault for each state without an answer: which fault becomes which is in tests/models/test_faults.py. One of twelve
# is more than may be missing, so the run exits with 3.
WITHOUT_ANSWER = [
    pytest.param(Fault.SERVER_500, Status.HTTP_ERROR, marks=pytest.mark.fault("E4")),
    pytest.param(Fault.SILENT, Status.TIMEOUT, marks=pytest.mark.fault("E7")),
    pytest.param(Fault.INVALID_JSON, Status.MALFORMED, marks=pytest.mark.fault("E9")),
    pytest.param(Fault.NULL_CONTENT, Status.EMPTY, marks=pytest.mark.fault("E11")),
    pytest.param(Fault.FILTERED_400, Status.FILTERED, marks=pytest.mark.fault("E14")),
    pytest.param(Fault.GZIP_BOMB, Status.TOO_LARGE, marks=pytest.mark.fault("E15")),
    pytest.param(Fault.CONTEXT_LENGTH, Status.CONTEXT_LENGTH, marks=pytest.mark.fault("E18")),
]
ASKED_ONCE = {Status.FILTERED, Status.CONTEXT_LENGTH, Status.TOO_LARGE, Status.EMPTY}


@pytest.mark.parametrize(("fault", "state"), WITHOUT_ANSWER)
def test_an_attempt_without_an_answer_has_a_state_and_a_reason(equipoise: Command, fault: Fault, state: Status) -> None:
    patience = ["--deadline", "1.5"] if state == Status.TIMEOUT else []
    with FaultyServer(for_one_prompt(fault)) as server:
        done = equipoise(*run_command(server, "--tries", "2", *patience))
    run = Run.open("run.equipoise")
    assert run.counts[state] == 1
    assert run.counts[Status.OK] == PROMPTS - 1
    assert sum(run.counts.values()) == PROMPTS
    assert done.code == 3
    assert f"1 {state}" in done.err
    failed = run.attempts().filter(status=state)
    assert failed["answer"].to_list() == [None]
    assert failed["detail"].to_list() != [None]
    [asked] = [count for prompt, count in server.requests.items() if "babysitter" in prompt]
    assert asked == 1 if state in ASKED_ONCE else asked >= (1 if state == Status.TIMEOUT else 2)


PASSING = [
    pytest.param(Fault.RATE_LIMIT_SECONDS, marks=pytest.mark.fault("E1")),
    pytest.param(Fault.RATE_LIMIT, marks=pytest.mark.fault("E2")),
    pytest.param(Fault.RESET, marks=pytest.mark.fault("E8")),
    pytest.param(Fault.INVALID_JSON, marks=pytest.mark.fault("E9")),
]


@pytest.mark.parametrize("fault", PASSING)
def test_a_fault_that_passes_is_asked_again(equipoise: Command, fault: Fault) -> None:
    with FaultyServer(first_time_only(fault), wait=0.2) as server:
        done = equipoise(*run_command(server))
    run = Run.open("run.equipoise")
    assert done.code == 0, done.err
    assert run.counts[Status.OK] == PROMPTS
    assert server.total >= PROMPTS + 1


REFUSALS = [
    pytest.param(Fault.QUOTA_402, "quota, not rate limit", marks=pytest.mark.fault("E3")),
    pytest.param(Fault.QUOTA_429, "quota, not rate limit", marks=pytest.mark.fault("E3")),
    pytest.param(Fault.UNAUTHORIZED_401, "OPENAI_API_KEY", marks=pytest.mark.fault("E16")),
    pytest.param(Fault.FORBIDDEN_403, "OPENAI_API_KEY", marks=pytest.mark.fault("E16")),
    pytest.param(Fault.UNKNOWN_MODEL_404, "openai/test", marks=pytest.mark.fault("E17")),
    pytest.param(Fault.REDIRECT, "redirect", marks=pytest.mark.fault("E21")),
]


@pytest.mark.parametrize(("fault", "word"), REFUSALS)
def test_a_refusal_costs_one_request(equipoise: Command, fault: Fault, word: str) -> None:
    with FaultyServer(always(fault)) as server:
        done = equipoise(*run_command(server))
    assert done.code == 4
    assert server.total == 1
    assert word in done.err
    assert "run.equipoise" in done.err
    if fault is Fault.UNKNOWN_MODEL_404:  # to resume would be to ask the same again: tests/cli/test_reaching.py
        assert not Path("run.equipoise").exists()
        return
    assert "equipoise resume run.equipoise" in done.err
    assert Run.open("run.equipoise").counts[Status.PENDING] == PROMPTS


@pytest.mark.fault("E1")
def test_a_wait_that_is_too_long_ends_the_run(equipoise: Command) -> None:
    with FaultyServer(always(Fault.RATE_LIMIT_SECONDS), wait=1200) as server:
        done = equipoise(*run_command(server))
    assert done.code == 4
    assert "20 min" in done.err
    assert "equipoise resume run.equipoise" in done.err


@pytest.mark.fault("E12")
def test_truncated_answers_are_measured(equipoise: Command) -> None:
    with FaultyServer(always(Fault.LENGTH)) as server:
        done = equipoise(*run_command(server))
    assert done.code == 0
    assert Run.open("run.equipoise").counts[Status.TRUNCATED] == PROMPTS
    assert f"{PROMPTS} truncated" in done.out


@pytest.mark.fault("E13")
def test_an_unknown_finish_reason_is_reported_once(equipoise: Command) -> None:
    with FaultyServer(always(Fault.ODD_FINISH)) as server:
        done = equipoise(*run_command(server))
    assert done.code == 0
    reasons = Run.open("run.equipoise").attempts()["finish_reason"].unique()
    assert len(reasons) == 1
    assert done.err.count(str(reasons[0])) == 1


@pytest.mark.fault("E19")
def test_the_same_4xx_again_and_again_ends_the_run(equipoise: Command) -> None:
    with FaultyServer(always(Fault.TEAPOT_418)) as server:
        done = equipoise(*run_command(server, "--sample", "300"))
    assert done.code == 4
    assert "418" in done.err
    assert server.total < 60


@pytest.mark.fault("E20")
def test_another_model_than_asked_for_is_recorded_and_reported(equipoise: Command) -> None:
    with FaultyServer(always(Fault.OTHER_MODEL)) as server:
        done = equipoise(*run_command(server))
    assert done.code == 0
    [served] = Run.open("run.equipoise").attempts()["served_model"].unique()
    assert served != "test"
    assert str(served) in done.err
    assert str(served) in equipoise("show", "run.equipoise").out


@pytest.mark.fault("E22")
def test_an_address_where_nothing_listens_ends_the_run(equipoise: Command) -> None:
    with FaultyServer() as server:
        pass
    done = equipoise(*run_command(server))
    assert done.code == 4
    assert "cannot connect" in done.err
    assert "equipoise resume run.equipoise" in done.err


@pytest.mark.fault("E23")
@pytest.mark.parametrize(
    "budget", [("--max-requests", "5"), ("--max-tokens-total", "200"), ("--max-cost", "0.0002", "--price", "1,1")]
)
def test_a_budget_stops_the_run_and_resuming_completes_it(equipoise: Command, budget: tuple[str, ...]) -> None:
    with FaultyServer() as server:
        done = equipoise(*run_command(server, "--concurrency", "1", *budget))
        asked = server.total
        again = equipoise("resume", "run.equipoise")
    assert done.code == 4
    assert "equipoise resume run.equipoise" in done.err
    assert 0 < asked < PROMPTS
    assert again.code == 0
    assert server.total == PROMPTS
    assert set(server.requests.values()) == {1}


@pytest.mark.fault("U4")
def test_the_variable_of_a_missing_key_is_named(equipoise: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY")
    done = equipoise("run", "openai/gpt-4o-mini", "--probe", "jobs_lum")
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
    (["run", "openai/x", "--extra", "[1]"], 2, "JSON object"),
]


@pytest.mark.fault("U1", "U2", "U3", "U5", "S6", "S7", "S11")
@pytest.mark.parametrize(("words", "code", "hint"), WRONG_INPUT)
def test_wrong_input_is_refused_before_anything_is_sent(
    equipoise: Command, words: list[str], code: int, hint: str
) -> None:
    Path("not-a-run.equipoise").write_text("SQLite format 3, or so it says")
    done = equipoise(*words)
    assert done.code == code, done.err
    assert hint in done.err
    assert done.err.startswith("error: ")
    assert done.out == ""


@pytest.mark.fault("U6")
def test_other_settings_are_refused_field_by_field(equipoise: Command) -> None:
    with FaultyServer() as server:
        equipoise(*run_command(server, "--max-requests", "3"))
        before = server.total
        done = equipoise(*run_command(server, "--temperature", "0.3", "--seed", "5"))
        assert server.total == before
    assert done.code == 6
    assert "temperature: was null, is 0.3" in done.err
    assert "seed: was 0, is 5" in done.err


@pytest.mark.fault("U6")
def test_the_same_settings_go_on_with_the_run(equipoise: Command) -> None:
    with FaultyServer() as server:
        equipoise(*run_command(server, "--max-requests", "3"))
        done = equipoise(*run_command(server))
    assert done.code == 0
    assert server.total == PROMPTS


@pytest.mark.fault("U8")
def test_resuming_a_finished_run_asks_nothing(equipoise: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    with FaultyServer() as server:
        equipoise(*run_command(server))
    monkeypatch.delenv("OPENAI_API_KEY")
    done = equipoise("resume", "run.equipoise")
    assert done.code == 0
    assert server.total == PROMPTS


@pytest.mark.fault("S4", "S13")
@pytest.mark.parametrize("fault", [Fault.ECHO_401, Fault.ECHO_500, Fault.ECHO_MALFORMED, Fault.ECHO_ANSWER])
def test_the_key_reaches_no_file_and_no_message(equipoise: Command, fault: Fault, tmp_path: Path) -> None:
    with FaultyServer(for_one_prompt(fault)) as server:
        done = equipoise(*run_command(server, "--tries", "1"))
        shown = equipoise("show", "run.equipoise", "--json")
    assert server.received[0].headers["Authorization"] == f"Bearer {KEY}"
    texts = [done.out, done.err, shown.out, shown.err]
    texts += [path.read_bytes().decode("latin-1") for path in tmp_path.rglob("*") if path.is_file()]
    assert [text for text in texts if find_key(text)] == []
    assert server.requests[next(prompt for prompt in server.requests if "babysitter" in prompt)]


@pytest.mark.fault("S5")
def test_a_password_in_the_address_is_not_kept(equipoise: Command, tmp_path: Path) -> None:
    secret = "hunter2-canary-value"
    with FaultyServer() as server:
        url = server.url.replace("http://", f"http://user:{secret}@")
        done = equipoise(*run_command(server, "--base-url", url))
    assert done.code == 0, done.err
    texts = [done.out, done.err, *(path.read_bytes().decode("latin-1") for path in tmp_path.rglob("*.equipoise*"))]
    assert [text for text in texts if secret in text] == []
