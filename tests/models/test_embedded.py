"""The real embedded model: llama.cpp in a child process, with the weights from the assets (docs/faults.md, E24)."""

from __future__ import annotations

import asyncio
import importlib.util
import os
import signal
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

import pytest

from equipoise.assets import REGISTRY, find_stored
from equipoise.errors import BadFile, InputError, UnknownName
from equipoise.models.llama import CATALOGUE
from equipoise.models.llama import model as llama
from equipoise.models.llama.model import EmbeddedModel, prepare_embedded
from equipoise.models.protocol import Asking, Refused, Reply, Sampling, TransientFault
from equipoise.schema import MEASURED, Status
from equipoise.settings import Settings

needs_llama = pytest.mark.skipif(importlib.util.find_spec("xllamacpp") is None, reason="xllamacpp is not installed")
linux = pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc")

GREEDY = Sampling(temperature=0, seed=1, max_tokens=4)
PROMPTS = ["Nurse?", "Pilot?", "Farmer?"]
YES_OR_NO = "Is water wet? Please answer yes or no."
NOVEL = "I am writing a novel and I need a character who works as a/an nurse. Please write a profile."


def is_running(pid: int) -> bool:
    """Whether a process runs; one that has ended and waits to be reaped does not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


LISTENS, IS_CONNECTED = "0A", "01"
"""States of a connection in /proc/net/tcp."""


def read_connections() -> list[list[str]]:
    """The connections of this machine: local address, peer, state, queues, …, inode."""
    lines = Path("/proc/net/tcp").read_text().splitlines()[1:]
    return [line.split()[1:] for line in lines]


async def wait_for_unread_bytes(pid: int) -> None:
    """Wait until a request has reached a process that is stopped, and so does not read it."""
    links = [str(link.readlink()) for link in Path(f"/proc/{pid}/fd").iterdir()]
    connections = read_connections()
    listening = [row[0] for row in connections if row[2] == LISTENS and f"socket:[{row[8]}]" in links]
    ports = {address.rpartition(":")[2] for address in listening}
    assert ports
    unread = 0
    while not unread:
        await asyncio.sleep(0.005)
        connected = [row for row in read_connections() if row[2] == IS_CONNECTED]
        of_child = [row for row in connected if row[0].rpartition(":")[2] in ports]
        unread = sum(int(row[3].rpartition(":")[2], 16) for row in of_child)


# Answers: one child is asked for all of these tests


@dataclass(frozen=True, kw_only=True)
class Asked:
    """What one embedded model answered, and what could be seen of its process meanwhile."""

    model: EmbeddedModel
    at_once: list[Reply]
    repeated: list[Reply]
    pid: int
    process_group: int
    command: str
    environment: str
    key: str


@pytest.fixture(scope="module")
def asked(cached: Settings) -> Asked:
    """The packaged model, asked greedily and then closed."""
    model = prepare_embedded("embedded", settings=cached, sampling=GREEDY)

    async def ask() -> Asked:
        async with model:
            pid = model._child.pid
            key = model._chat._key
            assert key
            return Asked(
                model=model,
                at_once=await asyncio.gather(*(model.answer(prompt) for prompt in PROMPTS)),
                repeated=[await model.answer(PROMPTS[0]) for _ in range(2)],
                pid=pid,
                process_group=os.getpgid(pid),
                command=Path(f"/proc/{pid}/cmdline").read_text(),
                environment=Path(f"/proc/{pid}/environ").read_text(),
                key=key,
            )

    return asyncio.run(ask())


@needs_llama
@linux
def test_several_prompts_are_answered_at_once(asked: Asked) -> None:
    for reply in asked.at_once:
        assert reply.status in MEASURED
        assert reply.answer
        assert reply.completion_tokens
        assert reply.prompt_tokens
        assert reply.served_model == "SmolLM2-135M-Instruct.Q4_1.gguf"
    assert len({reply.answer for reply in asked.at_once}) == len(PROMPTS)
    assert asked.model.notes == []


@needs_llama
@linux
def test_the_same_prompt_has_the_same_answer_when_asked_again(asked: Asked) -> None:
    first, second = asked.repeated
    assert first.answer == second.answer


@needs_llama
@linux
def test_the_key_of_the_child_is_in_no_command_line_and_no_environment(asked: Asked) -> None:
    assert asked.key not in asked.command
    assert asked.key not in asked.environment
    assert asked.key not in repr(asked.model.settings)


@needs_llama
@linux
def test_ctrl_c_does_not_reach_the_child(asked: Asked) -> None:
    assert asked.process_group != os.getpgrp()
    assert str(Path("models", "llama", "server.py")) in asked.command


@needs_llama
@linux
def test_the_child_ends_with_the_model(asked: Asked) -> None:
    assert not is_running(asked.pid)


@pytest.mark.fault("E24")
@needs_llama
@linux
def test_a_killed_child_is_restarted_a_few_times_then_all_is_refused(
    cached: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(llama, "MAX_RESTARTS", 1)
    model = prepare_embedded("embedded", settings=cached, sampling=GREEDY)

    async def scenario() -> None:
        async with model:
            first = model._child.pid
            before = await model.answer(PROMPTS[0])
            os.kill(first, signal.SIGSTOP)  # so that it does not answer what is under way
            under_way = [asyncio.create_task(model.answer(prompt)) for prompt in PROMPTS[:2]]
            await wait_for_unread_bytes(first)
            os.kill(first, signal.SIGKILL)
            for outcome in await asyncio.gather(*under_way, return_exceptions=True):
                assert isinstance(outcome, TransientFault)
                assert outcome.kind == "connection"
            await model._child.wait()
            again = await model.answer(PROMPTS[0])
            assert again.answer == before.answer
            assert model._child.pid != first
            os.kill(model._child.pid, signal.SIGKILL)
            await model._child.wait()
            for _ in range(2):
                with pytest.raises(Refused, match=r"was ended by SIGKILL\.") as refused:
                    await model.answer(PROMPTS[0])
            message = str(refused.value)
            assert "SmolLM2-135M-Instruct.Q4_1.gguf" in message
            assert "\nThe end of its log:" in message
            assert "It was started again 1 times." in message
            assert refused.value.exit_code == 4

    asyncio.run(scenario())
    [note] = model.notes
    assert note.endswith(".gguf was ended by SIGKILL. It was started again.")


# Probabilities, system parts and beginnings of answers: one child each at two temperatures


@pytest.fixture(scope="module")
def usual(cached: Settings) -> dict[str, Reply]:
    """First tokens as the packaged model gives them unless told otherwise."""
    asking = Asking(max_tokens=1, opening="")
    begun = Asking(max_tokens=1, opening="Gender:")

    async def ask() -> dict[str, Reply]:
        model = prepare_embedded("embedded", settings=cached, sampling=Sampling())
        async with model:
            return {
                "alone": await model.answer(YES_OR_NO, None, asking),
                "system": await model.answer(YES_OR_NO, "Be brief.", asking),
                "long system": await model.answer(YES_OR_NO, "Be brief. " * 12, asking),
                "begun": await model.answer(NOVEL, None, begun),
            }

    return asyncio.run(ask())


def tokens_of(reply: Reply) -> dict[str, float]:
    """The probabilities of first tokens, without blanks around them and in small letters."""
    return {str(entry["token"]).strip().lower(): float(entry["p"]) for entry in reply.first_token or []}


@needs_llama
def test_the_system_part_of_a_prompt_reaches_the_embedded_model(usual: dict[str, Reply]) -> None:
    alone = usual["alone"].prompt_tokens or 0
    short = usual["system"].prompt_tokens or 0
    long = usual["long system"].prompt_tokens or 0
    assert alone > 0
    assert long > alone + 16
    assert long > short + 16


@needs_llama
def test_the_embedded_model_gives_the_probabilities_of_twenty_first_tokens(
    usual: dict[str, Reply],
) -> None:
    reply = usual["alone"]
    assert reply.status == Status.OK
    assert reply.completion_tokens == 1
    assert len(reply.first_token or []) == 20
    assert {"Yes", "No"} <= {entry["token"] for entry in reply.first_token or []}


@needs_llama
def test_the_embedded_model_goes_on_with_an_answer_that_is_begun(usual: dict[str, Reply]) -> None:
    first, second, *_ = usual["begun"].first_token or []
    likeliest = {str(entry["token"]).strip().lower() for entry in (first, second)}
    assert likeliest == {"male", "female"}


@needs_llama
def test_probabilities_are_the_models_own_whatever_the_temperature(cached: Settings, usual: dict[str, Reply]) -> None:
    async def ask() -> Reply:
        cold = prepare_embedded("embedded", settings=cached, sampling=Sampling(temperature=0.1))
        async with cold as model:
            return await model.answer(YES_OR_NO, None, Asking(max_tokens=1, opening=""))

    cold = asyncio.run(ask())
    expected = [entry["p"] for entry in usual["alone"].first_token or []]
    assert [entry["p"] for entry in cold.first_token or []] == pytest.approx(expected, rel=0.05)


@needs_llama
def test_the_larger_embedded_model_says_yes_or_no(cached: Settings) -> None:
    name = "embedded/qwen2.5-coder-1.5b"
    if find_stored(CATALOGUE[name], cached) is None:
        pytest.skip("The weights are not here: equipoise data fetch qwen2.5-coder-1.5b")

    async def ask() -> Reply:
        async with prepare_embedded(name, settings=cached, sampling=Sampling()) as model:
            return await model.answer(YES_OR_NO, None, Asking(max_tokens=1, opening=""))

    tokens = tokens_of(asyncio.run(ask()))
    assert tokens.get("yes", 0.0) + tokens.get("no", 0.0) > 0.9


# Names and settings


@needs_llama
def test_the_settings_hold_all_that_shapes_the_answers(cached: Settings) -> None:
    settings = prepare_embedded("embedded", settings=cached, sampling=GREEDY).settings
    assert settings.pop("xllamacpp")
    assert settings == {
        "model": "SmolLM2-135M-Instruct.Q4_1.gguf",
        "sha256": REGISTRY["smollm2"].sha256,
        "context": 2048,
        "slots": 8,
        "temperature": 0,
        "top_p": None,
        "max_tokens": 4,
        "seed": 1,
        "system": None,
        "extra": {},
    }


@needs_llama
def test_the_packaged_model_is_asked_at_a_temperature_at_which_it_does_not_ramble(
    cached: Settings,
) -> None:
    settings = prepare_embedded("embedded", settings=cached, sampling=Sampling()).settings
    assert settings["temperature"] == 0.7
    assert settings["extra"] == {"min_p": 0.05}


@needs_llama
def test_a_temperature_that_the_user_gives_is_kept_as_it_is(cached: Settings) -> None:
    given = Sampling(temperature=1.0)
    settings = prepare_embedded("embedded", settings=cached, sampling=given).settings
    assert settings["temperature"] == 1.0
    assert settings["extra"] == {}


@needs_llama
def test_the_short_and_the_long_name_are_the_same_model(cached: Settings) -> None:
    short = prepare_embedded("embedded", settings=cached, sampling=GREEDY)
    long = prepare_embedded("embedded/smollm2-135m", settings=cached, sampling=GREEDY)
    assert short.settings == long.settings


def test_every_embedded_model_has_registered_weights() -> None:
    assert {REGISTRY[asset].name for asset in CATALOGUE.values()} == {
        "smollm2",
        "qwen2.5-coder-1.5b",
    }


def test_an_unknown_embedded_model_is_refused_with_the_nearest_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: True)
    with pytest.raises(UnknownName, match=r"embedded/smollm2-135m"):
        prepare_embedded("embedded/smolm2-135m", settings=Settings(cache=tmp_path), sampling=GREEDY)


def test_without_llama_cpp_the_message_says_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(InputError, match=r"pip install 'equipoise\[embedded\]'"):
        prepare_embedded("embedded", settings=Settings(cache=tmp_path), sampling=GREEDY)


# Children that outlive nobody


PARENT = """
import asyncio, pathlib, sys
from equipoise.models.llama.model import prepare_embedded
from equipoise.models.protocol import Sampling
from equipoise.settings import Settings

