"""Generation on Ray: a job that is killed goes on, and ends with every answer once."""

from __future__ import annotations

import argparse
import importlib.util
import inspect
import os
import signal
import subprocess
import sys
import tempfile
import time
import warnings
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from equipoise.answers.files import read_tables
from equipoise.answers.score import score_tables
from equipoise.measuring.plan import plan
from examples.fake_engine import seal

ROOT = Path(__file__).parents[2]
SCRIPT = ROOT / "examples" / "generate_on_ray.py"
PROMPTS, BLOCK, STUCK_AFTER = 60, 10, 30
MAX_SECONDS = 400

needs_ray = pytest.mark.skipif(importlib.util.find_spec("ray") is None, reason="needs Ray")


@pytest.fixture
def folders(tmp_path: Path) -> tuple[Path, Path]:
    """Prompts of 20 items, three times each, in two files; and where answers go."""
    prompts, answers = tmp_path / "prompts", tmp_path / "answers"
    prompts.mkdir()
    attempts = plan("jobs_lum", sample=20, repeat=3).attempts()
    for number, part in enumerate((attempts[:25], attempts[25:]), 1):
        part.write_parquet(prompts / f"prompts-{number:05}.parquet")
    return prompts, answers


def start(prompts: Path, answers: Path, **variables: str) -> subprocess.Popen[str]:
    command = [sys.executable, str(SCRIPT), str(prompts), str(answers), "--model", "fake", "--max-tokens", "20"]
    options = ["--block", str(BLOCK), "--processor", "examples.fake_engine:build"]
    quiet = {"RAY_USAGE_STATS_ENABLED": "0", "RAY_AUTH_MODE": "disabled", "RAY_TMPDIR": tempfile.gettempdir()}
    paths = os.pathsep.join([str(ROOT / "tests"), str(ROOT / "src")])
    return subprocess.Popen(
        [*command, *options],
        env={**os.environ, **quiet, "PYTHONPATH": paths, **variables},  # noqa: TID251
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


def wait_for_answers(folder: Path, least: int, job: subprocess.Popen[str]) -> None:
    deadline = time.monotonic() + MAX_SECONDS
    while count_answers(folder) < least:
        assert job.poll() is None, job.communicate()[0]
        assert time.monotonic() < deadline, f"only {count_answers(folder)} answers"
        time.sleep(0.2)


def count_answers(folder: Path) -> int:
    return sum(pl.read_parquet(path).height for path in folder.glob("*.parquet"))


@needs_ray
def test_a_killed_job_goes_on_and_every_answer_is_there_once(folders: tuple[Path, Path]) -> None:
    prompts, answers = folders
    job = start(prompts, answers, FAKE_ENGINE_STUCK_AFTER=str(STUCK_AFTER))
    try:
        # All that the engine gave, but the block that it was in, becomes durable without the job coming to an end.
        wait_for_answers(answers, STUCK_AFTER - BLOCK, job)
    finally:
        job.send_signal(signal.SIGKILL)
        job.communicate()
    kept = {path: path.stat().st_mtime_ns for path in answers.glob("*.parquet")}
    assert count_answers(answers) < PROMPTS
    broken = answers / "answers-broken.1.unfinished"
    broken.write_bytes(b"PAR1 half a file")
    output, _ = start(prompts, answers).communicate(timeout=MAX_SECONDS)
    assert f"{PROMPTS} answers in {answers}, 0 missing" in output
    assert all(path.stat().st_mtime_ns == written for path, written in kept.items())
    found = pl.concat([pl.read_parquet(path) for path in answers.glob("*.parquet")])
    planned = pl.concat([pl.read_parquet(path) for path in prompts.iterdir()])
    both = planned.join(found, on=["id", "repetition"], validate="1:1")
    assert both.height == found.height == PROMPTS
    assert both["answer"].to_list() == [f"He said {seal(prompt)}." for prompt in both["prompt"]]
    tables = (table for path in answers.glob("*.parquet") for table in read_tables(path))
    assert score_tables(plan("jobs_lum", sample=20, repeat=3), tables).matching.matched == PROMPTS


def test_an_answer_that_two_jobs_wrote_is_kept_once(tmp_path: Path) -> None:
    script = load_script()
    first = pl.DataFrame({"id": ["a", "b"], "repetition": [1, 1], "answer": ["x", "y"]})
    second = pl.DataFrame({"id": ["b", "b"], "repetition": [1, 2], "answer": ["other", "z"]})
    first.write_parquet(tmp_path / "answers-1.parquet")
    second.write_parquet(tmp_path / "answers-2.parquet")
    assert script.settle(tmp_path).rows() == [("a", 1), ("b", 1), ("b", 2)]
    assert pl.read_parquet(tmp_path / "*.parquet")["answer"].to_list() == ["x", "y", "z"]


def test_only_what_is_not_answered_is_asked(folders: tuple[Path, Path]) -> None:
    prompts, _ = folders
    script = load_script()
    keys = pl.concat([script.read_keys(path) for path in sorted(prompts.iterdir())])
    blocks = list(script.find_pending(prompts, keys[:22], BLOCK))
    assert [len(block["rows"]) for block in blocks] == [3, *[BLOCK] * 3, 5]
    first = pl.DataFrame(script.read_block(pl.DataFrame([blocks[0]]).to_arrow()))
    assert first.select("id", "repetition").rows() == keys[22:25].rows()
    assert {"prompt", "id", "repetition"} == set(first.columns)


def test_questions_and_answers_are_those_of_vllm(tmp_path: Path) -> None:
    script = load_script()
    options = argparse.Namespace(max_tokens=8, temperature=0.5, system="Be brief.")
    row = {"id": "a", "repetition": 2, "item_number": 7, "prompt": "Who?"}
    asked = script.make_question(options)(row)
    assert asked == {
        "messages": [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Who?"}],
        "sampling_params": {"max_tokens": 8, "temperature": 0.5},
    }
    own = script.make_question(options)({**row, "system": "Its own."})
    assert own["messages"][0]["content"] == "Be brief.\n\nIts own."
    given = {**row, **asked, "generated_text": "She", "num_generated_tokens": 8}
    key = {"id": "a", "repetition": 2, "item_number": 7}
    assert script.make_answer(8)(given) == {**key, "answer": "She", "status": "truncated"}
    assert script.make_answer(9)(given) == {**key, "answer": "She", "status": "ok"}


@needs_ray
def test_the_configuration_of_vllm_is_one_that_ray_accepts() -> None:
    """Ray refuses fields that it does not know. vLLM itself starts with the processor and is not needed for this."""
    llm = import_quietly("ray.data.llm")
    options = argparse.Namespace(model="some/model", engines=8, gpus_per_engine=2, block=500)
    config = load_script().configure_vllm(options)
    assert isinstance(config, llm.vLLMEngineProcessorConfig)
    given = {"model_source": "some/model", "concurrency": 8, "batch_size": 125, "should_continue_on_error": True}
    assert given.items() <= config.model_dump().items()
    assert config.engine_kwargs["tensor_parallel_size"] == 2
    inspect.signature(llm.build_processor).bind(config, preprocess=print, postprocess=print)


@needs_ray
def test_ray_passes_the_key_of_a_prompt_on_to_its_answer() -> None:
    """What Ray makes of our two functions around its stages, of which there are none here."""
    base = import_quietly("ray.llm._internal.batch.processor.base")
    stage = import_quietly("ray.llm._internal.batch.stages.chat_template_stage").ChatTemplateStage
    script = load_script()
    options = argparse.Namespace(model="m", engines=1, gpus_per_engine=1, block=4, max_tokens=8, temperature=0.5)
    ask = script.make_question(argparse.Namespace(**vars(options), system=None))
    processor = base.Processor(script.configure_vllm(options), [], preprocess=ask, postprocess=script.make_answer(8))
    key = {"id": "a", "repetition": 2, "item_number": 7}
    asked = processor.preprocess({**key, "prompt": "Who?"})
    needed = stage.model_construct(fn_constructor_kwargs={}, map_batches_kwargs={}).get_required_input_keys()
    (data,) = asked.values()
    assert {*needed, "sampling_params"} <= data.keys()
    data |= {"generated_text": "She", "num_generated_tokens": 1}
    assert processor.postprocess(asked) == {**key, "answer": "She", "status": "ok", script.ERROR: ""}
    data |= {script.ERROR: "out of memory"}
    assert {**key, script.ERROR: "out of memory"}.items() <= processor.postprocess(asked).items()


def import_quietly(name: str) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return importlib.import_module(name)


def test_what_failed_is_left_out(tmp_path: Path) -> None:
    rows = {"id": ["a", "b"], "repetition": [1, 1], "answer": ["x", None], "status": ["ok", None]}
    table = pl.DataFrame({**rows, "__inference_error__": ["", "out of memory"]}).to_arrow()
    load_script().write_block(table, str(tmp_path))
    (path,) = tmp_path.iterdir()
    assert pl.read_parquet(path).rows() == [("a", 1, "x", "ok")]


def load_script() -> Any:
    spec = importlib.util.spec_from_file_location("generate_on_ray", SCRIPT)
    assert spec
    assert spec.loader
    script = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(script)
    return script
