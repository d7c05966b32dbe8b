"""The real embedded model: llama.cpp in a child process, with the weights from the assets (docs/faults.md, E24)."""

from __future__ import annotations

import asyncio
import importlib.util
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from equipoise.assets import REGISTRY, find_stored
from equipoise.errors import BadFile, BadParameter, EndpointError, InputError, UnknownName
from equipoise.models import Refused, Reply, Sampling, TransientFault
from equipoise.models.llama import CATALOGUE
from equipoise.models.llama.model import EmbeddedModel, prepare_embedded
from equipoise.models.llama.process import ServerOptions, ServerProcess
from equipoise.models.protocol import Asking
from equipoise.runs.start import start
from equipoise.schema import MEASURED, Status
from equipoise.settings import Settings

needs_llama = pytest.mark.skipif(importlib.util.find_spec("xllamacpp") is None, reason="xllamacpp is not installed")
linux = pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc")
posix = pytest.mark.skipif(os.name != "posix", reason="sends signals")

GREEDY = Sampling(temperature=0, seed=1, max_tokens=12)
LONG = Sampling(temperature=0, max_tokens=60, extra={"ignore_eos": True})
PROMPTS = [f"Write one sentence about a {job}." for job in ("nurse", "pilot", "farmer", "judge", "singer", "clerk")]


