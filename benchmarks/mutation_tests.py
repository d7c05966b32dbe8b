"""Which tests execute which lines of the package, for `benchmarks.mutate`.

Each test file is recorded in a process of its own, in a copy of the repository. A recording is
kept until the package, the test file or what the tests share changes.
"""

from __future__ import annotations

import ast
import hashlib
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from queue import SimpleQueue

from benchmarks.mutants import FUNCTIONS, Mutant, last_line_of_head, names_bound_by

HERE = Path(__file__).parents[1]
"""The folder above the plugin of pytest."""
MEMORY = Path("/dev/shm")
"""Copies are made here if there is room: the tests write thousands of files."""
MEMORY_NEEDED = 4 * 2**30
LIMIT_OF_DATA = 6 * 2**30
"""What a process of tests may allocate: a mutant may never stop allocating."""
RUNNING: set[subprocess.Popen[bytes]] = set()
"""The processes of tests that are running now."""
RECORDING_SECONDS = 900
"""How long the recording of one test file may take."""
RECORDING_FORMAT = "1"
"""It changes when recordings are made in another way, so that older ones are made again."""
NEIGHBOURS_SECONDS = 20.0
"""How long those tests may take that are in the same file as a test that executes a line."""


@dataclass(frozen=True, kw_only=True)
class Test:
    """A test that passed when it was recorded."""

    name: str
    """As pytest writes it: tests/test_x.py::test_y[z]."""
    seconds: float
    processes: bool
    """Whether the test, or a fixture that it uses, starts processes."""

    @property
    def file(self) -> str:
        """The file of the test."""
        return self.name.partition("::")[0]


@dataclass(frozen=True, kw_only=True)
class Selected:
    """The tests that are run for a mutant, in their order."""

    tests: Sequence[Test]
    left_out: int
    """How many tests also execute the statement, and are not run because they take too long."""


def take_seconds(tests: Sequence[Test], seconds: float) -> list[Test]:
    """The first tests that together take no more than these seconds, and always the very first."""
    taken: list[Test] = []
    for test in tests:
        seconds -= test.seconds
        if taken and seconds < 0:
            break
        taken.append(test)
    return taken


@dataclass(kw_only=True)
class TestMap:
    """The tests, and which of them execute each line of each module."""

    root: Path
    tests: list[Test] = field(default_factory=list)
    lines: dict[str, dict[int, list[int]]] = field(default_factory=dict)
    """File, line, and the places of the tests in `tests`."""
    keys: dict[str, str] = field(default_factory=dict)
    """The key of the recording of each test file."""

    @cached_property
    def identity(self) -> str:
        """A name for everything that was recorded."""
        return _digest([f"{file} {key}" for file, key in sorted(self.keys.items())])

    def add(self, file: str, recording: Mapping[str, object]) -> None:
        """Add the recording of a test file."""
        first = len(self.tests)
        recorded: list[dict[str, object]] = recording["tests"]  # type: ignore[assignment]
        self.tests.extend(Test(**test) for test in recorded)  # type: ignore[arg-type]
        self.keys[file] = str(recording["key"])
        lines: dict[str, dict[str, list[int]]] = recording["lines"]  # type: ignore[assignment]
        for path, executed in lines.items():
            known = self.lines.setdefault(path, {})
            for line, numbers in executed.items():
                known.setdefault(int(line), []).extend(first + number for number in numbers)

    def select(self, mutant: Mutant, *, own: Sequence[str], budget: float) -> Selected:
        """The tests for a mutant: those that execute its statement, then some of the same files.

        The others may use what the first have computed, if the test module keeps it.
        The tests of the module itself (test_bounds.py for bounds.py) come first, then the area's own,
        and among them the fastest. Tests that start processes are only taken if no other test
        executes the statement.
        """
        named_after_module = f"test_{Path(mutant.path).stem}.py"
        executing = self._executing(mutant)
        quick = {place for place in executing if not self.tests[place].processes}
        chosen = quick or executing
        files = {self.tests[place].file for place in chosen}
        beside = {
            place
            for place, test in enumerate(self.tests)
            if test.file in files and place not in chosen and not test.processes
        }

        def rank(place: int) -> tuple[bool, bool, float, str]:
            test = self.tests[place]
            is_own = test.file.startswith(tuple(own))
            is_of_module = is_own and Path(test.file).name == named_after_module
            return not is_of_module, not is_own, test.seconds, test.name

        ranked = [self.tests[place] for place in sorted(chosen, key=rank)]
        neighbours = [self.tests[place] for place in sorted(beside, key=rank)]
        within_budget = take_seconds(ranked, budget)
        left = budget - sum(test.seconds for test in within_budget)
        return Selected(
            tests=[*within_budget, *take_seconds(neighbours, min(left, NEIGHBOURS_SECONDS))],
            left_out=len(ranked) - len(within_budget),
        )

    def _executing(self, mutant: Mutant) -> set[int]:
        """The tests that execute the statement of a mutant, or that use what it defines."""
        if mutant.function is not None:
            return self._tests_of(mutant.path, mutant.first_line, mutant.last_line)
        places: set[int] = set()
        for name in self._names_that_depend_on(mutant.bound_names):
            for path, first, last in self._uses.statements[name]:
                places |= self._tests_of(path, first, last)
        if places:
            return places
        for path, first, last in self._uses.functions[mutant.path]:
            places |= self._tests_of(path, first, last)
        return places

    def _tests_of(self, path: str, first: int, last: int) -> set[int]:
        """The tests that execute any of these lines."""
        executed = self.lines.get(path, {})
        places: set[int] = set()
        for line in range(first, last + 1):
            places.update(executed.get(line, ()))
        return places

    def _names_that_depend_on(self, names: Iterable[str]) -> set[str]:
        """The names, and those that are given a value from them when a module is imported."""
        found = set(names)
        waiting = list(found)
        while waiting:
            for name in self._uses.definitions[waiting.pop()] - found:
                found.add(name)
                waiting.append(name)
        return found

    @cached_property
    def _uses(self) -> Uses:
        uses = Uses()
        for file in sorted((self.root / "src").rglob("*.py")):
            path = file.relative_to(self.root).as_posix()
            uses.read(path, ast.parse(file.read_text(encoding="utf-8")))
        return uses


