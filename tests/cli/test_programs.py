"""Programs and Python functions as models: asked, cut off, resumed, and never run because a file says so."""

from __future__ import annotations

import asyncio
import os
import shlex
import signal
import sys
from pathlib import Path

import pytest

from calling import Command, output
from equipoise.errors import InputError
from equipoise.models import programs
from equipoise.models.protocol import Reply
from equipoise.runs.run import Run
from equipoise.schema import Status
from equipoise.settings import Settings
from runs.killable import wait_until


def ask(code: str, deadline: float = 60.0, prompt: str = "Go?") -> Reply:
    model = programs.open_program(f"command:{shlex.join([sys.executable, '-c', code])}", deadline)
    return asyncio.run(model.answer(prompt))


READ = "import sys; text = sys.stdin.read(); "
ANSWERS = [
    (READ + "print('Yes, ' + text)", Status.OK, "Yes, Go?", None),
    ("print('Yes.')", Status.OK, "Yes.", None),  # a program need not read its prompt
    (READ + "sys.exit('no key')", Status.MALFORMED, None, "exit code 1: no key"),
    (READ, Status.EMPTY, None, None),
    (READ + "sys.stdout.buffer.write(b'a\\xff')", Status.MALFORMED, None, "byte 1 is not part"),
    ("import time; time.sleep(600)", Status.TIMEOUT, None, "took over"),
    ("while True: print('x' * 10_000)", Status.TOO_LARGE, None, "over 1,000,000 bytes"),
    ("import sys; sys.stderr.write('e' * 10_000_000); print('Yes.')", Status.OK, "Yes.", None),
]


@pytest.mark.fault("E29")
@pytest.mark.parametrize(("code", "status", "answer", "detail"), ANSWERS, ids=[code[-30:] for code, *_ in ANSWERS])
def test_what_a_program_does_becomes_an_answer_or_a_named_failure(
    code: str,
    status: Status,
    answer: str | None,
    detail: str | None,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(programs, "MAX_ANSWER_BYTES", 1_000_000)
    reply = ask(code, deadline=1.0 if status is Status.TIMEOUT else 60.0)
    assert (reply.status, reply.answer) == (status, answer)
    assert (detail or "") in (reply.detail or "")


def test_a_large_prompt_reaches_a_program_that_writes_while_it_reads() -> None:
    reply = ask(
        "import sys\nfor line in sys.stdin: print(line, end='')",
        prompt="x" * 99 + "\n" + "line\n" * 40_000,
    )
    assert reply.answer is not None
    assert len(reply.answer) == 99 + 5 * 40_000


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("command:no-such-program-here", "no program 'no-such-program-here'"),
        ("command:", "no program ''"),
        ("command:'open", "cannot be read"),
        ("no_such_module:answer", "cannot be imported"),
        ("json:nothing", "has no attribute 'nothing'"),
        ("json:__name__", "not a function"),
    ],
)
def test_what_cannot_be_run_is_refused_before_anything_is_asked(name: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        programs.open_program(name, 60.0)


PIPELINE = "import sys\nprint('Yes.' if ' his ' in sys.stdin.read() else 'No.')\n"
TABLE = "prompt,pair,arm\n" + "".join(
    f"Is it {word} turn {number}?,{number},{who}\n"
    for number in range(12)
    for word, who in (("his", "man"), ("her", "woman"))
)
OWN = ("--pairs", "going.csv", "--read", "decision", "-o", "run.equipoise")


@pytest.fixture(params=["command", "function"])
def target(
    request: pytest.FixtureRequest,
    command: Command,
    monkeypatch: pytest.MonkeyPatch,
) -> str:
    """The name of a pipeline in the current folder, as a user types it."""
    Path("going.csv").write_text(TABLE)
    if request.param == "command":
        Path("pipeline.py").write_text(PIPELINE)
        return f"command:{sys.executable} pipeline.py"
    Path("my_pipeline.py").write_text("def answer(prompt):\n    return 'Yes.' if ' his ' in prompt else 'No.'\n")
    monkeypatch.delitem(sys.modules, "my_pipeline", raising=False)
    return "my_pipeline:answer"


def test_a_pipeline_is_audited_cut_off_by_its_budget_and_resumed(
    target: str,
    command: Command,
) -> None:
    cut = command("run", target, *OWN, "--max-requests", 6)
    assert cut.code == 4, cut.err
    resumed = output(command("resume", "run.equipoise"))
    assert "going difference is 1.000" in resumed
    assert "going difference is 1.000" in output(command("show", "run.equipoise"))


@pytest.mark.fault("S28")
def test_a_received_run_file_does_not_decide_what_is_run(target: str, command: Command) -> None:
    assert command("run", target, *OWN, "--max-requests", 6).code == 4
    for approved in Settings.load().config.glob("*.json"):
        approved.unlink()  # as on another machine
    refused = command("resume", "run.equipoise")
    assert refused.code == 2
    assert "A file cannot decide that" in refused.err
    assert f"--model {shlex.quote(target)}" in refused.err
    assert Run.open("run.equipoise").counts[Status.OK] == 6, "nothing was run"
    named = output(command("resume", "run.equipoise", "--model", target))
    assert "going difference is 1.000" in named


@pytest.mark.fault("S28")
def test_a_budget_holds_each_time_a_pipeline_is_resumed(target: str, command: Command) -> None:
    assert command("run", target, *OWN, "--max-requests", 6).code == 4
    assert command("resume", "run.equipoise", "--max-requests", 3).code == 4
    assert Run.open("run.equipoise").counts[Status.OK] == 9


LEAVES_A_CHILD = """
import subprocess, sys
child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"], {options})
open({noted!r}, "w").write(str(child.pid))
print("Yes.", flush=True)
"""


def is_running(pid: int) -> bool:
    """Whether a process is there, and not only the memory of one that nobody has asked about."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return False
    return state != "Z"


@pytest.mark.skipif(sys.platform != "linux", reason="Processes are looked up in /proc.")
@pytest.mark.fault("E29")
@pytest.mark.parametrize(
    "options", ["", "stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL"], ids=["holds", "closed"]
)
def test_a_child_that_a_program_leaves_behind_is_ended_and_not_waited_for(options: str, tmp_path: Path) -> None:
    """It may hold the output open, or not; the end of the program ends the answer."""
    noted = tmp_path / "pid"
    reply = ask(LEAVES_A_CHILD.format(options=options, noted=str(noted)), deadline=60.0)
    assert (reply.status, reply.answer) == (Status.OK, "Yes.")
    wait_until(lambda: not is_running(int(noted.read_text())))


@pytest.mark.skipif(sys.platform != "linux", reason="Processes are looked up in /proc.")
@pytest.mark.fault("E29")
def test_a_child_in_a_session_of_its_own_is_not_waited_for(tmp_path: Path) -> None:
    noted = tmp_path / "pid"
    reply = ask(LEAVES_A_CHILD.format(options="start_new_session=True", noted=str(noted)), deadline=60.0)
    os.kill(int(noted.read_text()), signal.SIGKILL)
    assert (reply.status, reply.answer) == (Status.OK, "Yes.")


@pytest.mark.fault("E29")
def test_a_failure_names_the_program() -> None:
    reply = ask("raise SystemExit(3)")
    assert (reply.detail or "").startswith(f"{Path(sys.executable).name}: exit code 3")
