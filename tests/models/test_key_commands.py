"""Keys that a command prints: when it is run, and that nothing of what it prints is shown."""

from __future__ import annotations

import asyncio
import shlex
import sys
from pathlib import Path

import pytest

from equipoise.errors import InputError
from equipoise.models.chat.model import make_chat_model
from equipoise.models.protocol import Refused, Reply
from serving.asking import Outcome, always, ask, outcome_of
from serving.faults import Fault
from serving.faulty import FaultyServer

FIRST = "first-key-0123456789"
SECOND = "second-key-0123456789"
THIRD = "third-key-0123456789"


def printing(tmp_path: Path, *keys: str) -> str:
    """A command that prints one key after the other, the last one again and again."""
    code = (
        "import pathlib, sys\n"
        "count = pathlib.Path(sys.argv[1])\n"
        "n = len(count.read_text()) if count.exists() else 0\n"
        "count.write_text('x' * (n + 1))\n"
        "print(sys.argv[2:][min(n, len(sys.argv) - 3)])\n"
    )
    return shlex.join([sys.executable, "-c", code, str(tmp_path / "count"), *keys])


def runs(tmp_path: Path) -> int:
    """How often the command was run."""
    return len((tmp_path / "count").read_text())


def key_of(server: FaultyServer) -> str:
    """The key of the last request."""
    return server.received[-1].headers["Authorization"].removeprefix("Bearer ")


class Expiring(FaultyServer):
    """A server that takes only some keys, each for a number of requests."""

    def __init__(self, accepted: dict[str, int]) -> None:
        super().__init__(self._behave)
        self._accepted = accepted

    def _behave(self, prompt: str, nth: int) -> Fault | str:
        key = key_of(self)
        self._accepted[key] = self._accepted.get(key, 0) - 1
        return "She." if self._accepted[key] >= 0 else Fault.ECHO_401


def test_the_command_is_run_again_when_its_key_is_refused(tmp_path: Path) -> None:
    async def ask_in_turn() -> list[Outcome]:
        async with model:
            return [await outcome_of(model, f"Who {number}?") for number in range(5)]

    command = printing(tmp_path, FIRST, SECOND)
    with Expiring({FIRST: 2, SECOND: 99}) as server:
        model = make_chat_model("custom/m", base_url=server.url, environ={}, key_command=command)
        outcomes = asyncio.run(ask_in_turn())
    assert [reply.answer for reply in outcomes if isinstance(reply, Reply)] == ["She."] * 5
    assert runs(tmp_path) == 2
    assert "0123456789" not in repr((model, model.settings, model.notes, outcomes))


@pytest.mark.parametrize("taken", [0, 2])
def test_requests_that_are_refused_together_share_one_run(taken: int, tmp_path: Path) -> None:
    command = printing(tmp_path, FIRST, SECOND)
    with Expiring({FIRST: taken, SECOND: 99}) as server:
        model = make_chat_model("custom/m", base_url=server.url, environ={}, key_command=command)
        outcomes = ask(model, *(f"Who {number}?" for number in range(8)))
    assert [reply.answer for reply in outcomes if isinstance(reply, Reply)] == ["She."] * 8
    assert runs(tmp_path) == 2
    assert "0123456789" not in repr((model, model.settings, model.notes, outcomes))


@pytest.mark.parametrize("keys", [(FIRST,), (FIRST, SECOND, THIRD)])
def test_keys_that_never_work_end_the_run(keys: tuple[str, ...], tmp_path: Path) -> None:
    command = printing(tmp_path, *keys)
    with Expiring({}) as server:
        model = make_chat_model("custom/m", base_url=server.url, environ={}, key_command=command)
        [refusal] = ask(model)
    assert isinstance(refusal, Refused)
    assert "The key was refused; it came from the key command." in str(refusal)
    assert runs(tmp_path) == 2
    assert "0123456789" not in repr((model, model.settings, model.notes, refusal))
    assert "0123456789" not in str(refusal)


@pytest.mark.fault("S22")
@pytest.mark.parametrize(
    "code",
    [
        pytest.param("print('canary-1'); raise SystemExit(3)", id="it fails"),
        pytest.param("print('')", id="nothing"),
        pytest.param("print('two canary words')", id="two words"),
        pytest.param("print('canary\\nlines')", id="two lines"),
        pytest.param("while True: print('canary' * 1000, flush=True)", id="without end"),
    ],
)
def test_a_command_that_prints_no_key_ends_in_a_message(code: str) -> None:
    with FaultyServer() as server:
        command = shlex.join([sys.executable, "-c", code])
        model = make_chat_model("custom/m", base_url=server.url, environ={}, key_command=command)
        with pytest.raises(Refused, match="must print the key and nothing else") as problem:
            ask(model)
        assert server.total == 0
    assert "canary" not in str(problem.value)


@pytest.mark.fault("S22")
def test_a_command_that_hangs_ends_in_a_message(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("equipoise.models.programs.KEY_SECONDS", 0.3)
    code = "import time; print('canary', flush=True); time.sleep(600)"
    with FaultyServer() as server:
        command = shlex.join([sys.executable, "-c", code])
        model = make_chat_model("custom/m", base_url=server.url, environ={}, key_command=command)
        with pytest.raises(Refused, match=r"within 0\.3 s") as problem:
            ask(model)
        assert server.total == 0
    assert "canary" not in str(problem.value)


@pytest.mark.parametrize(
    "command", ["", "  ", "echo 'x", "no-such-command-here x"], ids=["empty", "blank", "quote", "unknown"]
)
def test_a_command_that_cannot_be_run_is_refused_before_anything_is_sent(command: str) -> None:
    with pytest.raises(InputError, match="The key command"):
        make_chat_model("custom/m", base_url="http://127.0.0.1:9/v1", environ={}, key_command=command)


def test_there_is_no_shell(tmp_path: Path) -> None:
    code = "import sys; print(sys.argv[1][:1] + '-key-0123456789')"
    command = f"{shlex.join([sys.executable, '-c', code])} $HOME;touch {tmp_path}/x"
    with FaultyServer(always("She.")) as server:
        model = make_chat_model("custom/m", base_url=server.url, environ={}, key_command=command)
        assert isinstance(ask(model)[0], Reply)
        assert key_of(server) == "$-key-0123456789"
    assert not (tmp_path / "x").exists()
