"""The commands of docs/clusters.md work as they stand there, on a small sample."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from calling import Command, output
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
def test_the_page_from_prompts_to_partials(tmp_path: Path, command: Command) -> None:
    def run(block: str, **variables: str) -> str:
        """Bash says which commands the block is, and they are run in this process."""
        script = f"equipoise() {{ printf '%q ' \"$@\"; echo; }}\n{block}"
        given = {**environment(), **variables}
        done = subprocess.run(["bash", "-ec", script], env=given, capture_output=True, text=True, check=True)
        return "".join(output(command(*shlex.split(line))) for line in done.stdout.splitlines())

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


def test_the_page_names_options_that_the_script_has() -> None:
    (block,) = [block for block in BLOCKS if "generate_on_ray.py" in block]
    path = Path(__file__).parents[1] / "examples" / "generate_on_ray.py"
    script = path.read_text(encoding="utf-8")
    options = [*re.findall(r"--[a-z-]+", block), "--block"]
    assert options
    assert [option for option in options if f'"{option}"' not in script] == []
