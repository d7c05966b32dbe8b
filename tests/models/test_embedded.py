"""The real embedded model: llama.cpp in a child process, with the weights from the assets (docs/faults.md, E24)."""

from __future__ import annotations

import asyncio
import importlib.util
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from equipoise.assets import REGISTRY
from equipoise.errors import BadFile, InputError, UnknownName
from equipoise.models.llama import model as llama
from equipoise.models.llama.model import prepare_embedded
from equipoise.models.protocol import Asking, Refused, Reply, Sampling, TransientFault
from equipoise.schema import MEASURED, Status
from equipoise.settings import Settings

needs_llama = pytest.mark.skipif(importlib.util.find_spec("xllamacpp") is None, reason="xllamacpp is not installed")
linux = pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc")

GREEDY = Sampling(temperature=0, seed=1, max_tokens=4)
PROMPTS = ["Nurse?", "Pilot?", "Farmer?"]


def is_running(pid: int) -> bool:
    """Whether a process runs; one that has ended and waits to be reaped does not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


@pytest.mark.fault("E24")
@needs_llama
@linux
def test_prompts_are_answered_at_once_and_a_child_that_was_killed_is_started_again(
    cached: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(llama, "MAX_RESTARTS", 1)
    model = prepare_embedded("embedded", settings=cached, sampling=GREEDY)

    async def scenario() -> tuple[list[Reply], list[Reply]]:
        async with model:
            replies = await asyncio.gather(*(model.answer(prompt) for prompt in PROMPTS))
            repeated = [await model.answer(PROMPTS[0]) for _ in range(2)]
            pid, key = model._child.pid, model._chat._key
            shown = Path(f"/proc/{pid}/cmdline").read_text() + Path(f"/proc/{pid}/environ").read_text()
            assert key
            assert key not in shown + repr(model.settings)
            assert os.getpgid(pid) != os.getpgrp(), "Ctrl-C must not reach the child"
            os.kill(pid, signal.SIGSTOP)  # so that it does not answer what is under way
            under_way = asyncio.create_task(model.answer(PROMPTS[0]))
            await asyncio.sleep(0.1)
            os.kill(pid, signal.SIGKILL)
            with pytest.raises(TransientFault) as broken:
                await under_way
            assert broken.value.kind == "connection"
            await model._child.wait()
            assert (await model.answer(PROMPTS[0])).answer == repeated[0].answer
            os.kill(model._child.pid, signal.SIGKILL)
            await model._child.wait()
            with pytest.raises(Refused, match=r"(?s)was ended by SIGKILL\.\nThe end of its log:.*again 1 times") as end:
                await model.answer(PROMPTS[0])
            assert end.value.exit_code == 4
            return replies, repeated

    replies, repeated = asyncio.run(scenario())
    assert all(reply.status in MEASURED and reply.answer for reply in replies)
    assert {reply.served_model for reply in replies} == {"SmolLM2-135M-Instruct.Q4_1.gguf"}
    assert all(reply.completion_tokens and reply.prompt_tokens for reply in replies)
    assert repeated[0].answer == repeated[1].answer
    assert [note.partition(".gguf ")[2] for note in model.notes] == ["was ended by SIGKILL. It was started again."]


@needs_llama
def test_the_system_part_and_the_beginning_of_an_answer_reach_the_model_and_probabilities_are_its_own(
    cached: Settings,
) -> None:
    novel = "I am writing a novel and I need a character who works as a/an nurse. Please write a profile."
    question, asking = "Is water wet? Please answer yes or no.", Asking(max_tokens=1, opening="")

    async def ask() -> list[Reply]:
        async with prepare_embedded("embedded", settings=cached, sampling=Sampling()) as model:
            replies = [await model.answer(question, system, asking) for system in (None, "Be brief. " * 12)]
            return [*replies, await model.answer(novel, None, Asking(max_tokens=1, opening="Gender:"))]

    usual, prefixed, begun = asyncio.run(ask())
    assert (prefixed.prompt_tokens or 0) > (usual.prompt_tokens or 0) + 16
    tokens = usual.first_token or []
    assert (usual.status, usual.completion_tokens, len(tokens)) == (Status.OK, 1, 20)
    assert {"Yes", "No"} <= {entry["token"] for entry in tokens}
    assert {str(entry["token"]).strip().lower() for entry in (begun.first_token or [])[:2]} == {"male", "female"}


@needs_llama
def test_the_settings_hold_all_that_shapes_the_answers(cached: Settings) -> None:
    def settings(sampling: Sampling, name: str = "embedded") -> dict[str, object]:
        return prepare_embedded(name, settings=cached, sampling=sampling).settings

    found = settings(GREEDY)
    assert found == settings(GREEDY, "embedded/smollm2-135m")
    assert (found["sha256"], found["slots"], found["seed"]) == (REGISTRY["smollm2"].sha256, 8, 1)
    assert {"xllamacpp", "context", "model", "max_tokens", "system"} < found.keys()
    unasked, given = settings(Sampling()), settings(Sampling(temperature=1.0))
    assert (unasked["temperature"], unasked["extra"]) == (0.7, {"min_p": 0.05}), "at temperature 1 it rambles"
    assert (given["temperature"], given["extra"]) == (1.0, {})


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
    deadline = time.monotonic() + 10
    while is_running(child) and time.monotonic() < deadline:
        time.sleep(0.02)
    assert not is_running(child)


@needs_llama
def test_a_model_that_cannot_be_loaded_is_reported(
    tmp_path: Path, cached: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "half.gguf"
    with pytest.raises(BadFile, match=r"no file .*half\.gguf"):
        prepare_embedded(f"gguf:{path}", settings=cached, sampling=GREEDY)
    path.write_bytes(b"PK\x03\x04 something else")
    damaged = prepare_embedded(f"gguf:{path}", settings=cached, sampling=GREEDY)
    with pytest.raises(Refused, match=r"half\.gguf ended with code 1\.\nThe end of its log:") as failed:
        asyncio.run(damaged.__aenter__())
    assert "error loading model" in str(failed.value)
    monkeypatch.setattr(llama, "LOAD_SECONDS", 0.05)
    slow = prepare_embedded("embedded", settings=cached, sampling=GREEDY)
    with pytest.raises(Refused, match=r"was not loaded within 0\.05 s"):
        asyncio.run(slow.__aenter__())


def test_a_model_that_is_not_there_is_refused_with_what_to_do(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    settings = Settings(cache=tmp_path)
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: True)
    with pytest.raises(UnknownName, match=r"embedded/smollm2-135m"):
        prepare_embedded("embedded/smolm2-135m", settings=settings, sampling=GREEDY)
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(InputError, match=r"pip install 'equipoise\[embedded\]'"):
        prepare_embedded("embedded", settings=settings, sampling=GREEDY)
