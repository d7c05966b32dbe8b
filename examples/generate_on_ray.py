"""Answer prompts with vLLM on a Ray cluster, from Parquet to Parquet, and go on where a killed job stopped.

    equipoise prompts hiring_an --sample all --format parquet --shards 64 -o prompts/
    python examples/generate_on_ray.py prompts/ answers/ --model meta-llama/Llama-3.1-8B-Instruct --max-tokens 256
    equipoise score answers/ --probe hiring_an --sample all

The answers are the checkpoint. Prompts are read, asked and written in small blocks; a block is one file, which appears
under its name when it is complete. A job that is started again reads which answers are there, by id and repetition,
and asks for the others. A killed job loses the blocks under way: with 8 engines and blocks of 500, a few thousand
answers of millions. Both folders must be seen under the same path by all nodes. Start one job at a time for a folder.
"""

from __future__ import annotations

import argparse
import hashlib
import importlib
import math
import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import polars as pl

KEY = ["id", "repetition"]
PASSED_ON = ["item_number"]
"""Columns of the prompts that scoring wants to see again, where they are there."""
ERROR = "__inference_error__"
Row = dict[str, Any]
Processor = Callable[[Any], Any]


def main() -> None:
    """Ask for what is not answered yet; exit code 1 if something is missing in the end."""
    options = parse_options()
    options.answers.mkdir(parents=True, exist_ok=True)
    answered = settle(options.answers)
    blocks = list(find_pending(options.prompts, answered, options.block))
    planned = count_prompts(options.prompts)
    print(f"{planned:,} prompts, {answered.height:,} answered, {len(blocks):,} blocks to ask", flush=True)
    if blocks:
        generate(blocks, options)
    missing = planned - settle(options.answers).height
    print(f"{planned - missing:,} answers in {options.answers}, {missing:,} missing", flush=True)
    if missing:
        sys.exit("Start the same command again: it asks only for what is missing.")


def parse_options() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("prompts", type=Path, help="folder with Parquet files of equipoise prompts")
    parser.add_argument("answers", type=Path, help="folder for Parquet files of answers")
    parser.add_argument("--model", required=True, help="what vLLM loads: a name on the hub or a folder")
    parser.add_argument("--max-tokens", type=int, required=True, help="limit of an answer; see: equipoise probes NAME")
    parser.add_argument("--temperature", type=float, default=1.0)
    parser.add_argument("--system", help="a system message before every prompt")
    parser.add_argument("--engines", type=int, default=1, help="how many copies of the model are loaded")
    parser.add_argument("--gpus-per-engine", type=int, default=1, help="tensor parallelism")
    parser.add_argument("--block", type=int, default=500, help="answers per file, which is what a kill may cost")
    parser.add_argument("--address", help="of the Ray cluster; default: $RAY_ADDRESS, or Ray on this machine")
    parser.add_argument("--processor", default="generate_on_ray:build_vllm", help="another engine, as MODULE:FUNCTION")
    return parser.parse_args()


def read_keys(path: Path) -> pl.DataFrame:
    """The keys of a file of prompts or answers. A file without repetitions has one of each."""
    stored = pl.scan_parquet(path, glob=False)
    repetition = pl.col("repetition") if "repetition" in stored.collect_schema() else pl.lit(1).alias("repetition")
    return stored.select("id", repetition.cast(pl.Int64)).collect()


def list_files(folder: Path) -> list[Path]:
    """The Parquet files of a folder, in the order of their names."""
    return sorted(folder.glob("*.parquet"))


def count_prompts(folder: Path) -> int:
    """How many prompts there are, each as often as it is repeated."""
    return sum(pl.scan_parquet(path, glob=False).select(pl.len()).collect().item() for path in list_files(folder))


def settle(folder: Path) -> pl.DataFrame:
    """The keys of all answers. An answer that is in two files, because a killed job still wrote one, is kept once."""
    known = pl.DataFrame(schema={"id": pl.String, "repetition": pl.Int64})
    for path in list_files(folder):
        keys = read_keys(path)
        new = keys.join(known, on=KEY, how="anti").unique(maintain_order=True)
        if new.height < keys.height:
            rest = pl.read_parquet(path).unique(KEY, maintain_order=True).join(new, on=KEY, how="semi")
            write_file(rest, path)
        known = pl.concat([known, new])
    return known


