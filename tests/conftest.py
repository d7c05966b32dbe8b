"""What every test stands on: a cache of its own, no mirror, and the fetched corpora where they are."""

from __future__ import annotations

import itertools
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from calling import Command, Outcome, exit_code
from equipoise import probes
from equipoise.assets import locate
from equipoise.errors import AssetUnavailable
from equipoise.settings import Settings

probes.ENTRY_POINTS = "equipoise.probes.of-no-package"  # a plug-in on this machine is no subject of these tests

MIRROR = os.getenv("EQUIPOISE_MIRROR")
NUMBERS = itertools.count()
SHARED = Path(__file__).parents[2] / "shared" / "data" / "corpora"

MEMORY = Path("/dev/shm")
"""Files are written here if there is room: run files are synced to the disk thousands of times, for seconds each."""
environ = os.environ  # noqa: TID251 - of the commands that tests start
if "TMPDIR" not in environ and MEMORY.is_dir() and shutil.disk_usage(MEMORY).free > 4 * 2**30:
    environ["TMPDIR"] = tempfile.tempdir = str(MEMORY)
# Each command in a process of its own would compile all modules anew, which takes half of its time.
environ.pop("PYTHONDONTWRITEBYTECODE", None)
sys.dont_write_bytecode = False

# Nothing about time: on a loaded machine it would fail tests that are right.
settings.register_profile(
    "equipoise",
    deadline=None,
    derandomize=True,
    database=None,
    max_examples=40,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("equipoise")


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Let one worker run all tests that share a fixture of a file or a folder, so that it is made once.

    First, because pytest-xdist reads the groups in the same hook.
    """
    for item in items:
        fixtures = [each for defined in item._fixtureinfo.name2fixturedefs.values() for each in defined]  # type: ignore[attr-defined]
        shared = [each.baseid for each in fixtures if each.scope in ("session", "module") and "/" in each.baseid]
        if shared and not item.get_closest_marker("xdist_group"):
            item.add_marker(pytest.mark.xdist_group(min(shared, key=len)))


@pytest.fixture(scope="session")
def corpora(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with all corpora that are not packaged; where they cannot be had, the test is skipped."""
    given = Path(MIRROR) if MIRROR else SHARED
    if not given.is_dir():
        pytest.skip(f"The fetched corpora are not here: no folder {given} (EQUIPOISE_MIRROR names one).")
    folder = tmp_path_factory.mktemp("corpora")
    for file in given.iterdir():
        (folder / file.name).symlink_to(file)
    try:
        fetched = locate("bloomberg", Settings.load())
    except AssetUnavailable as problem:
        pytest.skip(f"The corpus of a package cannot be had: {problem}")
    (folder / fetched.name).unlink(missing_ok=True)
    (folder / fetched.name).symlink_to(fetched)
    return folder


@pytest.fixture(autouse=True)
def surroundings(
    request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """An empty cache and nothing approved; a mirror only for tests that ask for the corpora."""
    # Not `tmp_path`: few tests write here, and a folder for each test takes longer than most tests do.
    folder = tmp_path_factory.getbasetemp() / f"surroundings-{next(NUMBERS)}"
    monkeypatch.setenv("EQUIPOISE_CACHE", str(folder / "cache"))
    monkeypatch.setenv("EQUIPOISE_CONFIG", str(folder / "config"))
    if "corpora" in request.fixturenames:
        monkeypatch.setenv("EQUIPOISE_MIRROR", str(request.getfixturevalue("corpora")))
    else:
        monkeypatch.delenv("EQUIPOISE_MIRROR", raising=False)


@pytest.fixture(scope="session")
def cached() -> Settings:
    """The user's own cache, with the weights in it."""
    own = Settings.load()
    try:
        locate("smollm2", own)
    except AssetUnavailable as problem:
        pytest.skip(f"The weights cannot be had: {problem}")
    return own


@pytest.fixture(scope="session")
def head() -> Iterator[str]:
    """The address of a Ray that somebody else has started on this machine, as a cluster is: a process of its own."""
    with socket.socket() as any_port:
        any_port.bind(("127.0.0.1", 0))
        port = str(any_port.getsockname()[1])
    # Not the folder of the test: the names of Ray's sockets would be too long in it.
    with (
        pytest.MonkeyPatch.context() as patch,
        tempfile.TemporaryDirectory(prefix="ray", ignore_cleanup_errors=True) as folder,
    ):
        patch.setenv("POLARS_MAX_THREADS", "1")
        patch.setenv("RAY_AUTH_MODE", "disabled")
        patch.setenv("PYTHONPATH", str(Path(__file__).parent))
        where = ["--node-ip-address", "127.0.0.1", "--port", port, "--temp-dir", folder]
        small = ["--num-cpus", "1", "--object-store-memory", str(100 * 2**20), "--include-dashboard", "false"]
        command = [str(Path(sys.executable).with_name("ray")), "start", "--head", "--block", "--disable-usage-stats"]
        with subprocess.Popen(
            [*command, *where, *small],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        ) as started:
            try:
                assert started.stdout
                printed = list(itertools.takewhile(lambda line: "Ray runtime started" not in line, started.stdout))
                assert started.poll() is None, "".join(printed)
                yield f"127.0.0.1:{port}"
            finally:
                # With all that it has started; to end in order takes it half a minute.
                os.killpg(started.pid, signal.SIGKILL)
                started.communicate(timeout=60)


@pytest.fixture
def weights(cached: Settings) -> Path:
    """The weights of the embedded model."""
    return locate("smollm2", cached)


@pytest.fixture
def command(monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str], tmp_path: Path) -> Command:
    """The command as a user types it, in an empty folder: `command("probes", "--json").out`."""
    monkeypatch.chdir(tmp_path)

    def run(*words: object) -> Outcome:
        code = exit_code(monkeypatch, *map(str, words))
        out, err = capfd.readouterr()
        return Outcome(code=code, out=out, err=err)

    return run