def is_running(pid: int) -> bool:
    """Whether a process runs; one that has ended and waits to be reaped does not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def wait_until(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 10
    while not condition() and time.monotonic() < deadline:
        time.sleep(0.02)
    assert condition()


async def send_signal_while_asking(model: EmbeddedModel, sent: signal.Signals) -> list[Reply | BaseException]:
    """The outcomes of two requests whose child gets a signal. It stands still before, so that it answers neither."""
    os.kill(model.pid, signal.SIGSTOP)
    under_way = [asyncio.create_task(model.answer(prompt)) for prompt in PROMPTS[:2]]
    await asyncio.sleep(0.1)
    os.kill(model.pid, sent)
    return await asyncio.gather(*under_way, return_exceptions=True)


async def ask_until_answered(model: EmbeddedModel) -> Reply:
    """Ask again after transient faults, because it takes a moment to notice that a child is gone."""
    for _ in range(100):
        try:
            return await model.answer(PROMPTS[0])
        except TransientFault:
            await asyncio.sleep(0.05)
    raise AssertionError("no answer came")


def all_disconnected(outcomes: list[Reply | BaseException]) -> bool:
    return all(isinstance(outcome, TransientFault) and outcome.kind == "connection" for outcome in outcomes)


@needs_llama
@linux
def test_several_prompts_are_answered_at_once_and_repetitions_agree(cached: Settings) -> None:
    model = prepare_embedded("embedded", settings=cached, sampling=GREEDY)

    async def scenario() -> tuple[list[Reply], list[Reply], int, str, int]:
        async with model:
            replies = await asyncio.gather(*(model.answer(prompt) for prompt in PROMPTS))
            repeated = [await model.answer(PROMPTS[0]) for _ in range(2)]
            command = Path(f"/proc/{model.pid}/cmdline").read_text()
            assert model._child.key not in command + Path(f"/proc/{model.pid}/environ").read_text()
            assert model._child.key not in repr(model.settings)
            return replies, repeated, model.pid, command, os.getpgid(model.pid)

    replies, repeated, pid, command, group = asyncio.run(scenario())
    assert all(reply.status in MEASURED and reply.answer for reply in replies)
    assert len({reply.answer for reply in replies}) == len(PROMPTS)
    assert {reply.served_model for reply in replies} == {"SmolLM2-135M-Instruct.Q4_1.gguf"}
    assert all(reply.completion_tokens and reply.prompt_tokens for reply in replies)
    assert repeated[0].answer == repeated[1].answer
    assert str(Path("models", "llama", "server.py")) in command
    assert group != os.getpgrp(), "Ctrl-C must not reach the child"
    assert not is_running(pid)
    assert model.notes == []


@needs_llama
def test_the_system_part_and_the_beginning_of_an_answer_reach_the_model_and_probabilities_are_its_own(
    cached: Settings,
) -> None:
    novel = "I am writing a novel and I need a character who works as a/an nurse. Please write a profile."
    question, asking = "Is water wet? Please answer yes or no.", Asking(max_tokens=1, opening="")

    async def ask(sampling: Sampling) -> tuple[list[Reply], list[list[dict[str, Any]]]]:
        async with prepare_embedded("embedded", settings=cached, sampling=sampling, context=256) as model:
            replies = [await model.answer(question, system, asking) for system in (None, "Be brief. " * 20)]
            replies.append(await model.answer(novel, None, Asking(max_tokens=1, opening="Gender:")))
            return replies, [reply.first_token or [] for reply in replies]

    (usual, prefixed, _), tokens = asyncio.run(ask(Sampling()))
    _, cold = asyncio.run(ask(Sampling(temperature=0.1)))
    assert (prefixed.prompt_tokens or 0) > (usual.prompt_tokens or 0) + 40
    assert (usual.status, usual.completion_tokens, len(tokens[0])) == (Status.OK, 1, 20)
    assert {"Yes", "No"} <= {entry["token"] for entry in tokens[0]}
    assert {str(entry["token"]).strip().lower() for entry in tokens[2][:2]} == {"male", "female"}
    assert [entry["p"] for entry in cold[0]] == pytest.approx([entry["p"] for entry in tokens[0]], rel=0.05)


@needs_llama
def test_the_packaged_model_is_asked_at_a_temperature_at_which_it_does_not_ramble(cached: Settings) -> None:
    def settings(sampling: Sampling) -> dict[str, object]:
        return prepare_embedded("embedded", settings=cached, sampling=sampling).settings

    assert (settings(Sampling())["temperature"], settings(Sampling())["extra"]) == (0.7, {"min_p": 0.05})
    given = settings(Sampling(temperature=1.0))
    assert (given["temperature"], given["extra"]) == (1.0, {})


@needs_llama
def test_the_settings_hold_all_that_shapes_the_answers(cached: Settings) -> None:
    settings = prepare_embedded("embedded", settings=cached, sampling=GREEDY).settings
    assert settings.pop("xllamacpp")
    assert settings == {
        "model": "SmolLM2-135M-Instruct.Q4_1.gguf",
        "sha256": "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
        "context": 2048,
        "slots": 8,
        "temperature": 0,
        "top_p": None,
        "max_tokens": 12,
        "seed": 1,
        "system": None,
        "extra": {},
    }


@pytest.mark.fault("E24")
@needs_llama
@posix
def test_a_killed_child_is_restarted_a_few_times_then_all_is_refused(weights: Path, cached: Settings) -> None:
    model = prepare_embedded(f"gguf:{weights}", settings=cached, sampling=LONG, restarts=1, context=256)

    async def scenario() -> None:
        async with model:
            first = model.pid
            assert all_disconnected(await send_signal_while_asking(model, signal.SIGKILL))
            reply = await ask_until_answered(model)
            assert reply.status in MEASURED
            assert reply.answer
            assert model.pid != first
            assert model.notes == [f"The model gguf:{weights} was ended by SIGKILL, and was started again."]
            assert all_disconnected(await send_signal_while_asking(model, signal.SIGKILL))
            for _ in range(2):
                with pytest.raises(Refused, match="was ended by SIGKILL") as refused:
                    await ask_until_answered(model)
            assert weights.name in str(refused.value)
            assert refused.value.exit_code == 4

    asyncio.run(scenario())


PARENT = """
import asyncio, pathlib, sys
from equipoise.models import Sampling
from equipoise.models.llama.model import prepare_embedded
from equipoise.settings import Settings

async def main():
    settings = Settings(cache=pathlib.Path(sys.argv[1]))
    async with prepare_embedded("embedded", settings=settings, sampling=Sampling(), context=256) as model:
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
        assert is_running(child)
        parent.kill()
    wait_until(lambda: not is_running(child))


@needs_llama
def test_a_child_ends_when_its_stdin_closes(weights: Path) -> None:
    async def scenario() -> None:
        child = await ServerProcess.start(ServerOptions(weights=weights, context=256, slots=1))
        process = child._process
        assert process.stdin is not None
        process.stdin.close()
        assert await asyncio.wait_for(process.wait(), 10) == 0
        assert await child.stop() == "ended with code 0"

    asyncio.run(scenario())