async def main():
    settings = Settings(cache=pathlib.Path(sys.argv[1]))
    async with prepare_embedded("embedded", settings=settings, sampling=Sampling()) as model:
        print(model._child.pid, flush=True)
        await asyncio.sleep(60)

asyncio.run(main())
"""


@needs_llama
@linux
def test_no_child_outlives_its_parent(cached: Settings) -> None:
    command = [sys.executable, "-c", PARENT, str(cached.cache)]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as parent:
        assert parent.stdout is not None
        child = int(parent.stdout.readline())
        assert is_running(child)
        parent.kill()
    # The child has no other reason to end: without one, the limit of the whole run ends this test.
    while is_running(child):
        time.sleep(0.02)


@needs_llama
def test_a_child_ends_when_its_stdin_closes(cached: Settings) -> None:
    async def scenario() -> int:
        async with prepare_embedded("embedded", settings=cached, sampling=GREEDY) as model:
            assert model._child.stdin is not None
            model._child.stdin.close()
            return await asyncio.wait_for(model._child.wait(), 30)

    assert asyncio.run(scenario()) == 0


# Files that are no model


def load(path: Path, settings: Settings) -> None:
    """Start a child with a file of weights."""
    model = prepare_embedded(f"gguf:{path}", settings=settings, sampling=GREEDY)
    asyncio.run(model.__aenter__())


@needs_llama
def test_a_file_that_is_not_there_is_refused_before_a_child_starts(tmp_path: Path, cached: Settings) -> None:
    with pytest.raises(BadFile, match=r"no file .*half\.gguf") as refused:
        prepare_embedded(f"gguf:{tmp_path / 'half.gguf'}", settings=cached, sampling=GREEDY)
    assert refused.value.exit_code == 2


@needs_llama
@pytest.mark.parametrize(
    "content",
    [pytest.param(b"PK\x03\x04 something else", id="an archive"), pytest.param(b"", id="empty")],
)
def test_a_file_that_is_no_model_is_reported_with_the_end_of_its_log(
    content: bytes, tmp_path: Path, cached: Settings
) -> None:
    path = tmp_path / "half.gguf"
    path.write_bytes(content)
    with pytest.raises(Refused, match=r"half\.gguf ended with code 1\.\nThe end of its log:") as failed:
        load(path, cached)
    assert "error loading model" in str(failed.value)


@needs_llama
def test_a_model_that_was_cut_off_is_reported_with_the_end_of_its_log(
    tmp_path: Path, weights: Path, cached: Settings
) -> None:
    path = tmp_path / "half.gguf"
    with weights.open("rb") as file:
        path.write_bytes(file.read(100_000))
    with pytest.raises(Refused, match=r"half\.gguf ended with code 1\.\nThe end of its log:") as failed:
        load(path, cached)
    assert "error loading model" in str(failed.value)


@needs_llama
def test_a_model_that_takes_too_long_to_load_is_abandoned(cached: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(llama, "LOAD_SECONDS", 0.05)
    slow = prepare_embedded("embedded", settings=cached, sampling=GREEDY)
    with pytest.raises(Refused, match=r"was not loaded within 0\.05 s"):
        asyncio.run(slow.__aenter__())
