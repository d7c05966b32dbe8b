"""The command for tests."""

from __future__ import annotations

from pathlib import Path

import pytest

from calling import Command, Outcome, exit_code


@pytest.fixture
def command(monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str], tmp_path: Path) -> Command:
    """The command as a user types it, in an empty folder: `command("probes", "--json").out`."""
    monkeypatch.chdir(tmp_path)

    def run(*words: object) -> Outcome:
        code = exit_code(monkeypatch, *map(str, words))
        out, err = capfd.readouterr()
        return Outcome(code=code, out=out, err=err)

    return run
