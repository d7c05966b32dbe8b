"""Mutation testing: change the code in many small ways, and see whether a test fails each time.

    python -m benchmarks.mutate --area statistics --count 300 --seed 1 --report survivors.md
    python -m benchmarks.mutate --record        only record which tests execute which lines

The changes are drawn at random with a seed. Mutants run in copies of the repository, never in the
repository itself. For each mutant, only the tests that execute the changed statement are run, and
only until one of them fails. A mutant that takes too long counts as killed. A survivor shows a
line that the tests do not check, or a change that makes no difference: the latter are explained in
`equivalent_mutants.toml` and counted apart.

What was recorded and found out is kept in the folder --work. So a second run only does what is
left, and what has changed since.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import signal
import sys
import tempfile
import threading
import time
import tomllib
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from pathlib import Path

from benchmarks.mutants import FINDERS, Mutant, find_mutants
from benchmarks.mutation_tests import (
    Selected,
    Test,
    TestMap,
    copies_of,
    ending_processes,
    list_test_files,
    load_tests,
    run_pytest,
)

ROOT = Path(__file__).parents[1]
EXPLANATIONS = Path("benchmarks", "equivalent_mutants.toml")
WORK = Path(tempfile.gettempdir()) / "equipoise-mutants"
ARITHMETIC_KINDS = (
    "arithmetic",
    "comparison",
    "boolean",
    "number",
    "sign",
    "axis",
    "function",
    "condition",
)
FIRST_SECONDS = 5.0
"""The tests of a mutant are run in two processes. The first has tests of about this length, and
kills most mutants."""
BUDGET = 60.0
STARTING_SECONDS = 30.0
SLOWDOWN = 8.0
"""The tests of a mutant may take this many times as long as when they were recorded, and
STARTING_SECONDS more."""
KILLED = "killed"
TIMED_OUT = "timed out"
SURVIVED = "survived"
NOT_EXECUTED = "not executed"
"""No test executes the changed line."""
EQUIVALENT_STATUS = "equivalent"
"""The mutant survived, and it is explained why it makes no difference."""
STATUSES = (KILLED, TIMED_OUT, SURVIVED, NOT_EXECUTED, EQUIVALENT_STATUS)


@dataclass(frozen=True, kw_only=True)
class Area:
    """Modules that are changed together, and how."""

    modules: tuple[str, ...]
    """Paths of modules and folders in the repository. A missing one is no error."""
    kinds: tuple[str, ...]
    """The kinds of change."""
    tests: tuple[str, ...]
    """Where the tests of these modules are: they are run first."""


AREAS = {
    "statistics": Area(
        modules=("src/equipoise/stats", "src/equipoise/measuring"),
        kinds=ARITHMETIC_KINDS,
        tests=(
            "tests/stats/",
            "tests/measuring/",
            "tests/authoring/",
            "tests/probes/test_contracts.py",
        ),
    ),
    "other": Area(
        modules=("src/equipoise/runs", "src/equipoise/answers", "src/equipoise/report"),
        kinds=tuple(FINDERS),
        tests=("tests/runs/", "tests/answers/", "tests/report/"),
    ),
}


@dataclass(frozen=True, kw_only=True)
class Verdict:
    """What became of a mutant."""

    key: str
    """The key of the mutant."""
    status: str
    """One of STATUSES, but for the equivalent ones."""
    seconds: float
    tests: int
    """How many tests there were to run."""
    left_out: int
    """How many more there were, for which the budget did not suffice."""
    failed: str
    """The test that killed it, if any."""
    recording: str
    """The identity of the recording that the tests were chosen by."""
    failed_key: str
    """The key of the recording of the file of the test that killed it."""
    budget: float
    """How many seconds of tests might be run."""


class Verdicts:
    """The verdicts of this run and of earlier ones, in a file with a line of JSON for each."""

    def __init__(self, path: Path, known: TestMap, budget: float) -> None:
        self.path = path
        self.budget = budget
        self.known = known
        self.lock = threading.Lock()
        self.by_key: dict[str, Verdict] = {}
        if path.is_file():
            for line in path.read_text(encoding="utf-8").splitlines():
                self._read(line)

    def _read(self, line: str) -> None:
        try:
            verdict = Verdict(**json.loads(line))
        except (ValueError, TypeError):
            return  # the line was being written when the run was interrupted
        self.by_key[verdict.key] = verdict

    def find(self, mutant: Mutant) -> Verdict | None:
        """The verdict on a mutant, if it still holds.

        A mutant stays killed until the test that killed it changes. It may have survived only
        because of a test that was not there yet, so that any change makes it run again.
        """
        verdict = self.by_key.get(mutant.key)
        if verdict is None:
            return None
        if verdict.recording == self.known.identity:
            enough = verdict.budget >= self.budget or verdict.left_out == 0
            return verdict if verdict.failed or enough else None
        file = verdict.failed.partition("::")[0]
        if verdict.failed and verdict.failed_key == self.known.keys.get(file):
            return verdict
        return None

    def add(self, verdict: Verdict) -> None:
        """Keep a verdict."""
        with self.lock, self.path.open("a", encoding="utf-8") as file:
            self.by_key[verdict.key] = verdict
            file.write(json.dumps(asdict(verdict)) + "\n")


def draw_mutants(root: Path, area: Area, count: int, seed: int) -> list[Mutant]:
    """Draw mutants of an area at random: as many as wanted, or all there are."""
    candidates: list[Mutant] = []
    for path in list_modules(root, area):
        text = (root / path).read_text(encoding="utf-8")
        candidates.extend(find_mutants(path, text, area.kinds))
    random.Random(seed).shuffle(candidates)
    drawn: list[Mutant] = []
    for mutant in candidates:
        if len(drawn) == count:
            break
        if mutant.is_another_program():
            drawn.append(mutant)
    return sorted(drawn, key=lambda mutant: (mutant.path, mutant.change))


def list_modules(root: Path, area: Area) -> list[str]:
    """The paths of the modules of an area."""
    files: list[Path] = []
    for name in area.modules:
        place = root / name
        files.extend(place.rglob("*.py") if place.is_dir() else place.parent.glob(place.name))
    return sorted(file.relative_to(root).as_posix() for file in files)


def judge(mutant: Mutant, selected: Selected, verdicts: Verdicts, copy: Path) -> Verdict:
    """Run the tests of a mutant in a copy of the repository."""
    started = time.monotonic()
    known = verdicts.known
    status = SURVIVED if selected.tests else NOT_EXECUTED
    failed = ""
    target = copy / mutant.path
    original = target.read_bytes()
    try:
        target.write_text(mutant.mutated_text, encoding="utf-8")
        # Python recognises a compiled module by the time and the size of its source.
        _drop_compiled(target)
        for part in split_tests(selected.tests):
            status, failed = run_tests(part, copy)
            if status != SURVIVED:
                break
    finally:
        target.write_bytes(original)
        _drop_compiled(target)
    return Verdict(
        key=mutant.key,
        status=status,
        seconds=round(time.monotonic() - started, 2),
        tests=len(selected.tests),
        left_out=selected.left_out,
        failed=failed,
        recording=known.identity,
        failed_key=known.keys.get(failed.partition("::")[0], ""),
        budget=verdicts.budget,
    )


def _drop_compiled(module: Path) -> None:
    for compiled in (module.parent / "__pycache__").glob(f"{module.stem}.*.pyc"):
        compiled.unlink(missing_ok=True)


def split_tests(tests: Sequence[Test]) -> list[Sequence[Test]]:
    """The tests in two parts: those of the first seconds, and the others."""
    seconds = 0.0
    for place, test in enumerate(tests):
        seconds += test.seconds
        if place and seconds > FIRST_SECONDS:
            return [tests[:place], tests[place:]]
    return [tests] if tests else []


def run_tests(tests: Sequence[Test], copy: Path) -> tuple[str, str]:
    """Whether one of these tests fails, and which one."""
    wanted = copy / ".wanted.json"
    noted = wanted.with_suffix(".failed")
    noted.unlink(missing_ok=True)
    wanted.write_text(json.dumps([test.name for test in tests]))
    files = sorted({test.file for test in tests})
    limit = STARTING_SECONDS + SLOWDOWN * sum(test.seconds for test in tests)
    outcome = run_pytest(copy, ["-x", "--only-tests", str(wanted), *files], limit=limit)
    if outcome.code is None:
        return TIMED_OUT, ""
    if outcome.code == 0:
        return SURVIVED, ""
    if outcome.code < 0:
        return KILLED, f"signal {-outcome.code} ended the tests"
    if "no such test" in outcome.output:
        return KILLED, "the test modules define other tests"
    if noted.is_file():
        return KILLED, noted.read_text()
    return KILLED, "the test modules cannot be imported"


def judge_all(
    mutants: Sequence[Mutant],
    area: Area,
    verdicts: Verdicts,
    jobs: int,
) -> None:
    """Run the tests of all mutants that have no verdict yet."""
    waiting = [mutant for mutant in mutants if verdicts.find(mutant) is None]
    print(f"{len(mutants)} mutants, of which {len(waiting)} are to be tested", flush=True)
    done = Counter[str]()
    stopped = threading.Event()
    with copies_of(verdicts.known.root, jobs) as copies, ThreadPoolExecutor(jobs) as pool:

        def work_on(mutant: Mutant) -> None:
            if stopped.is_set():
                return
            selected = verdicts.known.select(mutant, own=area.tests, budget=verdicts.budget)
            copy = copies.get()
            try:
                verdict = judge(mutant, selected, verdicts, copy)
            finally:
                copies.put(copy)
            if stopped.is_set():
                return  # its tests were ended, not failed
            verdicts.add(verdict)
            done[verdict.status] += 1
            place = f"{mutant.path.removeprefix('src/equipoise/')}:{mutant.line}"
            number = f"{done.total()}/{len(waiting)}"
            print(f"{number} {verdict.status:12} {verdict.seconds:5.1f} s  {place}", flush=True)

        with ending_processes(stopped):
            list(pool.map(work_on, waiting))


def load_explanations(path: Path) -> dict[tuple[str, str, str], str]:
    """Why some mutants make no difference: by file, original lines and changed lines."""
    if not path.is_file():
        return {}
    listed = tomllib.loads(path.read_text(encoding="utf-8")).get("mutant", [])
    return {(one["file"], one["original"], one["mutated"]): one["why"] for one in listed}


def format_report(
    mutants: Sequence[Mutant],
    verdicts: Verdicts,
    explanations: dict[tuple[str, str, str], str],
) -> str:
    """The counts by module, and each survivor as a difference, as Markdown."""
    counts: dict[str, Counter[str]] = {}
    survivors: list[str] = []
    explained: list[str] = []
    for mutant in mutants:
        verdict = verdicts.find(mutant)
        if verdict is None:
            continue
        status = verdict.status
        why = explanations.get((mutant.path, mutant.original_lines, mutant.mutated_lines))
        if why is not None and status in (SURVIVED, NOT_EXECUTED):
            status = EQUIVALENT_STATUS
            explained.append(f"{_format_mutant(mutant)}\n{why}\n")
        elif status in (SURVIVED, NOT_EXECUTED):
            note = f"{verdict.tests} tests pass."
            if verdict.left_out:
                note += f" {verdict.left_out} more execute this line, and were not run."
            if status == NOT_EXECUTED:
                note = "No test executes this line."
            survivors.append(f"{_format_mutant(mutant)}\n{note}\n")
        counts.setdefault(mutant.path, Counter())[status] += 1
    parts = ["## Mutants\n", _format_counts(counts)]
    parts += [f"## Survivors: {len(survivors)}\n", *survivors]
    if explained:
        parts += [f"## Explained: {len(explained)}\n", *explained]
    return "\n".join(parts)


def _format_mutant(mutant: Mutant) -> str:
    """A mutant as a difference."""
    removed = mutant.original_lines.replace("\n", "\n-")
    added = mutant.mutated_lines.replace("\n", "\n+")
    return f"{mutant.path}:{mutant.line} ({mutant.kind})\n\n```diff\n-{removed}\n+{added}\n```"


def _format_counts(counts: dict[str, Counter[str]]) -> str:
    """A table with a row for each module and one for all of them."""
    lines = [f"| module | {' | '.join(STATUSES)} |", f"| --- |{' ---: |' * len(STATUSES)}"]
    total = Counter[str]()
    for path, counted in sorted(counts.items()):
        total += counted
        lines.append(f"| {path} | {' | '.join(str(counted[status]) for status in STATUSES)} |")
    lines.append(f"| all | {' | '.join(str(total[status]) for status in STATUSES)} |")
    return "\n".join(lines) + "\n"


def parse_arguments(arguments: Sequence[str] | None) -> argparse.Namespace:
    """The options of the command."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.mutate", description=__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("--area", choices=sorted(AREAS), default="statistics")
    parser.add_argument("--count", type=int, default=300, help="how many mutants (default: 300)")
    parser.add_argument("--seed", type=int, default=1, help="which mutants (default: 1)")
    parser.add_argument("--jobs", type=int, default=2, help="how many at a time (default: 2)")
    parser.add_argument(
        "--budget",
        type=float,
        default=BUDGET,
        help=f"seconds of tests for each mutant, as they were recorded (default: {BUDGET:.0f})",
    )
    parser.add_argument("--report", type=Path, help="write the survivors to this file")
    parser.add_argument("--work", type=Path, default=WORK, help=f"default: {WORK}")
    parser.add_argument("--record", action="store_true", help="only record what the tests execute")
    parser.add_argument(
        "--tests",
        nargs="+",
        metavar="FILE",
        help="only these test files (default: all of tests/)",
    )
    return parser.parse_args(arguments)


def main(arguments: Sequence[str] | None = None, root: Path = ROOT) -> int:
    """Run the command; the exit code is 1 if a mutant survived that nobody has explained."""
    options = parse_arguments(arguments)
    options.work.mkdir(parents=True, exist_ok=True)
    files = options.tests or list_test_files(root)
    known = load_tests(root, options.work, files, options.jobs)
    if options.record:
        return 0
    area = AREAS[options.area]
    mutants = draw_mutants(root, area, options.count, options.seed)
    verdicts = Verdicts(options.work / "verdicts.jsonl", known, options.budget)
    started = time.monotonic()
    judge_all(mutants, area, verdicts, options.jobs)
    report = format_report(mutants, verdicts, load_explanations(root / EXPLANATIONS))
    print(report)
    used = os.times()
    seconds = f"{time.monotonic() - started:.0f} s"
    print(f"{seconds}, and {used.children_user + used.children_system:.0f} s of CPU")
    if options.report:
        options.report.write_text(report, encoding="utf-8")
    return int("## Survivors: 0\n" not in report)


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        print("Interrupted. The same command does what is left.", file=sys.stderr)
        sys.exit(130)
