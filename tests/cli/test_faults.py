"""The catalogue of faults, met by the real command over real HTTP: state, message and exit code of every row."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from calling import exit_code
from equipoise.frames import Status
from equipoise.run import Run
from serving.asking import KEY, found
from serving.faults import Fault
from serving.faulty import Behaviour, FaultyServer, sealed

PROMPTS = 12
Command = Callable[..., "Outcome"]


@dataclass(frozen=True, kw_only=True)
class Outcome:
    code: int
    out: str
    err: str


@pytest.fixture
def equipoise(monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str], tmp_path: Path) -> Command:
    """The command as a user types it, in an empty folder."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("OPENAI_API_KEY", KEY)

    def run(*words: str) -> Outcome:
        code = exit_code(monkeypatch, *words)
        out, err = capfd.readouterr()
        return Outcome(code=code, out=out, err=err)

    return run


def ask(server: FaultyServer, *more: str) -> list[str]:
    where = ["--base-url", server.url, "--probe", "jobs_lum", "--sample", str(PROMPTS), "--out", "run.equipoise"]
    return ["run", "openai/test", *where, "--deadline", "20", *more]


def always(fault: Fault) -> Behaviour:
    return lambda prompt, nth: fault


def at_first(fault: Fault) -> Behaviour:
    """One prompt of the sample meets the fault when it is asked first."""
    return lambda prompt, nth: fault if nth == 1 and "babysitter" in prompt else sealed(prompt)


def for_babysitters(fault: Fault) -> Behaviour:
    """One prompt of the sample meets the fault every time, the others never."""
    return lambda prompt, nth: fault if "babysitter" in prompt else sealed(prompt)


# What ends with one attempt in a state of its own, and with too much missing: exit 3.
LOST = [
    ("E4", Fault.SERVER_500, Status.HTTP_ERROR),
    ("E4", Fault.UNAVAILABLE_503, Status.HTTP_ERROR),
    ("E4", Fault.OVERLOADED_529, Status.HTTP_ERROR),
    ("E5", Fault.HTML_502, Status.HTTP_ERROR),
    ("E6", Fault.SLOW, Status.TIMEOUT),
    ("E7", Fault.SILENT, Status.TIMEOUT),
    ("E8", Fault.SHORT_BODY, Status.HTTP_ERROR),
    ("E9", Fault.INVALID_JSON, Status.MALFORMED),
    ("E10", Fault.ERROR_IN_200, Status.HTTP_ERROR),
    ("E10", Fault.NO_CHOICES, Status.MALFORMED),
    ("E11", Fault.NULL_CONTENT, Status.EMPTY),
    ("E11", Fault.EMPTY_CONTENT, Status.EMPTY),
    ("E11", Fault.NULL_FILTERED, Status.FILTERED),
    ("E12", Fault.LENGTH_IN_THOUGHT, Status.EMPTY),
    ("E14", Fault.FILTERED_200, Status.FILTERED),
    ("E14", Fault.FILTERED_400, Status.FILTERED),
    ("E15", Fault.HUGE, Status.TOO_LARGE),
    ("E15", Fault.GZIP_BOMB, Status.TOO_LARGE),
    ("E18", Fault.CONTEXT_LENGTH, Status.CONTEXT_LENGTH),
]
ASKED_ONCE = {Status.FILTERED, Status.CONTEXT_LENGTH, Status.TOO_LARGE, Status.EMPTY}


@pytest.mark.parametrize(("row", "fault", "state"), LOST, ids=[f"{row}-{fault}" for row, fault, _ in LOST])
def test_a_lost_attempt_has_a_reason(equipoise: Command, row: str, fault: Fault, state: Status) -> None:
    patience = ["--deadline", "1.5"] if state == Status.TIMEOUT else []
    with FaultyServer(for_babysitters(fault)) as server:
        done = equipoise(*ask(server, "--tries", "2", *patience))
    run = Run.open("run.equipoise")
    assert run.counts[state] == 1
    assert run.counts[Status.OK] == PROMPTS - 1
    assert sum(run.counts.values()) == PROMPTS
    assert done.code == 3
    assert f"1 {state}" in done.err
    lost = run.attempts().filter(status=state)
    assert lost["answer"].to_list() == [None]
    assert lost["detail"].to_list() != [None]
    [asked] = [count for prompt, count in server.requests.items() if "babysitter" in prompt]
    assert asked == 1 if state in ASKED_ONCE else asked >= (1 if state == Status.TIMEOUT else 2)


HEALED = [
    ("E1", Fault.RATE_LIMIT_SECONDS),
    ("E1", Fault.RATE_LIMIT_MILLISECONDS),
    ("E2", Fault.RATE_LIMIT),
    ("E8", Fault.RESET),
    ("E8", Fault.HANG_UP),
    ("E9", Fault.INVALID_JSON),
]