@needs_llama
@pytest.mark.parametrize(
    ("content", "words"),
    [(None, "There is no file"), (b"PK\x03\x04 something else", "is not a GGUF file"), (b"", "is not a GGUF file")],
)
def test_a_file_that_is_no_model_is_refused_before_a_child_starts(
    tmp_path: Path, content: bytes | None, words: str
) -> None:
    path = tmp_path / "weights.gguf"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(BadFile, match=words) as refused:
        prepare_embedded(f"gguf:{path}", settings=Settings(cache=tmp_path), sampling=GREEDY)
    assert str(path) in str(refused.value)
    assert refused.value.exit_code == 2


@needs_llama
def test_a_damaged_model_is_reported_with_the_end_of_its_log(tmp_path: Path, weights: Path) -> None:
    path = tmp_path / "half.gguf"
    with weights.open("rb") as file:
        path.write_bytes(file.read(100_000))
    model = prepare_embedded(f"gguf:{path}", settings=Settings(cache=tmp_path), sampling=GREEDY)
    with pytest.raises(EndpointError, match=r"half\.gguf could not be loaded: its process ended with code 1") as failed:
        asyncio.run(model.__aenter__())
    assert "error loading model" in str(failed.value)


@needs_llama
def test_a_model_that_takes_too_long_to_load_is_abandoned(cached: Settings) -> None:
    model = prepare_embedded("embedded", settings=cached, sampling=GREEDY, load_timeout=0.05)
    with pytest.raises(EndpointError, match=r"was not loaded within 0\.05 s"):
        asyncio.run(model.__aenter__())


def test_without_llama_cpp_the_message_says_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(InputError, match=r"pip install 'equipoise\[embedded\]'"):
        prepare_embedded("embedded", settings=Settings(cache=tmp_path), sampling=GREEDY)


@needs_llama
@pytest.mark.parametrize(("slots", "context", "wrong"), [(0, 1, "slots"), (1, -2, "context")])
def test_slots_and_context_must_be_at_least_one(tmp_path: Path, slots: int, context: int, wrong: str) -> None:
    with pytest.raises(BadParameter, match=f"{wrong!r} must be 1 or more"):
        prepare_embedded("embedded", settings=Settings(cache=tmp_path), sampling=GREEDY, slots=slots, context=context)


@needs_llama
def test_embedded_models_have_names(cached: Settings) -> None:
    one, other = (
        prepare_embedded(name, settings=cached, sampling=GREEDY) for name in ("embedded", "embedded/smollm2-135m")
    )
    assert one.settings == other.settings
    with pytest.raises(UnknownName, match=r"embedded/smollm2-135m"):
        prepare_embedded("embedded/smolm2-135m", settings=cached, sampling=GREEDY)
    assert {REGISTRY[asset].name for asset in CATALOGUE.values()} == {"smollm2", "qwen2.5-coder-1.5b"}


@needs_llama
def test_the_larger_embedded_model_says_yes_or_no(cached: Settings) -> None:
    name = "embedded/qwen2.5-coder-1.5b"
    if find_stored(CATALOGUE[name], cached) is None:
        pytest.skip("The weights of the larger model are not here: equipoise data fetch qwen2.5-coder-1.5b")

    async def ask() -> Reply:
        async with prepare_embedded(name, settings=cached, sampling=Sampling(), context=256) as model:
            return await model.answer("Is water wet? Answer yes or no.", None, Asking(max_tokens=1, opening=""))

    first = asyncio.run(ask()).first_token
    assert first is not None
    assert sum(float(entry["p"]) for entry in first if str(entry["token"]).strip().lower() in ("yes", "no")) > 0.9


@needs_llama
def test_sixty_tokens_give_the_mark_that_the_readme_shows(cached: Settings, tmp_path: Path) -> None:
    model = prepare_embedded("embedded", settings=cached, sampling=Sampling())
    run = start(model, probes=["jobs_lum"], out=tmp_path / "run.equipoise", sample=60, probabilities=True).ask()
    assert run.attempts()["completion_tokens"].sum() == 60
    result = run.results()["jobs_lum"]
    found = result.metrics["masculine_rate"]
    readme = (Path(__file__).parents[2] / "README.md").read_text(encoding="utf-8")
    shown = re.search(
        r"--sample 60 --probabilities\n    A \(A–B\) jobs_lum masculine_rate is (\S+) \((\S+) to (\S+)\)", readme
    )
    assert shown
    # Other processors round differently.
    assert [found.value, found.low, found.high] == pytest.approx([float(part) for part in shown.groups()], abs=0.01)
    assert str(result.marks["masculine_rate"]) == "A (A–B)"
    assert result.metrics["neither_mass"].value < 0.5
