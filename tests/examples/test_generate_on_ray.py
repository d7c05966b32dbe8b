"""Generation on Ray: a job goes on where another was killed, and ends with every answer once."""

from __future__ import annotations

import argparse
import importlib.util
import inspect
import os
import subprocess
import sys
import time
import warnings
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from equipoise.answers.files import read_tables
from equipoise.answers.score import score_tables
from equipoise.measuring.plan import plan
from equipoise.settings import environment
from examples.fake_engine import seal

ROOT = Path(__file__).parents[2]
SCRIPT = ROOT / "examples" / "generate_on_ray.py"
PROMPTS = 60
BLOCK = 10
KEPT = 40
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


@needs_ray
@pytest.mark.xdist_group("ray")
def test_a_job_goes_on_where_another_was_killed_and_every_answer_is_there_once(
    head: str, folders: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    import ray

    prompts, answers = folders
    planned = pl.concat([pl.read_parquet(path) for path in sorted(prompts.iterdir())])
    answers.mkdir()
    kept = planned[:KEPT].select("id", "repetition", answer=pl.lit("kept"), status=pl.lit("ok"))
    kept.write_parquet(answers / "answers-1.parquet")
    (answers / "answers-2.1.unfinished").write_bytes(b"PAR1 half a file")
    engine = ["--address", head, "--processor", "examples.fake_engine:build", "--model", "fake"]
    options = ["--block", str(BLOCK), "--max-tokens", "20", *engine]
    monkeypatch.setattr(sys, "argv", ["script", str(prompts), str(answers), *options])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        load_script().main()
        ray.shutdown()
    assert f"{PROMPTS} answers in {answers}, 0 missing" in capfd.readouterr().out
    found = pl.concat([pl.read_parquet(path)[:, :4] for path in answers.glob("*.parquet")], how="diagonal")
    both = planned.join(found, on=["id", "repetition"], validate="1:1", maintain_order="left")
    assert both.height == found.height == PROMPTS
    asked = [f"He said {seal(prompt)}." for prompt in both["prompt"][KEPT:]]
    assert both["answer"].to_list() == ["kept"] * KEPT + asked
    tables = (table for path in answers.glob("*.parquet") for table in read_tables(path))
    assert score_tables(plan("jobs_lum", sample=20, repeat=3), tables).matching.matched == PROMPTS


def start_job(head: str, prompts: Path, answers: Path, *options: str) -> subprocess.Popen[str]:
    """The script as a user starts it."""
    command = [sys.executable, str(SCRIPT), str(prompts), str(answers), "--address", head]
    paths = os.pathsep.join([str(ROOT / "tests"), str(ROOT / "src")])
    own = {"RAY_USAGE_STATS_ENABLED": "0", "RAY_AUTH_MODE": "disabled", "PYTHONPATH": paths}
    return subprocess.Popen(
        [*command, "--block", str(BLOCK), "--max-tokens", "20", *options],
        env={**environment(), **own},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


def count_answers(folder: Path) -> int:
    return sum(pl.read_parquet(path).height for path in folder.glob("*.parquet"))


@needs_ray
@pytest.mark.xdist_group("ray")
def test_the_answers_of_a_killed_job_are_kept_but_for_the_blocks_under_way(
    head: str, folders: tuple[Path, Path]
) -> None:
    prompts, answers = folders
    first = pl.read_parquet(prompts / "prompts-00001.parquet")
    seals = ",".join(seal(prompt) for prompt in first["prompt"].unique())
    engine = ("--processor", "examples.fake_engine:build_stuck", "--model", seals)
    with start_job(head, prompts, answers, *engine) as job:
        try:
            # All blocks of the first file become durable without the job coming to an end.
            deadline = time.monotonic() + MAX_SECONDS
            while count_answers(answers) < first.height:
                assert job.poll() is None, job.communicate()[0]
                assert time.monotonic() < deadline, f"only {count_answers(answers)} answers"
                time.sleep(0.1)
        finally:
            job.kill()
    written = pl.concat([pl.read_parquet(path) for path in answers.glob("*.parquet")])
    both = first.join(written, on=["id", "repetition"], validate="1:1")
    assert both.height == first.height
    assert both["answer"].to_list() == [f"He said {seal(prompt)}." for prompt in both["prompt"]]


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


ROW = {"id": "a", "repetition": 2, "item_number": 7, "prompt": "Who?"}


def test_questions_are_those_of_vllm() -> None:
    options = argparse.Namespace(max_tokens=8, temperature=0.5, system="Be brief.")
    assert load_script().make_question(options)(ROW) == {
        "messages": [
            {"role": "system", "content": "Be brief."},
            {"role": "user", "content": "Who?"},
        ],
        "sampling_params": {"max_tokens": 8, "temperature": 0.5},
    }


def test_the_system_part_of_a_prompt_follows_that_of_the_job() -> None:
    options = argparse.Namespace(max_tokens=8, temperature=0.5, system="Be brief.")
    asked = load_script().make_question(options)({**ROW, "system": "Its own."})
    assert asked["messages"][0]["content"] == "Be brief.\n\nIts own."


@pytest.mark.parametrize(("limit", "status"), [(8, "truncated"), (9, "ok")])
def test_answers_keep_the_key_and_say_whether_they_were_cut(limit: int, status: str) -> None:
    given = {**ROW, "messages": [], "generated_text": "She", "num_generated_tokens": 8}
    key = {"id": "a", "repetition": 2, "item_number": 7}
    answer = load_script().make_answer(limit)(given)
    assert answer == {**key, "answer": "She", "status": status}


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


def import_quietly(name: str) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return importlib.import_module(name)


@needs_ray
@pytest.mark.parametrize("error", ["", "out of memory"], ids=["answered", "failed"])
def test_ray_passes_the_key_of_a_prompt_on_to_its_answer(error: str) -> None:
    """What Ray makes of our two functions around its stages, of which there are none here."""
    base = import_quietly("ray.llm._internal.batch.processor.base")
    stages = import_quietly("ray.llm._internal.batch.stages.chat_template_stage")
    # What the script imports; importing it warns.
    import_quietly("ray.data.llm")
    stage = stages.ChatTemplateStage
    script = load_script()
    options = argparse.Namespace(
        model="m",
        engines=1,
        gpus_per_engine=1,
        block=4,
        max_tokens=8,
        temperature=0.5,
        system=None,
    )
    processor = base.Processor(
        script.configure_vllm(options),
        [],
        preprocess=script.make_question(options),
        postprocess=script.make_answer(8),
    )
    key = {"id": "a", "repetition": 2, "item_number": 7}
    asked = processor.preprocess({**key, "prompt": "Who?"})
    [data] = asked.values()
    built = stage.model_construct(fn_constructor_kwargs={}, map_batches_kwargs={})
    assert {*built.get_required_input_keys(), "sampling_params"} <= data.keys()
    data |= {"generated_text": "She", "num_generated_tokens": 1, script.ERROR: error}
    row = processor.postprocess(asked)
    assert key.items() <= row.items()
    assert row[script.ERROR] == error
    if not error:
        assert row["answer"] == "She"
        assert row["status"] == "ok"


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
