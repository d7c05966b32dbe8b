"""The embedded model, for real: llama.cpp in a child process, with the weights from the assets; row E24."""

from __future__ import annotations

import asyncio
import importlib.util
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import aiohttp
import pytest
from aiohttp import web

from equipoise.errors import BadFile, BadParameter, EndpointError, InputError
from equipoise.frames import MEASURED
from equipoise.models import Passing, Refused, Reply, Sampling
from equipoise.models.embedded import EmbeddedModel, embedded
from equipoise.models.llama import Llama, Serving, Watch
from equipoise.settings import Settings

needs_llama = pytest.mark.skipif(importlib.util.find_spec("xllamacpp") is None, reason="xllamacpp is not installed")
linux = pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc")
posix = pytest.mark.skipif(os.name != "posix", reason="sends signals")

GREEDY = Sampling(temperature=0, seed=1, max_tokens=12)
LONG = Sampling(temperature=0, max_tokens=60, extra={"ignore_eos": True})
SOON = Watch(interval=0.1, patience=4.0, restarts=1)
PROMPTS = [f"Write one sentence about a {job}." for job in ("nurse", "pilot", "farmer", "judge", "singer", "clerk")]


def running(pid: int) -> bool:
    """Whether a process is there and not only waiting to be reaped."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def until(gone: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 10
    while not gone() and time.monotonic() < deadline:
        time.sleep(0.02)
    assert gone()


async def interrupted(model: EmbeddedModel, sent: signal.Signals) -> list[Reply | BaseException]:
    """What becomes of two requests when their child gets a signal."""
    under_way = [asyncio.create_task(model.answer(prompt)) for prompt in PROMPTS[:2]]
    await asyncio.sleep(0.3)
    os.kill(model.pid, sent)
    return await asyncio.gather(*under_way, return_exceptions=True)


async def in_the_end(model: EmbeddedModel) -> Reply:
    """Ask again as the pump does, because it takes a moment to notice that a child is gone."""
    for _ in range(100):
        try:
            return await model.answer(PROMPTS[0])
        except Passing:
            await asyncio.sleep(0.05)
    raise AssertionError("no answer came")


def lost(outcomes: list[Reply | BaseException]) -> bool:
    return all(isinstance(outcome, Passing) and outcome.kind == "connection" for outcome in outcomes)


@needs_llama
@linux
def test_it_answers_several_prompts_at_a_time_and_the_same_again(cached: Settings) -> None:
    model = embedded("embedded", settings=cached, sampling=GREEDY)

    async def scenario() -> tuple[list[Reply], list[Reply], int, str, int]:
        async with model:
            together = await asyncio.gather(*(model.answer(prompt) for prompt in PROMPTS))
            repeated = [await model.answer(PROMPTS[0]) for _ in range(2)]
            command = Path(f"/proc/{model.pid}/cmdline").read_text()
            assert model._child.key not in command + Path(f"/proc/{model.pid}/environ").read_text()
            assert model._child.key not in repr(model.settings)
            return together, repeated, model.pid, command, os.getpgid(model.pid)

    together, repeated, pid, command, group = asyncio.run(scenario())
    assert all(reply.status in MEASURED and reply.answer for reply in together)
    assert len({reply.answer for reply in together}) == len(PROMPTS)
    assert {reply.served_model for reply in together} == {"SmolLM2-135M-Instruct.Q4_1.gguf"}
    assert all(reply.completion_tokens and reply.prompt_tokens for reply in together)
    assert repeated[0].answer == repeated[1].answer
    assert "llama_child" in command
    assert group != os.getpgrp(), "Ctrl-C must not reach the child"
    assert not running(pid)
    assert model.notes == []


@needs_llama
def test_settings_say_what_shapes_the_answers(cached: Settings) -> None:
    settings = embedded("embedded", settings=cached, sampling=GREEDY).settings
    assert settings.pop("xllamacpp")
    assert settings == {
        "model": "SmolLM2-135M-Instruct.Q4_1.gguf",
        "sha256": "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
        "context": 2048,
        "slots": 4,
        "temperature": 0,
        "top_p": None,
        "max_tokens": 12,
        "seed": 1,
        "system": None,
        "extra": {},
    }


@needs_llama
@posix
def test_a_killed_child_is_started_again_until_it_was_too_often(weights: Path, cached: Settings) -> None:
    model = embedded(f"gguf:{weights}", settings=cached, sampling=LONG, watch=SOON, context=256)

    async def scenario() -> None:
        async with model:
            first = model.pid
            assert lost(await interrupted(model, signal.SIGKILL))
            reply = await in_the_end(model)
            assert reply.status in MEASURED
            assert reply.answer
            assert model.pid != first
            assert model.notes == [f"The model gguf:{weights} was ended by SIGKILL, and was started again."]
            assert lost(await interrupted(model, signal.SIGKILL))
            for _ in range(2):
                with pytest.raises(Refused, match="was ended by SIGKILL") as refused:
                    await in_the_end(model)
            assert weights.name in str(refused.value)
            assert refused.value.exit_code == 4

    asyncio.run(scenario())


@needs_llama
@posix
def test_a_child_that_hangs_is_replaced(cached: Settings) -> None:
    model = embedded("embedded", settings=cached, sampling=LONG, watch=SOON, context=256)

    async def scenario() -> None:
        async with model:
            assert lost(await interrupted(model, signal.SIGSTOP))
            assert (await in_the_end(model)).answer
            assert model.notes == ["The model embedded did not go on for 4 s, and was started again."]

    asyncio.run(scenario())


def test_a_child_that_answers_but_does_not_compute_hangs(tmp_path: Path) -> None:
    pipe = subprocess.PIPE
    process = subprocess.Popen([sys.executable, "-c", "input()"], stdin=pipe, stdout=pipe, stderr=pipe)
    watch = Watch(interval=0.01, patience=0.3)
    batches = iter(range(10**6))
    stuck = False

    async def metrics(request: web.Request) -> web.Response:
        computed = 7 if stuck else next(batches)
        return web.Response(text=f"llamacpp:requests_processing 2\nllamacpp:n_decode_total {computed}\n")

    async def scenario() -> None:
        nonlocal stuck
        app = web.Application()
        app.router.add_get("/metrics", metrics)
        runner = web.AppRunner(app)
        await runner.setup()
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        llama = Llama(process, "key", tmp_path)
        llama.address = f"http://127.0.0.1:{runner.addresses[0][1]}"
        async with aiohttp.ClientSession() as session:
            task = asyncio.create_task(llama.fault(session, watch))
            await asyncio.sleep(2 * watch.patience)
            assert not task.done()
            stuck = True
            assert await task == "did not go on for 0.3 s"
        llama.stop()
        await runner.cleanup()

    asyncio.run(scenario())


PARENT = """
import asyncio, pathlib, sys
from equipoise.models import Sampling
from equipoise.models.embedded import embedded
from equipoise.settings import Settings