@pytest.mark.parametrize(("row", "fault"), HEALED, ids=[f"{row}-{fault}" for row, fault in HEALED])
def test_what_passes_is_asked_again(equipoise: Command, row: str, fault: Fault) -> None:
    with FaultyServer(at_first(fault), wait=0.2) as server:
        done = equipoise(*ask(server))
    run = Run.open("run.equipoise")
    assert done.code == 0, done.err
    assert run.counts[Status.OK] == PROMPTS
    assert server.total >= PROMPTS + 1


REFUSED = [
    ("E3", Fault.QUOTA_402, "quota, not rate limit"),
    ("E3", Fault.QUOTA_429, "quota, not rate limit"),
    ("E16", Fault.UNAUTHORIZED_401, "OPENAI_API_KEY"),
    ("E16", Fault.FORBIDDEN_403, "OPENAI_API_KEY"),
    ("E17", Fault.UNKNOWN_MODEL_404, "openai/test"),
    ("E21", Fault.REDIRECT, "redirect"),
]


@pytest.mark.parametrize(("row", "fault", "word"), REFUSED, ids=[f"{row}-{fault}" for row, fault, _ in REFUSED])
def test_a_refusal_costs_one_request(equipoise: Command, row: str, fault: Fault, word: str) -> None:
    with FaultyServer(always(fault)) as server:
        done = equipoise(*ask(server))
    assert done.code == 4
    assert server.total == 1
    assert word in done.err
    assert "run.equipoise" in done.err
    assert "equipoise resume run.equipoise" in done.err
    assert Run.open("run.equipoise").counts[Status.PENDING] == PROMPTS


def test_e1_too_long_a_wait_ends_the_run(equipoise: Command) -> None:
    with FaultyServer(always(Fault.RATE_LIMIT_SECONDS), wait=1200) as server:
        done = equipoise(*ask(server))
    assert done.code == 4
    assert "20 min" in done.err
    assert "equipoise resume run.equipoise" in done.err


def test_e12_truncated_answers_are_measured(equipoise: Command) -> None:
    with FaultyServer(always(Fault.LENGTH)) as server:
        done = equipoise(*ask(server))
    assert done.code == 0
    assert Run.open("run.equipoise").counts[Status.TRUNCATED] == PROMPTS
    assert f"{PROMPTS} truncated" in done.out


def test_e13_an_unknown_finish_reason_is_said_once(equipoise: Command) -> None:
    with FaultyServer(always(Fault.ODD_FINISH)) as server:
        done = equipoise(*ask(server))
    assert done.code == 0
    reasons = Run.open("run.equipoise").attempts()["finish_reason"].unique()
    assert len(reasons) == 1
    assert done.err.count(str(reasons[0])) == 1


def test_e19_the_same_4xx_again_and_again_ends_the_run(equipoise: Command) -> None:
    with FaultyServer(always(Fault.TEAPOT_418)) as server:
        done = equipoise(*ask(server, "--sample", "300"))
    assert done.code == 4
    assert "418" in done.err
    assert server.total < 60


def test_e20_another_model_is_recorded_and_said(equipoise: Command) -> None:
    with FaultyServer(always(Fault.OTHER_MODEL)) as server:
        done = equipoise(*ask(server))
    assert done.code == 0
    [served] = Run.open("run.equipoise").attempts()["served_model"].unique()
    assert served != "test"
    assert str(served) in done.err
    assert str(served) in equipoise("show", "run.equipoise").out


def test_e22_nothing_listens(equipoise: Command) -> None:
    with FaultyServer() as server:
        pass
    done = equipoise(*ask(server))
    assert done.code == 4
    assert "cannot connect" in done.err
    assert "equipoise resume run.equipoise" in done.err


@pytest.mark.parametrize(
    "budget", [("--max-requests", "5"), ("--max-tokens-total", "200"), ("--max-cost", "0.0002", "--price", "1,1")]
)
def test_e23_a_budget_stops_and_resuming_completes(equipoise: Command, budget: tuple[str, ...]) -> None:
    with FaultyServer() as server:
        done = equipoise(*ask(server, "--concurrency", "1", *budget))
        asked = server.total
        again = equipoise("resume", "run.equipoise")
    assert done.code == 4
    assert "equipoise resume run.equipoise" in done.err
    assert 0 < asked < PROMPTS
    assert again.code == 0
    assert server.total == PROMPTS
    assert set(server.requests.values()) == {1}


