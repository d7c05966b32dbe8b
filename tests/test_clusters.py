"""The commands of docs/clusters.md work as they stand there, on a small sample."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from equipoise.probes import get_probe
from equipoise.settings import environment

PAGE = (Path(__file__).parents[1] / "docs" / "clusters.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```bash\n(.*?)^```", PAGE, flags=re.MULTILINE | re.DOTALL)
SHARDS = 3


def find_block(*words: str) -> str:
    """The block of the page with these words, for a small sample in few shards."""
    (block,) = (block for block in BLOCKS if all(word in block for word in words))
    assert isinstance(block, str)
    return block.replace("--sample all", "--sample 24").replace("--shards 64", f"--shards {SHARDS}")


@pytest.mark.skipif(os.name != "posix", reason="needs bash")
def test_the_page_from_prompts_to_partials(tmp_path: Path) -> None:
    command = tmp_path / "bin" / "equipoise"
    command.parent.mkdir()
    command.write_text(f'#!/bin/bash\nexec "{sys.executable}" -m equipoise "$@"\n')
    command.chmod(0o755)

    def run(block: str, **variables: str) -> str:
        path = f"{command.parent}{os.pathsep}{environment()['PATH']}"
        given = {**environment(), **variables, "PATH": path}
        done = subprocess.run(["bash", "-ec", block], cwd=tmp_path, env=given, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        return done.stdout

    run(find_block("equipoise prompts"))
    files = sorted((tmp_path / "prompts").iterdir())
    assert [path.name for path in files] == [f"prompts-{number:05}.parquet" for number in range(1, SHARDS + 1)]
    (tmp_path / "answers").mkdir()
    for path in files:
        prompts = pl.read_parquet(path)
        answers = get_probe("hiring_an").simulate(prompts, "stereotyping", np.random.default_rng(1))
        kept = prompts.select(name for name in ("id", "repetition", "item_number") if name in prompts.columns)
        kept.with_columns(pl.Series("answer", answers)).write_parquet(
            tmp_path / "answers" / path.name.replace("prompts", "answers")
        )
    (whole,) = (block for block in BLOCKS if block.startswith("equipoise score answers/") and "--engine" not in block)
    at_once = run(whole.replace("--sample all", "--sample 24"))
    for number in range(1, SHARDS + 1):
        run(find_block("SLURM_ARRAY_TASK_ID"), SLURM_ARRAY_TASK_ID=str(number))
    added = run(find_block("equipoise score partials/"))
    assert "diff_acceptance_rate" in at_once
    assert added == at_once


def test_the_page_names_the_options_of_the_script() -> None:
    (block,) = (block for block in BLOCKS if "generate_on_ray.py" in block)
    script = (Path(__file__).parents[1] / "examples" / "generate_on_ray.py").read_text(encoding="utf-8")
    for option in re.findall(r"--[a-z-]+", f"{block} --block"):
        assert f'"{option}"' in script
