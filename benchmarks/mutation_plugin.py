"""A pytest plugin for `benchmarks.mutate`: it records what tests execute, and runs chosen tests.

pytest -p benchmarks.mutation_plugin --record-lines FILE tests/test_x.py
pytest -p benchmarks.mutation_plugin --only-tests FILE -x tests/test_x.py
"""

from __future__ import annotations

import importlib
import json
import pkgutil
import sys
import warnings
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

PACKAGE = "equipoise"
NOT_IMPORTED = ("equipoise.engines", "equipoise.__main__", "equipoise.testing.__main__")
"""Modules that need large packages, or that run a command."""
PROCESS_EVENTS = {"subprocess.Popen", "os.fork", "os.forkpty", "os.posix_spawn"}
"""The events by which Python says that a process is started."""


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the two options."""
    group = parser.getgroup("mutation testing")
    group.addoption("--record-lines", type=Path, help="write to this file what each test executes")
    group.addoption("--only-tests", type=Path, help="run the tests in this file, in its order")


def pytest_configure(config: pytest.Config) -> None:
    """Start what the options ask for."""
    if config.getoption("record_lines"):
        config.pluginmanager.register(Recorder(config))
    if config.getoption("only_tests"):
        config.pluginmanager.register(Selection(config))


class Selection:
    """Runs chosen tests in a chosen order, and writes which one failed."""

    def __init__(self, config: pytest.Config) -> None:
        self.file: Path = config.getoption("only_tests")
        self.wanted: list[str] = json.loads(self.file.read_text())

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        """Keep the chosen tests only."""
        by_name = {item.nodeid: item for item in items}
        missing = [name for name in self.wanted if name not in by_name]
        if missing:
            raise pytest.UsageError(f"no such test: {missing[0]}")
        items[:] = [by_name[name] for name in self.wanted]

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Write down the test that failed."""
        if report.failed:
            self.file.with_suffix(".failed").write_text(report.nodeid)


class Recorder:
    """Records the lines that each test executes.

    What a shared fixture or the import of a test module executes counts for every test that uses
    it: each has a context of its own, and `users` knows the tests of each context.
    """

    def __init__(self, config: pytest.Config) -> None:
        import coverage  # noqa: PLC0415 - only a recording needs it

        self.file: Path = config.getoption("record_lines")
        self.root = config.rootpath
        self.coverage = coverage.Coverage(
            data_file=None, config_file=False, include=[f"{self.root}/src/*"], messages=False
        )
        self.context = ""
        self.users: dict[str, set[str]] = defaultdict(set)
        self.seconds: dict[str, float] = defaultdict(float)
        self.passed: dict[str, bool] = {}
        self.start_processes: set[str] = set()
        self.coverage.start()
        sys.addaudithook(self._notice_process)
        # Functions that run on import would otherwise count for the first test module only.
        with self._in_context("import"):
            _import_all_modules()

    def _notice_process(self, event: str, _: Any) -> None:
        if event in PROCESS_EVENTS:
            self.start_processes.add(self.context)

    @contextmanager
    def _in_context(self, name: str) -> Iterator[None]:
        before = self.context
        self._switch(name)
        try:
            yield
        finally:
            self._switch(before)

    def _switch(self, name: str) -> None:
        self.context = name
        self.coverage.switch_context(name)

    @pytest.hookimpl(wrapper=True)
    def pytest_make_collect_report(self, collector: pytest.Collector) -> Iterator[None]:
        """What a test module executes on import counts for all of its tests."""
        with self._in_context(f"module {collector.nodeid}"):
            return (yield)

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        """Note which tests each module and each shared fixture belongs to."""
        for item in items:
            for collector in item.listchain()[:-1]:
                self.users[f"module {collector.nodeid}"].add(item.nodeid)
            for definition in _list_fixtures(item):
                self.users[_name_fixture(definition)].add(item.nodeid)
            self.users[item.nodeid].add(item.nodeid)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Iterator[None]:
        """Record one test."""
        with self._in_context(item.nodeid):
            return (yield)

    @pytest.hookimpl(wrapper=True)
    def pytest_fixture_setup(self, fixturedef: pytest.FixtureDef[Any]) -> Iterator[None]:
        """Record a shared fixture by itself, not as a part of the first test that uses it."""
        if fixturedef.scope == "function":
            return (yield)
        with self._in_context(_name_fixture(fixturedef)):
            return (yield)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Add up the seconds of a test, and whether all of its phases passed."""
        self.seconds[report.nodeid] += report.duration
        self.passed[report.nodeid] = self.passed.get(report.nodeid, True) and report.passed

    def pytest_sessionfinish(self) -> None:
        """Write what was recorded."""
        self.coverage.stop()
        names = sorted(name for name, passed in self.passed.items() if passed)
        numbers = {name: number for number, name in enumerate(names)}
        slow = set[str]()
        for context in self.start_processes:
            slow |= self.users[context]
        tests = []
        for name in names:
            seconds = round(self.seconds[name], 4)
            tests.append({"name": name, "seconds": seconds, "processes": name in slow})
        recorded = {"tests": tests, "lines": self._list_lines(numbers)}
        self.file.write_text(json.dumps(recorded))

    def _list_lines(self, numbers: dict[str, int]) -> dict[str, dict[int, list[int]]]:
        """For each file and each line of it, the numbers of the tests that execute it."""
        data = self.coverage.get_data()
        lines: dict[str, dict[int, list[int]]] = {}
        for file in data.measured_files():
            path = Path(file).relative_to(self.root).as_posix()
            lines[path] = {}
            for line, contexts in data.contexts_by_lineno(file).items():
                users = {user for context in contexts for user in self.users[context]}
                lines[path][line] = sorted(numbers[user] for user in users if user in numbers)
        return lines


def _name_fixture(definition: pytest.FixtureDef[Any]) -> str:
    """A name for a fixture that no other fixture has."""
    return f"fixture {definition.baseid} {definition.argname}"


def _list_fixtures(item: pytest.Item) -> list[pytest.FixtureDef[Any]]:
    """The fixtures that a test uses, directly or through other fixtures."""
    found = item._fixtureinfo  # type: ignore[attr-defined]  # noqa: SLF001
    definitions = found.name2fixturedefs.values()
    return [definition for overriding in definitions for definition in overriding]


def _import_all_modules() -> None:
    """Import all modules of the package that need nothing large."""
    package = importlib.import_module(PACKAGE)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for module in pkgutil.walk_packages(package.__path__, f"{PACKAGE}."):
            if not module.name.startswith(NOT_IMPORTED):
                importlib.import_module(module.name)