def test_u4_a_missing_key_is_named(equipoise: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY")
    done = equipoise("run", "openai/gpt-4o-mini", "--probe", "jobs_lum")
    assert done.code == 2
    assert "OPENAI_API_KEY" in done.err
    assert list(Path().glob("*.equipoise*")) == []


USER = [
    ("U1-provider", ["run", "opnai/gpt-4o"], 2, "openai"),
    ("U1-probe", ["run", "openai/x", "--probe", "jobs_lam"], 2, "jobs_lum"),
    ("U1-suite", ["run", "openai/x", "--suite", "quik"], 2, "quick"),
    ("U2", ["run", "openai/x", "--probe", "jobs_lum", "--set", "template=Hi {jb}"], 2, "{job}"),
    ("U3-zero", ["run", "openai/x", "--probe", "jobs_lum", "--sample", "0"], 2, "339"),
    ("U3-large", ["run", "openai/x", "--probe", "jobs_lum", "--sample", "340"], 2, "339"),
    ("U5", ["run", "openai/x", "--probe", "jobs_lum", "--out", "no/such/folder/run.equipoise"], 5, "no/such/folder"),
    ("S6", ["run", "openai/x", "--probe", "jobs_lum", "--base-url", "http://192.0.2.1/v1"], 2, "--allow-insecure"),
    ("S11", ["run", "openai/x", "--probe", "jobs_lum", "--set", "template={job.__class__}"], 2, "plain name"),
    ("U7-no-run", ["show", "not-a-run.equipoise"], 6, "not-a-run.equipoise"),
    ("no-file", ["resume", "nothing.equipoise"], 2, "nothing.equipoise"),
    ("price", ["run", "openai/x", "--max-cost", "1"], 2, "--price"),
    ("extra", ["run", "openai/x", "--extra", "[1]"], 2, "JSON object"),
]


@pytest.mark.parametrize(("row", "words", "code", "hint"), USER, ids=[row for row, *_ in USER])
def test_wrong_input_is_told_before_anything_is_sent(
    equipoise: Command, row: str, words: list[str], code: int, hint: str
) -> None:
    Path("not-a-run.equipoise").write_text("SQLite format 3, or so it says")
    done = equipoise(*words)
    assert done.code == code, done.err
    assert hint in done.err
    assert done.err.startswith("error: ")
    assert done.out == ""


def test_u6_other_settings_are_refused_field_by_field(equipoise: Command) -> None:
    with FaultyServer() as server:
        equipoise(*ask(server, "--max-requests", "3"))
        before = server.total
        done = equipoise(*ask(server, "--temperature", "0.3", "--seed", "5"))
        assert server.total == before
    assert done.code == 6
    assert "temperature: was null, is 0.3" in done.err
    assert "random_seed: was 0, is 5" in done.err


def test_u6_the_same_settings_go_on(equipoise: Command) -> None:
    with FaultyServer() as server:
        equipoise(*ask(server, "--max-requests", "3"))
        done = equipoise(*ask(server))
    assert done.code == 0
    assert server.total == PROMPTS


def test_u8_a_finished_run_asks_nothing(equipoise: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    with FaultyServer() as server:
        equipoise(*ask(server))
    monkeypatch.delenv("OPENAI_API_KEY")
    done = equipoise("resume", "run.equipoise")
    assert done.code == 0
    assert server.total == PROMPTS


@pytest.mark.parametrize("fault", [Fault.ECHO_401, Fault.ECHO_500, Fault.ECHO_MALFORMED, Fault.ECHO_ANSWER])
def test_s4_s13_the_key_reaches_no_file_and_no_message(equipoise: Command, fault: Fault, tmp_path: Path) -> None:
    with FaultyServer(always(fault)) as server:
        done = equipoise(*ask(server, "--tries", "1"))
        shown = equipoise("show", "run.equipoise", "--json")
    assert server.seen[0].headers["Authorization"] == f"Bearer {KEY}"
    texts = [done.out, done.err, shown.out, shown.err]
    texts += [path.read_bytes().decode("latin-1") for path in tmp_path.rglob("*") if path.is_file()]
    assert [text for text in texts if found(text)] == []


def test_s5_a_password_in_the_address_is_not_kept(equipoise: Command, tmp_path: Path) -> None:
    secret = "hunter2-canary-value"
    with FaultyServer() as server:
        url = server.url.replace("http://", f"http://user:{secret}@")
        done = equipoise(*ask(server, "--base-url", url))
    assert done.code == 0, done.err
    texts = [done.out, done.err, *(path.read_bytes().decode("latin-1") for path in tmp_path.rglob("*.equipoise*"))]
    assert [text for text in texts if secret in text] == []


def rows() -> Iterator[str]:
    """Every row of the catalogue; `shared/faults.md` of the project is where they are described."""
    yield from (f"E{n}" for n in range(1, 25))
    yield from ("P1", "P2", "P3", "P4", "P5", "P6", "P7", "P8", "P11", "P13")
    yield from (f"D{n}" for n in (1, 2, 3, 4, 5, 6, 7, 8, 9, 11, 12, 13))
    yield from (f"U{n}" for n in (1, 2, 3, 4, 5, 6, 7, 8, 10))
    yield from ("S1", "S2", "S3", "S4", "S5", "S6", "S7", "S10", "S11", "S12", "S13", "S15")


def test_every_row_of_the_catalogue_has_a_test() -> None:
    tests = "\n".join(path.read_text(encoding="utf-8") for path in Path(__file__).parents[1].rglob("test_*.py"))
    tests = tests.replace(Path(__file__).read_text(encoding="utf-8").partition("def rows()")[2], "")
    missing = [row for row in rows() if not re.search(rf"(?i)(\b|_){row}(\b|_|-)", tests)]
    assert missing == []