Lines = tuple[str, int, int]
"""A file, and the first and the last line of a statement in it."""


@dataclass(frozen=True, kw_only=True)
class Uses:
    """Where names are used in the package."""

    statements: dict[str, list[Lines]] = field(default_factory=lambda: defaultdict(list))
    """For each name, the statements inside functions that use it, or inside this function."""
    definitions: dict[str, set[str]] = field(default_factory=lambda: defaultdict(set))
    """For each name, the names that are defined by it outside functions."""
    functions: dict[str, list[Lines]] = field(default_factory=lambda: defaultdict(list))
    """For each file, the statements inside functions."""

    def read(self, path: str, module: ast.Module) -> None:
        """Add the names of a module."""
        for statement in module.body:
            self._read_statement(path, statement, function=None)

    def _read_statement(self, path: str, statement: ast.stmt, function: str | None) -> None:
        lines = (path, statement.lineno, last_line_of_head(statement))
        names = set(_names_in_head(statement))
        if function is not None:
            self.functions[path].append(lines)
            self.statements[function].append(lines)
            for name in names:
                self.statements[name].append(lines)
        elif not isinstance(statement, (ast.Import, ast.ImportFrom)):
            for name in names:
                self.definitions[name].update(names_bound_by(statement))
        inner = statement.name if isinstance(statement, FUNCTIONS) else function
        for below in _statements_below(statement):
            self._read_statement(path, below, inner)