def find_pending(folder: Path, answered: pl.DataFrame, size: int) -> Iterator[Row]:
    """Blocks of prompts that are not answered: the file, where the block begins, and which of its rows are meant."""
    for path in list_files(folder):
        pending = read_keys(path).with_row_index("row").join(answered, on=KEY, how="anti")["row"]
        for number, rows in pending.to_frame().group_by(pending // size, maintain_order=True):
            start = int(number[0]) * size
            yield {"file": str(path.absolute()), "start": start, "size": size, "rows": (rows["row"] - start).to_list()}


def generate(blocks: list[Row], options: argparse.Namespace) -> None:
    """Ask for these blocks and write the answers, block by block."""
    import ray  # noqa: PLC0415 - the rest of this file does without

    ray.init(address=options.address, log_to_driver=False)
    context = ray.data.DataContext.get_current()
    context.enable_progress_bars = sys.stderr.isatty()
    folder = options.answers.absolute()
    module, _, name = options.processor.partition(":")
    build = globals()[name] if module == Path(__file__).stem else getattr(importlib.import_module(module), name)
    processor: Processor = build(options, make_question(options), make_answer(options.max_tokens))
    dataset = ray.data.from_items(blocks, override_num_blocks=len(blocks))
    # A share of a core of its own keeps this step apart from the next, which would gather many blocks before it begins.
    dataset = processor(dataset.map_batches(read_block, batch_size=1, batch_format="pyarrow", num_cpus=0.5))
    written = dataset.map_batches(write_block, batch_size=None, batch_format="pyarrow", fn_args=[str(folder)])
    for batch in written.iter_batches(batch_size=None):
        print(f"{int(batch['written'].sum()):,} more answers", flush=True)


def read_block(batch: Any) -> Any:
    """The prompts of one block."""
    (block,) = batch.to_pylist()
    table = pl.scan_parquet(block["file"], glob=False).slice(block["start"], block["size"]).collect()[block["rows"]]
    if "repetition" not in table.columns:
        table = table.with_columns(pl.lit(1, pl.Int64).alias("repetition"))
    wanted = [name for name in (*KEY, *PASSED_ON, "system", "prompt") if name in table.columns]
    return table.select(wanted).to_arrow(compat_level=pl.CompatLevel.oldest())


def make_question(options: argparse.Namespace) -> Callable[[Row], Row]:
    """What makes a request of a prompt."""
    sampling = {"max_tokens": options.max_tokens, "temperature": options.temperature}
    general = options.system

    def ask(row: Row) -> Row:
        texts = [text for text in (general, row.get("system")) if text]  # both, as equipoise run sends them
        messages = [{"role": "system", "content": "\n\n".join(texts)}] if texts else []
        return {
            "messages": [*messages, {"role": "user", "content": row["prompt"]}],
            "sampling_params": sampling,
        }

    return ask


def make_answer(max_tokens: int) -> Callable[[Row], Row]:
    """What makes a row of answers of what the engine gives back."""

    def answer(row: Row) -> Row:
        passed_on = {name: row[name] for name in (*KEY, *PASSED_ON) if name in row}
        status = "truncated" if row["num_generated_tokens"] >= max_tokens else "ok"
        return {**passed_on, "answer": row["generated_text"], "status": status}

    return answer


def write_block(table: Any, folder: str) -> Any:
    """Write the answers of a block, named by their keys. What failed is left out, so that the next job asks again."""
    import pyarrow as pa  # noqa: PLC0415 - comes with Ray

    answers = pl.DataFrame(pl.from_arrow(table))
    if ERROR in answers.columns:
        answers = answers.filter(pl.col(ERROR).fill_null("") == "")
    answers = answers.select(name for name in (*KEY, *PASSED_ON, "answer", "status") if name in answers.columns)
    if answers.height:
        keys = "\n".join(f"{key} {repetition}" for key, repetition in answers.select(KEY).iter_rows())
        name = hashlib.blake2b(keys.encode(), digest_size=12).hexdigest()
        write_file(answers, Path(folder) / f"answers-{name}.parquet")
    return pa.table({"written": [answers.height]})


def write_file(answers: pl.DataFrame, path: Path) -> None:
    """Write a file that appears under its name when it is complete."""
    unfinished = path.with_suffix(f".{os.getpid()}.unfinished")
    answers.write_parquet(unfinished)
    unfinished.replace(path)


def build_vllm(options: argparse.Namespace, ask: Callable[[Row], Row], answer: Callable[[Row], Row]) -> Processor:
    """The model in vLLM, through Ray Data."""
    from ray.data.llm import build_processor  # noqa: PLC0415 - needs vLLM on the cluster

    processor: Processor = build_processor(configure_vllm(options), preprocess=ask, postprocess=answer)
    return processor


def configure_vllm(options: argparse.Namespace) -> Any:
    """How the model is loaded and asked."""
    from ray.data.llm import vLLMEngineProcessorConfig  # noqa: PLC0415 - only for this engine

    return vLLMEngineProcessorConfig(
        model_source=options.model,
        engine_kwargs={"tensor_parallel_size": options.gpus_per_engine, "enable_prefix_caching": True},
        concurrency=options.engines,
        batch_size=math.ceil(options.block / 4),
        should_continue_on_error=True,
    )


if __name__ == "__main__":
    main()
