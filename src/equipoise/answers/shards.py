"""Answers in many files: which files these are, and their partials added up, with one file in memory at a time."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from equipoise.answers.files import NO_NAMES, Names
from equipoise.answers.parquet import SUFFIX as PARQUET
from equipoise.answers.parts import PartScorer
from equipoise.errors import BadFile
from equipoise.measuring.partials import SUFFIX as PARTIAL
from equipoise.measuring.partials import Partial
from equipoise.measuring.plan import Plan

ENDINGS = (PARQUET, ".jsonl", ".jsonl.out", ".csv", ".tsv", PARTIAL)
"""What is read from a folder; Bedrock names its output `.jsonl.out`. A single file may have any name."""
_PATTERN = "*?["


class ShardsDone(NamedTuple):
    """How many of the files are done, and how many answers were in them."""

    done: int
    files: int
    answers: int


OnShard = Callable[[ShardsDone], None]


def find_shards(sources: Sequence[Path]) -> list[Path]:
    """The files that are meant: named themselves, in a folder, or by a pattern such as `answers/*.parquet`."""
    return [path for source in sources for path in _find_files(source)]


def _find_files(source: Path) -> list[Path]:
    if source.is_dir():
        found = [path for path in _list_folder(source) if _is_read(path)]
        if not found:
            raise BadFile(f"The folder {source} holds no answers: no file that ends with {', '.join(ENDINGS)}.")
        return found
    if any(letter in str(source) for letter in _PATTERN) and not source.exists():
        base = Path(source.anchor)
        found = [path for path in base.glob(str(source.relative_to(base))) if path.is_file()]
        return sorted(found) or [source]  # whoever reads it says that there is no such file
    return [source]


def find_left_out(sources: Sequence[Path]) -> list[Path]:
    """What stands in the folders among these and is not read."""
    folders = [source for source in sources if source.is_dir()]
    return [path for folder in folders for path in _list_folder(folder) if not _is_read(path)]


def _list_folder(folder: Path) -> list[Path]:
    """What is in a folder, but for names that begin with "." or "_": notes of the tools that wrote the rest."""
    return sorted(path for path in folder.iterdir() if path.name[0] not in "._")


def _is_read(path: Path) -> bool:
    return path.name.lower().endswith(ENDINGS) and path.is_file()


def score_shards(
    planned: Plan, files: Sequence[Path], names: Names = NO_NAMES, on_shard: OnShard | None = None
) -> Partial:
    """The partial of all files, scored one after the other in this process."""
    scorer = PartScorer(planned)
    return Partial.sum(report_shards((scorer.score_file(path, names) for path in files), len(files), on_shard))


def read_partials(files: Sequence[Path], on_shard: OnShard | None = None) -> Partial:
    """Files of partials, added up."""
    return Partial.sum(report_shards(map(Partial.read, files), len(files), on_shard))


def report_shards(partials: Iterable[Partial], files: int, on_shard: OnShard | None) -> Iterator[Partial]:
    """The same partials; each is reported when it is there."""
    answers = 0
    for done, partial in enumerate(partials, 1):
        answers += partial.answers
        if on_shard:
            on_shard(ShardsDone(done, files, answers))
        yield partial