def _statements_below(node: ast.AST) -> Iterator[ast.stmt]:
    """The innermost statements that a compound statement holds."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.stmt):
            yield child
        elif not isinstance(child, ast.expr):
            yield from _statements_below(child)


def _names_in_head(node: ast.AST) -> Iterator[str]:
    """The names that a statement mentions, without the statements that it holds."""
    if isinstance(node, ast.Name):
        yield node.id
    if isinstance(node, ast.Attribute):
        yield node.attr
    for child in ast.iter_child_nodes(node):
        if not isinstance(child, ast.stmt):
            yield from _names_in_head(child)


def load_tests(root: Path, work: Path, files: Sequence[str], jobs: int) -> TestMap:
    """What the test files execute: recorded now, if that was not done for these files before."""
    folder = work / "recordings"
    folder.mkdir(parents=True, exist_ok=True)
    shared = _digest_shared(root)
    keys = {file: _digest([shared, _digest_file(root / file)]) for file in files}
    stored = {file: folder / f"{_digest([file])}.json" for file in files}
    missing = [file for file in files if _read_key(stored[file]) != keys[file]]
    if missing:
        print(f"recording {len(missing)} of {len(files)} test files", flush=True)
        with copies_of(root, jobs) as copies, ThreadPoolExecutor(jobs) as pool:
            stopped = threading.Event()

            def record_one(file: str) -> None:
                if not stopped.is_set():
                    record(file, copies=copies, key=keys[file], path=stored[file])

            with ending_processes(stopped):
                list(pool.map(record_one, missing))
    known = TestMap(root=root)
    for file in files:
        known.add(file, json.loads(stored[file].read_text()))
    return known


def _read_key(path: Path) -> str | None:
    """The key of a recording; None if there is none."""
    if not path.is_file():
        return None
    key: str = json.loads(path.read_text())["key"]
    return key


def record(file: str, *, copies: SimpleQueue[Path], key: str, path: Path) -> None:
    """Record the tests of one file."""
    copy = copies.get()
    try:
        raw = copy / ".recorded.json"
        raw.unlink(missing_ok=True)
        options = ["--record-lines", str(raw), file]
        outcome = run_pytest(copy, options, limit=RECORDING_SECONDS)
        if not raw.is_file():
            raise SystemExit(f"{file} could not be recorded:\n{outcome.output}")
        recording = json.loads(raw.read_text())
        recording["key"] = key
        temporary = path.with_suffix(".part")
        temporary.write_text(json.dumps(recording))
        temporary.replace(path)
        seconds = sum(test["seconds"] for test in recording["tests"])
        print(f"  {file}: {len(recording['tests'])} tests passed, {seconds:.1f} s", flush=True)
    finally:
        copies.put(copy)


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """How a process of tests ended."""

    code: int | None
    """The exit code; None if it took too long."""
    output: str


def run_pytest(copy: Path, options: Sequence[str], *, limit: float) -> Outcome:
    """Run pytest in a copy of the repository, without reading or writing anything outside of it."""
    temporary = copy / ".tmp"
    shutil.rmtree(temporary, ignore_errors=True)
    temporary.mkdir()
    variables = {
        **os.environ,
        "PYTHONPATH": f"{copy / 'src'}:{copy}:{HERE}",
        "POLARS_MAX_THREADS": "1",
        "OPENBLAS_NUM_THREADS": "1",
        "TMPDIR": str(temporary),
    }
    command = [sys.executable, "-m", "pytest", "-q", "--tb=line", "-p", "no:cacheprovider"]
    plugin = ["-p", "benchmarks.mutation_plugin"]
    with subprocess.Popen(
        [*command, *plugin, *options],
        cwd=copy,
        env=variables,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        start_new_session=True,
    ) as process:
        RUNNING.add(process)
        _limit_memory(process.pid)
        try:
            output, _ = process.communicate(timeout=limit)
            code: int | None = process.returncode
        except subprocess.TimeoutExpired:
            output = b""
            code = None
        finally:
            RUNNING.discard(process)
            _end(process)
    return Outcome(code=code, output=output.decode(errors="replace")[-4000:])


@contextmanager
def ending_processes(stopped: threading.Event) -> Iterator[None]:
    """If the block is interrupted, set the event and end the processes of tests."""
    try:
        yield
    except BaseException:
        stopped.set()
        for process in list(RUNNING):
            _end(process)
        raise


def _limit_memory(pid: int) -> None:
    """Limit what a process may allocate, where the system can do that."""
    if sys.platform == "linux":
        import resource  # noqa: PLC0415 - there is no such module elsewhere

        resource.prlimit(pid, resource.RLIMIT_DATA, (LIMIT_OF_DATA, LIMIT_OF_DATA))


def _end(process: subprocess.Popen[bytes]) -> None:
    """End a process and all that it has started and not ended."""
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        return


@contextmanager
def copies_of(root: Path, count: int) -> Iterator[SimpleQueue[Path]]:
    """Copies of the repository, one for each job, which are deleted in the end."""
    place = MEMORY if MEMORY.is_dir() and shutil.disk_usage(MEMORY).free > MEMORY_NEEDED else None
    temporary = tempfile.TemporaryDirectory(
        prefix="mutants-",
        dir=place,
        ignore_cleanup_errors=True,
    )
    with temporary as folder:
        copies: SimpleQueue[Path] = SimpleQueue()
        for number in range(count):
            copy = Path(folder) / str(number)
            _copy_repository(root, copy)
            copies.put(copy)
        yield copies


def _copy_repository(root: Path, target: Path) -> None:
    """Copy the files of the repository, with changes that are not committed yet."""
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    listed = subprocess.run(command, cwd=root, capture_output=True, check=True).stdout
    for name in listed.decode().split("\0"):
        source = root / name
        if name and source.is_file():
            (target / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(source, target / name)


def list_test_files(root: Path) -> list[str]:
    """All test files of the repository."""
    files = (root / "tests").rglob("test_*.py")
    return sorted(file.relative_to(root).as_posix() for file in files)


def _digest_shared(root: Path) -> str:
    """A digest of the package and of what its tests share."""
    files = [file for file in (root / "src").rglob("*") if file.is_file()]
    files += [file for file in (root / "tests").rglob("*.py") if not file.match("test_*.py")]
    files.append(root / "pyproject.toml")
    kept = [file for file in sorted(files) if "__pycache__" not in file.parts]
    named = [f"{file.relative_to(root)} {_digest_file(file)}" for file in kept]
    return _digest([RECORDING_FORMAT, *named])


def _digest_file(file: Path) -> str:
    return hashlib.sha256(file.read_bytes()).hexdigest()


def _digest(texts: Iterable[str]) -> str:
    return hashlib.sha256("\0".join(texts).encode()).hexdigest()[:24]