async def main():
    settings = Settings(cache=pathlib.Path(sys.argv[1]))
    async with embedded("embedded", settings=settings, sampling=Sampling(), context=256) as model:
        print(model.pid, flush=True)
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
        assert running(child)
        parent.kill()
    until(lambda: not running(child))


@needs_llama
def test_a_child_ends_with_its_stdin(weights: Path) -> None:
    async def scenario() -> None:
        llama = await Llama.start(Serving(weights=weights, context=256, slots=1), Watch())
        process = llama._process
        assert process.stdin is not None
        process.stdin.close()
        assert process.wait(timeout=10) == 0
        assert llama.stop() == "ended with code 0"

    asyncio.run(scenario())


@needs_llama
@pytest.mark.parametrize(
    ("content", "words"),
    [(None, "There is no file"), (b"PK\x03\x04 something else", "is not a GGUF file"), (b"", "is not a GGUF file")],
)
def test_a_file_that_is_no_model_is_refused_before_anything_starts(
    tmp_path: Path, content: bytes | None, words: str
) -> None:
    path = tmp_path / "weights.gguf"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(BadFile, match=words) as refused:
        embedded(f"gguf:{path}", settings=Settings(cache=tmp_path), sampling=GREEDY)
    assert str(path) in str(refused.value)
    assert refused.value.exit_code == 2


@needs_llama
def test_a_damaged_model_is_reported_with_the_log(tmp_path: Path, weights: Path) -> None:
    path = tmp_path / "half.gguf"
    with weights.open("rb") as file:
        path.write_bytes(file.read(100_000))
    model = embedded(f"gguf:{path}", settings=Settings(cache=tmp_path), sampling=GREEDY)
    with pytest.raises(EndpointError, match=r"half\.gguf could not be loaded: its process ended with code 1") as failed:
        asyncio.run(model.__aenter__())
    assert "error loading model" in str(failed.value)


@needs_llama
def test_a_model_that_takes_too_long_to_load_is_given_up(cached: Settings) -> None:
    model = embedded("embedded", settings=cached, sampling=GREEDY, watch=Watch(loading=0.05))
    with pytest.raises(EndpointError, match=r"was not loaded within 0\.05 s"):
        asyncio.run(model.__aenter__())


def test_without_llama_the_message_says_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(InputError, match=r"pip install 'equipoise\[embedded\]'"):
        embedded("embedded", settings=Settings(cache=tmp_path), sampling=GREEDY)


@needs_llama
@pytest.mark.parametrize(("slots", "context", "wrong"), [(0, 1, "slots"), (1, -2, "context")])
def test_there_is_at_least_one_slot_and_token(tmp_path: Path, slots: int, context: int, wrong: str) -> None:
    with pytest.raises(BadParameter, match=f"{wrong!r} must be 1 or more"):
        embedded("embedded", settings=Settings(cache=tmp_path), sampling=GREEDY, slots=slots, context=context)
